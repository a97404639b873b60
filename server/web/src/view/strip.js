/* The pages of the open document as a strip of small pictures, each with its state; thousands of them cost a screenful. */

import { h, icon, say, fill } from '../dom.js';
import { t } from '../words.js';
import { state, watch, changed } from '../store.js';
import { url, pagePath } from '../api.js';
import { loadRows, loadAllRows } from '../sync.js';
import { pageLook, needsLook } from './status.js';
import { virtualList } from './virtual.js';
import { goPage } from '../route.js';

const HEIGHT = 148;
const WIDTH = 84;
const isNarrow = matchMedia('(max-width: 900px)');

export function pageStrip() {
    let shown = [];
    const list = virtualList('div.strip', { role: 'listbox', 'aria-label': t('strip.label'), tabindex: 0, onkeydown: move }, {
        make: () => h('a.thumb', { role: 'option', tabindex: -1, onclick: pick },
            h('span.sheet', h('img', { alt: '', loading: 'lazy', decoding: 'async', onerror: askAgain })),
            h('span.caption', h('span.unseen'), h('span.no', { 'aria-hidden': true }), h('span.mark'))),
        draw: (el, i) => drawThumb(el, shown[i]),
        size: () => isNarrow.matches ? WIDTH : HEIGHT,
        isAcross: () => isNarrow.matches,
        onscroll: ([first, last]) => needRows(shown, first, last),
    });
    const note = h('p.note');
    const filter = h('select', { 'aria-label': t('strip.filter'), onchange: e => setFilter(e.target.value) },
        ['all', 'look', 'sure'].map(v => h('option', { value: v }, t(`strip.${v}`))));
    const box = h('aside.strip-box', { 'aria-label': t('strip.label') }, filter, note, list.el);
    watch('pages', () => {
        shown = chosen();
        filter.value = state.filter;
        filter.hidden = state.rows.length < 3;
        say(note, state.filter === 'look' && !shown.length ? t('strip.none') : '');
        note.hidden = !note.textContent;
        box.hidden = !state.rows.length;
        list.show(shown.length);
        needRows(shown, ...list.seen());
    });
    let at = '';
    watch('route pages', () => {
        const now = `${state.jobId} ${state.pageNo} ${state.filter} ${shown.length > 0}`;
        if (now !== at && shown.length)
            list.reveal(shown.indexOf(state.pageNo));
        at = now;
    });
    return box;
}

/* Numbers of the pages that the filter lets through, in its order. */
function chosen() {
    const all = Array.from({ length: Math.max(0, state.rows.length - 1) }, (_, i) => i + 1);
    if (state.filter === 'look')
        return all.filter(n => needsLook(state.rows[n]));
    if (state.filter === 'sure')
        return all.filter(n => typeof state.rows[n]?.conf === 'number' && state.rows[n].status !== 'blank')
            .sort((a, b) => state.rows[a].conf - state.rows[b].conf);
    return all;
}

function setFilter(value) {
    state.filter = value;
    changed('pages');
    if (value !== 'all')
        loadAllRows();
}

function needRows(shown, first, last) {
    for (const i of [first, last - 1]) {
        if (shown[i] && !state.rows[shown[i]])
            loadRows(shown[i]);
    }
}

function drawThumb(el, n) {
    const row = state.rows[n];
    const look = pageLook(row);
    const [sheet, caption] = el.children;
    const img = sheet.firstElementChild;
    el.dataset.page = n;
    el.setAttribute('aria-selected', String(n === state.pageNo));
    const src = row && row.width_px > 0 ? url(pagePath(state.jobId, n, '/image'), { w: 160 }) : '';
    if (img.dataset.src !== src) {
        img.dataset.src = src;
        img.hidden = !src;
        if (src)
            img.src = src;
        else
            img.removeAttribute('src');
    }
    say(caption.firstElementChild, `${t('page.n', { n })} `);
    say(caption.children[1], String(n));
    const key = look.key + (row && row.edited ? ' edited' : '');
    const mark = caption.lastElementChild;
    if (mark.dataset.key !== key) {
        mark.dataset.key = key;
        mark.dataset.tone = look.tone;
        el.dataset.state = look.key;
        fill(mark, row?.edited && [icon('pen'), h('span.unseen', t('st.edited'))], icon(look.icon),
            h(look.key === 'ok' ? 'span.unseen' : 'span.word', look.words));
    }
}

/* A server that is too busy for so many small pictures at once gives them a little later. */
function askAgain({ target: img }) {
    const { src } = img.dataset;
    setTimeout(() => {
        if (src && img.dataset.src === src && img.isConnected)
            img.src = src;
    }, 1500 + 1500 * Math.random());
}

function pick(e) {
    e.preventDefault();
    goPage(Number(e.currentTarget.dataset.page));
}

/* Arrows step through what the filter shows. */
export function step(by) {
    const shown = chosen();
    const at = shown.indexOf(state.pageNo);
    const to = shown[at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by))];
    if (to)
        goPage(to);
}

function move(e) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 5, PageUp: -5, Home: -1e9, End: 1e9 }[e.key];
    if (by) {
        e.preventDefault();
        step(by);
    }
}
