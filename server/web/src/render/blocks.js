/* Blocks of a page (recto-layout-1) to DOM, each by its kind; and to the texts that are copied. */

import { h } from '../dom.js';
import { t } from '../words.js';
import { prefs } from '../prefs.js';
import { url, pagePath } from '../api.js';
import { formula } from './formula.js';
import { renderMarkdown, inlineText } from './markdown.js';

/* The kinds that have a colour and a word of their own; all others are "other". */
export const KINDS = ['title', 'heading', 'text', 'list', 'table', 'equation', 'figure', 'caption', 'other'];
export function kindOf(block) {
    return block.kind === 'table_caption' ? 'caption' : KINDS.includes(block.kind) ? block.kind : 'other';
}

/* Blocks as they are read: those with neither text nor figure are left out. Figures get their numbers, one per box. */
export function readable(blocks) {
    let k = 0;
    return blocks.filter(block => block.order >= 0).map(block => {
        const first = k + 1;
        if (block.kind === 'figure')
            k += block.boxes_999.length;
        return { ...block, crops: block.kind === 'figure' ? block.boxes_999.map((_, i) => first + i) : [] };
    });
}

export const cropUrl = (page, k) => url(pagePath(page.job, page.page, `/crops/${k}.jpg`));
const cropOf = page => (k, alt) => h('img.crop', { src: cropUrl(page, k), alt: alt || t('kind.figure'), loading: 'lazy' });

const SCRIPTS = [[/\p{Script=Hiragana}|\p{Script=Katakana}/u, 'ja'], [/\p{Script=Hangul}/u, 'ko'], [/\p{Script=Han}/u, 'zh'],
    [/\p{Script=Arabic}/u, 'ar'], [/\p{Script=Hebrew}/u, 'he'], [/\p{Script=Thai}/u, 'th'], [/\p{Script=Greek}/u, 'el']];
/* The language that a text's script gives away; Latin and Cyrillic give away none. */
const langOf = text => SCRIPTS.find(([script]) => script.test(text))?.[1] ?? null;

export const DOUBT = 0.6;
export const isDoubtful = block => typeof block.conf === 'number' && block.conf < DOUBT;

/* The element of a block; page = {job, page, data}. */
export function renderBlock(block, page) {
    const kind = kindOf(block);
    const flags = block.flags || [];
    const el = h('section.block', { data: { id: block.id, kind }, tabindex: -1, lang: langOf(block.text || ''), dir: 'auto' },
        body(block, kind, page));
    if (flags.includes('guard_in_table'))
        el.append(h('p.note', t('text.altered')));
    if (isDoubtful(block) && prefs.doubt) {
        el.classList.add('doubtful');
        el.title = t('text.doubt');
    }
    return el;
}

function body(block, kind, page) {
    const text = block.text || '';
    switch (kind) {
    case 'title':
    case 'heading':
        /* The page's own h1, the document's name, stands above: its headings begin below that. */
        return h(`h${Math.min(6, (block.level || 1) + 1)}.h${Math.min(4, block.level || 1)}`, inlineText(text));
    case 'table':
        return table(block, page);
    case 'equation':
        return formula(block.tex || stripMath(text), true);
    case 'figure':
        return figure(block, page, text);
    case 'caption':
        return h('p.caption', inlineText(text));
    default:
        return block.kind === 'code' ? h('pre', h('code', text)) : renderMarkdown(text, cropOf(page));
    }
}

const stripMath = text => text.trim().replace(/^\\\[|\\\]$|^\$\$|\$\$$/g, '').trim();

function figure(block, page, text) {
    const pictures = block.crops.map(k => cropOf(page)(k, text));
    return h('figure', pictures, text && h('figcaption', inlineText(text)));
}

const SHORT = 20; /* characters of a cell that is not broken into lines */

/* From the grid that the server made of the table's markup; without one (a table that broke off) from its text. */
function table(block, page) {
    if (!block.table || !block.table.cells.length)
        return renderMarkdown(block.html || block.text || '', cropOf(page));
    const rows = Array.from({ length: block.table.rows }, () => h('tr'));
    for (const cell of block.table.cells) {
        const attrs = { rowspan: cell.rs > 1 ? cell.rs : null, colspan: cell.cs > 1 ? cell.cs : null,
            class: cell.text.length < SHORT ? 'short' : '' };
        rows[cell.r]?.append(h('td', attrs, inlineText(cell.text)));
    }
    return h('div.table-box', { tabindex: 0, role: 'group', 'aria-label': t('kind.table') }, h('table', h('tbody', rows)));
}

/* ---- what is copied ---------------------------------------------------------------------------------------------- */

/* One table as lines of tab-separated cells; spans leave blanks. */
export function tableTsv(grid) {
    const rows = Array.from({ length: grid.rows }, () => Array(grid.cols).fill(''));
    for (const cell of grid.cells) {
        if (rows[cell.r])
            rows[cell.r][cell.c] = cell.text.replace(/\s+/g, ' ').trim();
    }
    return rows.map(row => row.join('\t')).join('\n');
}

export const tables = blocks => blocks.filter(block => block.table && block.table.cells.length);

export const blockText = block => block.table ? tableTsv(block.table) : block.text || '';
