/* Markdown to DOM. What it comes from is a model or a stranger's page, so it is data: markup in it is text, but for tables of
 * the grammar below; addresses become no links and load no pictures; and DOMPurify has the last word on what came out. */

import { Marked } from 'marked';
import DOMPurify from 'dompurify';
import { h } from '../dom.js';
import { formula, nextFormula } from './formula.js';

/* table thead tbody tr td th br, with spans 1-200 and nothing else. */
const TABLE_TAG = /^<\/?(table|thead|tbody|tr|td|th|br)((\s+(rowspan|colspan)\s*=\s*(["']?)(\d{1,3})\5)*)\s*\/?>$/i;

const escape = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

function isTableTag(tag) {
    const m = TABLE_TAG.exec(tag);
    return m && [...tag.matchAll(/=\s*["']?(\d+)/g)].every(([, n]) => n >= 1 && n <= 200);
}

const onlyTables = html => html.replace(/<[^<>]*>|[<>]/g, tag => isTableTag(tag) ? tag : escape(tag));

/* Formulas travel through the parser as code elements with a class, TeX inside as text. */
const asCode = (tex, isDisplay) => `<code class="${isDisplay ? 'tex-block' : 'tex'}">${escape(tex)}</code>`;
const mathInline = {
    name: 'mathInline',
    level: 'inline',
    start: src => nextFormula(src)?.index,
    tokenizer(src) {
        const m = nextFormula(src);
        return m && m.index === 0 ? { type: 'mathInline', raw: src.slice(0, m.length), ...m } : undefined;
    },
    renderer: token => asCode(token.tex, token.isDisplay),
};
const mathBlock = {
    name: 'mathBlock',
    level: 'block',
    start: src => src.match(/(^|\n) *(\\\[|\$\$)/)?.index,
    tokenizer(src) {
        const m = /^ *(?:\\\[([\s\S]+?)\\\]|\$\$([\s\S]+?)\$\$) *(?:\n|$)/.exec(src);
        return m ? { type: 'mathBlock', raw: m[0], tex: m[1] ?? m[2] } : undefined;
    },
    renderer: token => asCode(token.tex, true),
};

/* Links and pictures keep their words only; a picture of ours (p0003-f1.jpg) keeps its name for figures() below. */
const marked = new Marked({
    gfm: true,
    extensions: [mathInline, mathBlock],
    renderer: {
        html: ({ text }) => onlyTables(text),
        heading({ tokens, depth }) { return `<h${Math.min(6, depth + 1)} class="h${depth}">${this.parser.parseInline(tokens)}</h${Math.min(6, depth + 1)}>`; },
        link({ tokens }) { return this.parser.parseInline(tokens); },
        image: ({ href, text }) => `<code class="fig">${escape(/p0*\d+-f(\d+)\.(jpg|png)$/.exec(href)?.[1] || '')}|${escape(text)}</code>`,
        checkbox: ({ checked }) => checked ? '☑ ' : '☐ ',
    },
    tokenizer: { url: () => undefined, autolink: () => undefined, def: () => undefined },
});

const ALLOWED = {
    ALLOWED_TAGS: ['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'em', 'strong', 'del', 'code', 'pre', 'blockquote',
        'hr', 'br', 'table', 'thead', 'tbody', 'tr', 'td', 'th'],
    ALLOWED_ATTR: ['rowspan', 'colspan', 'class', 'start'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
};

/* A fragment with what the text says. crop(k, alt) gives the element of the page's k-th figure, or null. */
export function renderMarkdown(text, crop = () => null) {
    const fragment = DOMPurify.sanitize(marked.parse(text), ALLOWED);
    for (const code of fragment.querySelectorAll('code[class]'))
        settle(code, crop);
    fragment.querySelectorAll('table').forEach(wrapTable);
    return fragment;
}

function settle(code, crop) {
    if (code.className === 'tex' || code.className === 'tex-block')
        code.replaceWith(formula(code.textContent, code.className === 'tex-block'));
    else if (code.className === 'fig') {
        const [k, alt] = code.textContent.split(/\|(.*)/s);
        code.replaceWith((k && crop(Number(k), alt)) || alt || '');
    } else
        code.removeAttribute('class');
}

/* A wide table scrolls by itself, by keyboard too. */
export function wrapTable(table) {
    const box = h('div.table-box', { tabindex: 0, role: 'group' });
    table.replaceWith(box);
    box.append(table);
}

/* One line of text with formulas, for cells and captions: no other markup. */
export function inlineText(text) {
    const parts = [];
    for (let rest = text; rest;) {
        const m = nextFormula(rest);
        if (!m) {
            parts.push(rest);
            break;
        }
        parts.push(rest.slice(0, m.index), formula(m.tex, false));
        rest = rest.slice(m.index + m.length);
    }
    return parts;
}
