/* Reading a page again in another way, and choosing between the two readings. The old text stays until one has chosen. */

import { h, icon, fill } from '../dom.js';
import { t, errorText } from '../words.js';
import { state, watch, openRow, changed } from '../store.js';
import { getJson, pagePath } from '../api.js';
import { retryPages, keepAttempt, loadPage } from '../sync.js';
import { readable, renderBlock } from '../render/blocks.js';
import { dialog } from './dialog.js';
import { pageLook } from './status.js';
import { act } from './history.js';
import { toast } from './toast.js';

/* The ways, and what the server is asked for. */
const WAYS = { same: {}, wide: { guard: '30/256' }, whole: { view: 'global' }, free: { mode: 'text' } };

/* Pages that this window asked to be read again: "JOB PAGE" -> {n, best}, attempts before and which of them counted. */
const asked = new Map();

export function askAgain() {
    const { jobId: job, pageNo: page } = state;
    const row = openRow();
    if (!row || row.state !== 'ended')
        return;
    const ways = Object.keys(WAYS).map((way, i) => h('label.card',
        h('input', { type: 'radio', name: 'way', value: way, checked: i === 0 }),
        h('span', h('b', t(`again.${way}`)), h('small', t(`again.${way}.text`)))));
    const form = h('form', { method: 'dialog', onsubmit: async e => {
        e.preventDefault();
        const way = new FormData(form).get('way');
        el.close();
        asked.set(`${job} ${page}`, { n: row.attempts, best: row.best });
        if (!await act(retryPages(job, String(page), WAYS[way])))
            asked.delete(`${job} ${page}`);
    } }, h('p', t('again.text')), h('div.cards', ways), h('div.buttons', h('button.main', { type: 'submit' }, t('again.start'))));
    const el = dialog(t('again.title', { n: page }), form, null, 'small');
    form.querySelector('input').focus();
}

/* A line above the text once a page that was to be read again has a new reading. */
export function compareBar() {
    const bar = h('p.compare-bar', { hidden: true });
    watch('pages page', () => {
        const row = openRow();
        const before = asked.get(`${state.jobId} ${state.pageNo}`);
        const isReady = before && row && row.state === 'ended' && row.attempts > before.n;
        const key = isReady ? `${state.jobId} ${state.pageNo} ${row.attempts}` : '';
        if (bar.dataset.key === key)
            return;
        bar.dataset.key = key;
        bar.hidden = !isReady;
        fill(bar, isReady && [icon('loop'), h('span', t('again.ready', { n: state.pageNo })),
            h('button', { type: 'button', id: 'compare', onclick: () => compare(before) }, t('again.compare'))]);
    });
    return bar;
}

async function compare(before) {
    const { jobId: job, pageNo: page } = state;
    const row = openRow();
    const now = row.best > before.n ? row.best : row.attempts;
    try {
        const [first, second] = await Promise.all([before.best, now].map(attempt =>
            getJson(pagePath(job, page, '.json'), { attempt })));
        const side = (data, attempt, title) => {
            const look = pageLook({ state: 'ended', status: data.status });
            const isPresent = attempt === row.best;
            return h('section.side', h('header', h('h3', title), h('span.chip', { data: { tone: look.tone } }, icon(look.icon),
                h('span', look.words)), isPresent && h('span.facts', t('again.present'))),
            h('div.text-body', { tabindex: 0, role: 'region', 'aria-label': title },
                readable(data.blocks || []).map(block => renderBlock(block, { job, page, data }))),
            h('button.main', { type: 'button', onclick: () => keep(el, job, page, attempt) }, t('again.keep')));
        };
        const el = dialog(t('page.n', { n: page }), h('div.sides', side(first, before.best, t('again.before')),
            side(second, now, t('again.after'))), null, 'wide');
    } catch (error) {
        toast(errorText(error));
    }
}

async function keep(el, job, page, attempt) {
    if (!await act(keepAttempt(job, page, attempt)))
        return;
    asked.delete(`${job} ${page}`);
    el.close();
    toast(t('again.kept'));
    changed('pages');
    loadPage();
}
