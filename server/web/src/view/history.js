/* The list of documents: they live on the server, so all tabs show the same and a reload loses nothing. */

import { h, icon, keyed, say, fill, place } from '../dom.js';
import { t, ago, pageCount, errorText } from '../words.js';
import { state, watch, changed } from '../store.js';
import { loadList, search, cancelJob, renameJob, deleteJob } from '../sync.js';
import { menuButton } from './menu.js';
import { askText } from './dialog.js';
import { toast } from './toast.js';
import { jobLook, ended } from './status.js';
import { go, hrefOf } from '../route.js';
import { sample } from './drop.js';

export function historyList() {
    const list = h('ul.jobs');
    const note = h('div.list-note');
    const end = h('div.list-end');
    const box = h('nav.history-list', { 'aria-label': t('list.label') }, list, note, end);
    new IntersectionObserver(seen => seen[0].isIntersecting && state.hasMore && loadList(true), { root: box, rootMargin: '300px' })
        .observe(end);
    watch('jobs', () => {
        const shown = state.order.filter(id => state.jobs.has(id) && !state.leaving.has(id)).map(id => state.jobs.get(id));
        keyed(list, shown, job => job.id, makeJob, drawJob);
        drawNote(note, shown.length);
    });
    setInterval(() => changed('jobs'), 60000); /* "5 min ago" grows old */
    return box;
}

function drawNote(note, n) {
    const what = n ? '' : state.listing === 'ready' ? (state.query ? 'none' : 'empty') : state.listing;
    if (note.dataset.what === what)
        return;
    note.dataset.what = what;
    fill(note, what && h('p', t(`list.${what}`)),
        what === 'empty' && h('button', { type: 'button', onclick: sample }, t('list.sample')),
        what === 'failed' && h('button', { type: 'button', onclick: () => loadList() }, t('list.again')));
}

export function searchField() {
    let timer = 0;
    const input = h('input', { type: 'search', id: 'search', placeholder: t('list.search'), 'aria-label': t('list.search'),
        autocomplete: 'off', value: state.query, oninput: () => {
            clearTimeout(timer);
            timer = setTimeout(() => search(input.value.trim()), 250);
        } });
    return h('div.search', icon('search'), input);
}

function makeJob(job) {
    const link = h('a.job', { href: hrefOf(job.id) }, h('span.mark'), h('span.name', { dir: 'auto' }), h('span.line'),
        h('span.bar', { 'aria-hidden': true }, h('i')));
    return h('li', link, menuButton('button.quiet.round', {}, icon('more'), () => actions(job.id)));
}

function drawJob(el, job) {
    const [link, button] = el.children;
    const [mark, name, line, bar] = link.children;
    const look = jobLook(job);
    const key = `${look.icon} ${look.tone}`;
    if (mark.dataset.key !== key) {
        mark.dataset.key = key;
        fill(mark, icon(look.icon));
        mark.dataset.tone = look.tone;
    }
    say(name, job.name);
    say(line, subline(job, look));
    const isBusy = job.state === 'running' || job.state === 'queued';
    bar.hidden = !isBusy;
    place(bar.firstElementChild, { width: `${100 * ended(job) / Math.max(1, job.pages.total)}%` });
    if (job.id === state.jobId)
        link.setAttribute('aria-current', 'page');
    else
        link.removeAttribute('aria-current');
    button.setAttribute('aria-label', t('app.more', { name: job.name }));
}

function subline(job, look) {
    if (job.state === 'running')
        return `${look.words} · ${t('job.progress', { n: ended(job), total: job.pages.total })}`;
    const parts = [look.words, job.pages.total ? pageCount(job.pages.total) : '', ago(job.ended_ms || job.created_ms)];
    return parts.filter(Boolean).join(' · ');
}

function actions(id) {
    const job = state.jobs.get(id);
    const isBusy = job.state === 'running' || job.state === 'queued';
    return [
        { label: t('list.rename'), icon: 'pen', run: () => rename(job) },
        isBusy && { label: t('job.cancel'), icon: 'stop', run: () => act(cancelJob(id)) },
        { label: t('list.delete'), icon: 'trash', danger: true, run: () => remove(job) },
    ];
}

/* Do it, and say so if the server would not. */
export async function act(promise) {
    try {
        return await promise;
    } catch (error) {
        toast(errorText(error));
        return null;
    }
}

export function rename(job) {
    askText(t('list.rename'), null, { label: t('list.rename.to'), value: job.name }, t('list.rename'),
        name => renameJob(job.id, name.trim()).catch(error => { throw new Error(errorText(error)); }));
}

/* Deleting can be undone for five seconds: so long the document only hides here, and the server is told after. */
export function remove(job) {
    state.leaving.add(job.id);
    if (job.id === state.jobId)
        go(null);
    changed('jobs');
    toast(t('list.deleted', { name: job.name }), { label: t('list.undo'), run: () => {
        state.leaving.delete(job.id);
        changed('jobs');
    } }, async () => {
        await act(deleteJob(job.id));
        state.leaving.delete(job.id);
        changed('jobs');
    });
}
