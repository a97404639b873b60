/* What the server says goes into the store here: first by asking, then event by event. */

import { state, changed, openJob, openRow } from './store.js';
import { getJson, jobPath, pagePath, request } from './api.js';
import * as stream from './stream.js';
import { countPage, knowRows, forget } from './progress.js';

const LIST = 50;
const ROWS = 200;
const SAMPLES = 600;

export function start() {
    stream.connect({ job: takeJob, page: takeRow, edit: takeRow, deleted: takeDeleted, text: takeText,
        stats: takeStats, reset: loadAll, opened });
}

/* After a break the stream goes on by number; only a connection without one has to ask for everything. What could not be
 * loaded during the break is asked for again. */
let isLoaded = false;
function opened(isResumed) {
    if (!isLoaded || !isResumed)
        loadAll();
    else if (state.problem || state.page?.error)
        loadOpen();
}

export function loadAll() {
    isLoaded = true;
    loadList();
    if (state.jobId)
        loadOpen();
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

let listTurn = 0;
export async function loadList(more = false) {
    const turn = ++listTurn;
    const before = more ? state.order.at(-1) : null;
    if (!more && !state.order.length)
        state.listing = 'loading';
    try {
        const answer = await getJson('v1/jobs', { limit: LIST, before, q: state.query });
        if (turn !== listTurn)
            return;
        answer.data.forEach(job => state.jobs.set(job.id, newer(state.jobs.get(job.id), job)));
        const ids = answer.data.map(job => job.id);
        state.order = more ? [...state.order, ...ids] : ids;
        state.hasMore = answer.has_more;
        state.listing = 'ready';
    } catch (error) {
        state.listing = error.status === 401 ? 'loading' : 'failed';
        isLoaded = false;
    }
    changed('jobs', 'job');
}

export function search(query) {
    state.query = query;
    loadList();
}

/* An answer that was under way while an event passed it is the older one. */
const newer = (old, job) => old && old.seq > job.seq ? old : job;

function takeJob(job) {
    const isNew = !state.jobs.has(job.id);
    state.jobs.set(job.id, newer(state.jobs.get(job.id), job));
    if (isNew && !state.query && !state.order.includes(job.id))
        state.order.unshift(job.id);
    changed('jobs', ...(job.id === state.jobId ? ['job'] : []));
    if (job.id === state.jobId && state.rows.length - 1 < job.pages.total)
        growRows(job.pages.total);
}

function takeDeleted({ job }) {
    forget(job);
    state.jobs.delete(job);
    state.leaving.delete(job);
    state.order = state.order.filter(id => id !== job);
    if (job === state.jobId)
        state.problem = { code: 'not_found' };
    changed('jobs', 'job', 'pages', 'page');
}

/* ---- the open job ------------------------------------------------------------------------------------------------ */

export function open(jobId, pageNo = 1) {
    const isOther = jobId !== state.jobId;
    Object.assign(state, { jobId, pageNo, blockId: null });
    if (isOther) {
        pending.clear();
        Object.assign(state, { rows: [], page: null, live: null, problem: null, filter: 'all' });
        if (jobId && isLoaded)
            loadOpen();
    } else
        loadPage();
    changed('job', 'jobs', 'pages', 'page', 'block', 'route');
}

async function loadOpen() {
    const id = state.jobId;
    try {
        const job = await getJson(jobPath(id));
        if (id !== state.jobId)
            return;
        state.jobs.set(id, newer(state.jobs.get(id), job));
        state.problem = null;
        growRows(job.pages.total);
        state.pageNo = Math.min(state.pageNo, Math.max(1, job.pages.total));
        await loadRows(state.pageNo, true);
        loadPage();
    } catch (error) {
        if (id === state.jobId && error.status !== 401)
            state.problem = error;
    }
    changed('job', 'jobs', 'pages', 'page');
}

/* Fetch a job's counts anew, once for however many events ask for it. */
const stale = new Set();
function refresh(id) {
    if (stale.has(id))
        return;
    stale.add(id);
    setTimeout(async () => {
        stale.delete(id);
        const job = await getJson(jobPath(id)).catch(() => null);
        if (job)
            takeJob(job);
    }, 300);
}

function growRows(total) {
    if (state.rows.length < total + 1)
        state.rows.length = total + 1;
    changed('pages');
}

/* Rows around page n, in the blocks in which they are asked for; what is there or under way is not asked for twice. Of an answer
 * those rows are left out of which an event has told while it was under way: it may be the older one. */
const pending = new Map();
export async function loadRows(n, again = false) {
    const id = state.jobId;
    const from = Math.floor((n - 1) / ROWS) * ROWS + 1;
    const key = `${id} ${from}`;
    if (!id || (!again && state.rows[from] && !pending.has(key)))
        return;
    if (!pending.has(key)) {
        const heard = new Set();
        pending.set(key, { id, heard, answer: askRows(id, from, heard).finally(() => pending.delete(key)) });
    }
    await pending.get(key).answer;
}

async function askRows(id, from, heard) {
    const answer = await getJson(jobPath(id, '/pages'), { from, limit: ROWS });
    if (id === state.jobId)
        takeRows(id, answer.data.filter(row => !heard.has(row.page)));
    changed('pages', 'page');
}

function takeRows(id, rows) {
    rows.forEach(row => { state.rows[row.page] = row; });
    knowRows(id, rows);
}

/* All rows of the open job, for the filters. */
export async function loadAllRows() {
    for (let n = 1; n < state.rows.length; n += ROWS)
        await loadRows(n);
}

function takeRow(row, seq) {
    const job = state.jobs.get(row.job);
    if (job && seq > job.seq) {
        job.seq = seq;
        if (!countPage(job, row))
            refresh(row.job);
        changed('jobs', ...(row.job === state.jobId ? ['job'] : []));
    }
    if (row.job !== state.jobId)
        return;
    pending.forEach(question => question.id === row.job && question.heard.add(row.page));
    growRows(row.page);
    state.rows[row.page] = row;
    changed('pages');
    if (row.page === state.pageNo)
        loadPage();
}

/* ---- the shown page ---------------------------------------------------------------------------------------------- */

const isRead = row => row && (row.state === 'ended' || row.attempts > 0);

/* Load the layout of the shown page if there is one, else watch it being read. */
let pageTurn = 0;
export async function loadPage(again = true) {
    const { jobId: job, pageNo: page } = state;
    const row = openRow();
    const turn = ++pageTurn;
    const isBusy = row && row.state !== 'ended';
    stream.watchPage(job && isBusy ? `${job}:${page}` : '');
    if (state.live && (state.live.job !== job || state.live.page !== page || !isBusy))
        state.live = null;
    if (state.page && (state.page.job !== job || state.page.page !== page))
        state.page = null;
    changed('page');
    if (!isRead(row) || (state.page && !again))
        return;
    try {
        const [data, text] = await Promise.all([
            getJson(pagePath(job, page, '.json')),
            row.edited ? request('GET', pagePath(job, page, '.md')).then(r => r.text()) : null]);
        if (turn === pageTurn)
            state.page = { job, page, data, edited: text };
    } catch (error) {
        if (turn === pageTurn)
            state.page = { job, page, data: null, error };
    }
    changed('page');
}

function takeText(piece) {
    if (piece.job !== state.jobId || piece.page !== state.pageNo)
        return;
    const old = piece.offset && state.live ? state.live.text : '';
    state.live = { job: piece.job, page: piece.page, text: old + piece.text };
    changed('live');
}

/* ---- the monitor ------------------------------------------------------------------------------------------------- */

/* The last ten minutes are half a megabyte: asked for when somebody looks, and then kept up by the stream. */
let hasHistory = false;
export async function loadHistory() {
    if (hasHistory)
        return;
    hasHistory = true;
    const answer = await getJson('v1/stats', { history: 1 }).catch(() => null);
    if (answer)
        state.samples = answer.history || [];
    changed('stats');
}

function takeStats(sample) {
    const { history, limits, ...rest } = sample;
    state.stats = rest;
    state.limits = limits || state.limits;
    state.samples.push(rest);
    if (state.samples.length > SAMPLES)
        state.samples.splice(0, state.samples.length - SAMPLES);
    changed('stats');
}

/* ---- things a person asks for ------------------------------------------------------------------------------------ */

export const cancelJob = id => request('POST', jobPath(id, '/cancel'));
export const renameJob = (id, name) => request('PATCH', jobPath(id), { json: { name } });
export const deleteJob = id => request('DELETE', jobPath(id));
/* pages null: those that need it. */
export const retryPages = (id, pages, options, password) =>
    request('POST', jobPath(id, '/retry'), { json: { ...(pages && { pages }), ...(options && { options }), ...(password && { password }) } });
export const keepAttempt = (id, page, attempt) =>
    request('POST', pagePath(id, page, '/keep'), { json: { attempt } });

export { openJob };
