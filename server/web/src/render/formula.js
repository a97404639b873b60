/* Formulas as they lie in a text, and when to load what draws them. */

import { h } from '../dom.js';

/* Longest first: $$ before $. A lone $ needs text around it that looks like no price: not a space inside, no digit behind. */
const INLINE = /\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]|\$\$([\s\S]+?)\$\$|(?<![\\$\w])\$(?!\s)((?:\\.|[^$\\\n])+?)(?<!\s)\$(?![\d$])/;

/* The first formula in text: {index, length, tex, isDisplay}, or null. */
export function nextFormula(text) {
    const m = INLINE.exec(text);
    if (!m)
        return null;
    const isDisplay = m[2] !== undefined || m[3] !== undefined;
    return { index: m.index, length: m[0].length, tex: m[1] ?? m[2] ?? m[3] ?? m[4], isDisplay };
}

/* A place for a formula: its TeX until it is drawn, and for good if it cannot be. */
export function formula(tex, isDisplay) {
    const el = h(isDisplay ? 'div.formula.display' : 'span.formula', { data: { tex, display: isDisplay ? '1' : '' } },
        h('code', tex.trim()));
    queue.push(el);
    schedule();
    return el;
}

let queue = [];
let isDue = false;
let bundle = null;

function schedule() {
    if (isDue)
        return;
    isDue = true;
    queueMicrotask(async () => {
        bundle = bundle || load();
        const { draw } = await bundle;
        isDue = false;
        const some = queue;
        queue = [];
        some.forEach(el => drawOne(el, draw));
    });
}

function drawOne(el, draw) {
    try {
        draw(el, el.dataset.tex, !!el.dataset.display);
    } catch {
        el.classList.add('broken');
    }
}

function load() {
    const sheet = document.createElement('link');
    sheet.rel = 'stylesheet';
    sheet.href = new URL('math.css', import.meta.url).href;
    document.head.append(sheet);
    return import(new URL('math.js', import.meta.url).href);
}
