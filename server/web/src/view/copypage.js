/* A page to the clipboard: as Markdown, with formatting, or its tables for a spreadsheet. */

import { t } from '../words.js';
import { state } from '../store.js';
import { getText, pagePath } from '../api.js';
import { tables, tableTsv } from '../render/blocks.js';
import { shownBlocks } from './shown.js';
import { copyText, copyParts } from '../copy.js';

/* The Markdown of the shown page is fetched ahead: a browser that lets us copy only right after a key does not wait for it. */
let ahead = { data: null, text: '' };
export async function prepareCopy() {
    const page = state.page;
    if (!page?.data || ahead.data === page.data)
        return;
    const mine = { data: page.data, text: '' };
    ahead = mine;
    mine.text = page.edited ?? await getText(pagePath(page.job, page.page, '.md')).then(r => r.text, () => '');
}

export async function copyPage() {
    const page = state.page;
    if (!page?.data)
        return;
    const isReady = ahead.data === page.data && ahead.text;
    const text = isReady ? ahead.text : page.edited ?? (await getText(pagePath(page.job, page.page, '.md'))).text;
    copyText(text.trim(), t('text.copied'));
}

/* What is shown, as the browser's own markup of it. */
export function copyRich() {
    const body = document.querySelector('.text-body');
    if (state.textMode !== 'rendered')
        return copyPage();
    const clone = body.cloneNode(true);
    clone.querySelectorAll('[data-tex]').forEach(el => el.replaceChildren(el.dataset.tex));
    clone.querySelectorAll('img, .note').forEach(el => el.remove());
    clone.querySelectorAll('*').forEach(el => ['class', 'tabindex', 'style', 'title', 'role'].forEach(name => el.removeAttribute(name)));
    return copyParts({ 'text/html': clone.innerHTML, 'text/plain': body.innerText.trim() }, t('text.copied'));
}

export function copyTables() {
    const all = tables(shownBlocks());
    copyText(all.map(block => tableTsv(block.table)).join('\n\n'), t('text.copied.tsv', { n: all.length }));
}
