/* The few helpers with which the page builds its DOM. Nothing here (or anywhere in our own code) writes markup as text:
 * strings become text nodes or attribute values, so what a file or a model says cannot become an element. */

/* h('button.primary.small', {onclick: f, title: 'x', hidden: true}, 'text', child, [children], null)
 * Attributes: on* is a listener, a function-free boolean sets or leaves out, `data` and `vars` are objects of data-* and of
 * CSS properties; null and undefined are left out. */
export function h(spec, ...rest) {
    const [tag, ...classes] = spec.split('.');
    const el = document.createElement(tag || 'div');
    if (classes.length)
        el.className = classes.join(' ');
    const first = rest[0];
    const isPlain = first && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first);
    if (isPlain)
        setAll(el, rest.shift());
    add(el, rest);
    return el;
}

export function setAll(el, attrs) {
    for (const [name, value] of Object.entries(attrs)) {
        if (value === null || value === undefined)
            continue;
        if (name.startsWith('on'))
            el.addEventListener(name.slice(2), value);
        else if (name === 'data')
            Object.assign(el.dataset, value);
        else if (name === 'vars')
            place(el, value);
        else if (name === 'class')
            el.className += (el.className ? ' ' : '') + value;
        else if (name === 'value' || name === 'checked' || name === 'indeterminate')
            el[name] = value;
        else
            flag(el, name, value);
    }
}

/* Booleans of aria-* are words, others are there or not. */
export function flag(el, name, value) {
    if (typeof value !== 'boolean')
        el.setAttribute(name, value);
    else if (name.startsWith('aria-'))
        el.setAttribute(name, String(value));
    else
        el.toggleAttribute(name, value);
}

/* Inline style by the CSSOM, which the page's policy allows where a style attribute is refused. */
export function place(el, properties) {
    for (const [name, value] of Object.entries(properties))
        el.style.setProperty(name, value);
}

export function add(el, children) {
    for (const child of children.flat(Infinity)) {
        if (child !== null && child !== undefined && child !== false)
            el.append(child instanceof Node ? child : String(child));
    }
    return el;
}

export function fill(el, ...children) {
    el.replaceChildren();
    return add(el, children);
}

/* Set text only when it differs, so that live regions and selections are left alone. */
export function say(el, text) {
    if (el.textContent !== text)
        el.textContent = text;
}

/* Make parent's children those of items, in order, one element per key: kept elements stay the same nodes (focus, hover and
 * scroll survive), others are made or removed. make(item) gives an element, update(el, item) brings it up to date. */
export function keyed(parent, items, keyOf, make, update) {
    const old = new Map();
    for (const el of parent.children)
        old.set(el.dataset.key, el);
    let at = parent.firstElementChild;
    for (const item of items) {
        const key = String(keyOf(item));
        let el = old.get(key);
        if (el)
            old.delete(key);
        else {
            el = make(item);
            el.dataset.key = key;
        }
        update(el, item);
        if (el === at)
            at = at.nextElementSibling;
        else
            parent.insertBefore(el, at);
    }
    for (const el of old.values())
        el.remove();
}

const SVG = 'http://www.w3.org/2000/svg';
export function svg(tag, attrs, ...children) {
    const el = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attrs || {}))
        el.setAttribute(name, value);
    return add(el, children);
}

/* Strokes on a 16 x 16 grid. */
const SHAPES = {
    plus: 'M8 3v10M3 8h10',
    close: 'M4 4l8 8M12 4l-8 8',
    check: 'M3 8.5l3.2 3.2L13 4.8',
    clock: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM8 5v3.2l2 1.3',
    eye: 'M1.8 8s2.2-4 6.2-4s6.2 4 6.2 4s-2.2 4-6.2 4s-6.2-4-6.2-4zM8 6.4a1.6 1.6 0 1 0 0 3.2a1.6 1.6 0 1 0 0-3.2z',
    warn: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.3',
    fail: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM6 6l4 4M10 6l-4 4',
    blank: 'M4 2.5h8v11H4z',
    loop: 'M12.5 6A5 5 0 0 0 3.6 5M3.5 10a5 5 0 0 0 8.9 1M3.3 2.5V5.2H6M12.7 13.5v-2.7H10',
    stop: 'M4.5 4.5h7v7h-7z',
    cut: 'M3 5h10M3 8h6M3 11h3M11 10l3 3M14 10l-3 3',
    pen: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7L11.3 7',
    copy: 'M5.5 5.5h7.5v8H5.5zM3 10.5v-8h7',
    down: 'M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M3 13.5h10',
    more: 'M3.5 8h.2M8 8h.2M12.5 8h.2',
    gear: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3zM6 9.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3z',
    list: 'M2.5 4h11M2.5 8h11M2.5 12h11',
    search: 'M7 2.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4zM10.2 10.2l3.3 3.3',
    link: 'M6.5 9.5l3-3M7.5 4.5l1.2-1.2a2.8 2.8 0 0 1 4 4L11.5 8.5M8.5 11.5l-1.2 1.2a2.8 2.8 0 0 1-4-4L4.5 7.5',
    boxes: 'M2.5 3h11v3.5h-11zM2.5 9h4.5v4h-4.5zM9.5 9h4v4h-4z',
    fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
    minus: 'M3 8h10',
    prev: 'M10 3L5 8l5 5',
    next: 'M6 3l5 5l-5 5',
    camera: 'M2 5h3l1-1.5h4L11 5h3v8H2zM8 6.8a2.2 2.2 0 1 0 0 4.4a2.2 2.2 0 1 0 0-4.4z',
    page: 'M4 2h5.5L12.5 5v9H4zM9.5 2v3h3',
    table: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6M10 6.5v6',
    target: 'M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3',
    text: 'M3 4h10M8 4v9',
    figure: 'M2.5 3h11v10h-11zM2.5 11l3.5-3.5l2.5 2.5l2-2l3 3M10.5 5.8v.2',
    chat: 'M2.5 3h11v8H7l-3 2.5V11H2.5z',
    meter: 'M2.5 11.5a5.8 5.8 0 1 1 11 0M8 10l2.5-3.5',
    help: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM6.3 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.6-.9 1.2M8 11v.2',
    key: 'M10 3a3 3 0 1 0 0 6a3 3 0 1 0 0-6zM7.8 8.2L3 13M4.5 11.5L6 13',
    trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 9h5.8l.6-9',
    undo: 'M5.5 3.5L3 6l2.5 2.5M3 6h6.5a3.5 3.5 0 0 1 0 7H6',
};
export function icon(name) {
    return svg('svg', { viewBox: '0 0 16 16', class: `icon i-${name}`, 'aria-hidden': 'true' },
        svg('path', { d: SHAPES[name] }));
}
