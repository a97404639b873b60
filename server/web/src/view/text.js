/* The text of the page: set, as Markdown, or as the model wrote it; growing while the page is read. */

import { h, icon, fill, say } from '../dom.js';
import { t, number, errorText } from '../words.js';
import { state, watch, changed, openRow } from '../store.js';
import { getText, pagePath } from '../api.js';
import { renderBlock, kindOf } from '../render/blocks.js';
import { renderMarkdown } from '../render/markdown.js';
import { shownBlocks } from './shown.js';
import { light, reveal } from './light.js';
import { pageLook } from './status.js';
import { menuButton } from './menu.js';
import { copyPage, copyRich, copyTables } from './copypage.js';
import { startEdit, editor } from './edit.js';
import { askAgain, compareBar } from './again.js';

const MODES = ['rendered', 'markdown', 'raw'];

export function textPane() {
    const body = h('div.text-body', { tabindex: 0, role: 'region', 'aria-label': t('text.label') });
    const why = h('p.why');
    const foot = h('footer.facts');
    const reader = h('div.reader', toolbar(), compareBar(), why, body, foot);
    const edit = editor();
    const pane = h('section.pane.text', { 'aria-label': t('pane.text') }, reader, edit);
    watch('page edit', () => {
        const isOpen = !!state.edit && state.edit.job === state.jobId && state.edit.page === state.pageNo;
        reader.hidden = isOpen;
        edit.hidden = !isOpen;
    });
    watch('page live textmode', () => draw(body, why, foot));
    watch('block', () => light(body, '.block'));
    body.addEventListener('pointerover', e => lightFrom(e.target));
    body.addEventListener('pointerleave', () => lightFrom(null));
    body.addEventListener('focusin', e => lightFrom(e.target));
    return pane;
}

function toolbar() {
    const tabs = h('div.tabs', { role: 'group', 'aria-label': t('text.label') }, MODES.map(mode =>
        h('button', { type: 'button', data: { mode }, onclick: () => setMode(mode) }, t(`text.${mode}`))));
    const edit = h('button.quiet', { type: 'button', id: 'edit', onclick: startEdit }, icon('pen'), h('span', t('text.edit')));
    const again = h('button.quiet', { type: 'button', id: 'again', onclick: askAgain }, icon('loop'), h('span', t('text.retry')));
    const copy = menuButton('button.quiet', { id: 'copy' }, [icon('copy'), h('span', t('text.copy'))], () => [
        { label: t('text.copy.md'), icon: 'text', note: 'c', run: copyPage },
        { label: t('text.copy.rich'), icon: 'page', run: copyRich },
        { label: t('text.copy.tsv'), icon: 'table', run: copyTables },
    ]);
    watch('page textmode', () => {
        for (const tab of tabs.children)
            tab.setAttribute('aria-pressed', String(tab.dataset.mode === state.textMode));
        const row = openRow();
        const isEnded = !!row && row.state === 'ended';
        edit.disabled = !state.page?.data;
        copy.disabled = !state.page?.data;
        again.disabled = !isEnded;
    });
    return h('div.toolbar', tabs, h('span.space'), copy, edit, again);
}

function setMode(mode) {
    state.textMode = mode;
    changed('textmode');
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

function draw(body, why, foot) {
    const row = openRow();
    const page = state.page;
    drawWhy(why, row, page);
    drawFacts(foot, row, page?.data);
    if (state.live && state.textMode === 'rendered') {
        body.drawn = null;
        drawLive(body);
        return;
    }
    const key = [state.jobId, state.pageNo, state.textMode, row?.state, row?.status, !!page?.data, page?.edited, row?.best].join();
    if (key === body.drawn && page?.data === body.data && !state.live)
        return;
    body.drawn = key;
    body.data = page?.data;
    delete body.dataset.live;
    if (state.textMode === 'raw' && (state.live || page?.data))
        fill(body, h('pre.source', state.live ? state.live.text : page.data.raw || ''));
    else if (page?.data && state.textMode === 'markdown')
        drawMarkdown(body, page);
    else if (page?.data)
        drawLayout(body, page);
    else
        fill(body, waiting(row));
}

function waiting(row) {
    const isReading = row && row.state === 'reading';
    if (row && row.status === 'error')
        return null; /* the line above says why */
    return h('p.note', { class: isReading ? 'reading' : '' }, isReading ? t('text.reading') :
        row && row.state === 'ended' ? t('text.nothing') : t('why.queued'));
}

function drawLayout(body, page) {
    if (page.edited !== null && page.edited !== undefined) {
        fill(body, h('div.block.whole', renderMarkdown(page.edited)));
        return;
    }
    const blocks = shownBlocks();
    fill(body, blocks.length ? blocks.map(block => renderBlock(block, page)) : waiting(openRow()));
}

async function drawMarkdown(body, page) {
    const source = h('pre.source');
    fill(body, source);
    try {
        const { text } = page.edited ? { text: page.edited } : await getText(pagePath(page.job, page.page, '.md'));
        say(source, text);
    } catch (error) {
        say(source, errorText(error));
    }
}

/* Only blocks whose text grew are built anew. */
function drawLive(body) {
    const blocks = shownBlocks();
    if (body.dataset.live !== `${state.live.job} ${state.live.page}`) {
        body.dataset.live = `${state.live.job} ${state.live.page}`;
        body.replaceChildren();
    }
    const isAtEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 80;
    blocks.forEach((block, i) => {
        const el = body.children[i];
        const key = `${kindOf(block)} ${block.text}`;
        if (el && el.liveText === key)
            return;
        const made = renderBlock(block, state.live);
        made.liveText = key;
        if (el)
            el.replaceWith(made);
        else
            body.append(made);
    });
    while (body.children.length > blocks.length)
        body.lastElementChild.remove();
    body.lastElementChild?.classList.add('growing');
    if (isAtEnd)
        body.scrollTop = body.scrollHeight;
}

/* A sentence above a page that is not simply fine. */
function drawWhy(why, row, page) {
    const look = pageLook(row);
    const isOdd = row && row.state === 'ended' && !['ok', 'skipped'].includes(row.status);
    const failure = row?.status === 'error' && row.error ? errorText(row.error) : page?.error && !page.data ? errorText(page.error) : '';
    const text = isOdd ? [t(`why.${look.key}`), failure].filter(Boolean).join(' ') : failure;
    const warnings = page?.data?.warnings || [];
    const key = [look.key, text, warnings.join()].join();
    if (why.dataset.key === key)
        return;
    why.dataset.key = key;
    why.dataset.tone = look.tone;
    why.hidden = !text;
    fill(why, text && icon(look.icon), text && h('span', h('b', look.words), ' ', text));
}

function drawFacts(foot, row, data) {
    const seconds = row && row.ms ? row.ms / 1000 : 0;
    const facts = data && [row?.edited && t('st.edited'),
        data.conf > 0 && t('text.conf', { n: Math.floor(data.conf * 100) }),
        data.n_tok > 0 && t('text.tokens', { n: number(data.n_tok) }),
        seconds > 0 && t('text.seconds', { n: number(seconds, seconds < 10 ? 1 : 0) }),
        row?.attempts > 1 && t('text.attempts', { n: row.attempts })];
    say(foot, facts ? facts.filter(Boolean).join(' · ') : '');
}

/* ---- blocks by pointer and by keyboard --------------------------------------------------------------------------- */

function lightFrom(target) {
    const block = target && target.closest('.block[data-id]');
    const id = block ? block.dataset.id : null;
    if (id === state.blockId)
        return;
    state.blockId = id;
    changed('block');
    if (id)
        reveal('.stage', `.box[data-id="${CSS.escape(id)}"]`);
}

/* The next or previous block gets the focus, and so its box the light. */
export function stepBlock(by) {
    const all = [...document.querySelectorAll('.text-body .block[data-id]')];
    const at = all.findIndex(el => el.dataset.id === state.blockId);
    const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
    if (next)
        next.focus();
}
