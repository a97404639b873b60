/* The one event stream. It is opened again by our own clock instead of the browser's, since that gives up on some answers
 * and tells nobody when it will try next; each time it goes on behind the last number that was seen, so nothing is lost. */

import { state, changed } from './store.js';
import { url, request } from './api.js';

let source = null;
let last = null;      /* number of the newest event */
let wanted = '';      /* JOB:PAGE whose text we want while it is read */
let tries = 0;
let timer = 0;
let lastHeard = 0;
let on = {};

const DEAF_MS = 45000; /* the server pings every 15 s, and statistics come every second */

/* handlers: {job, page, edit, deleted, text, stats, reset}, each gets the event's data and number; and opened(isResumed), where
 * false means that events may have been missed. */
export function connect(handlers) {
    on = handlers;
    open();
    addEventListener('online', now);
    addEventListener('offline', () => lost());
    setInterval(() => state.link.state === 'online' && Date.now() - lastHeard > DEAF_MS && lost(), 5000);
}

/* Ask for the text of a page while it is read; '' for none. */
export function watchPage(which) {
    if (which === wanted)
        return;
    wanted = which;
    if (source && state.link.state !== 'key')
        open();
}

export function now() {
    tries = 0;
    open();
}

function open() {
    clearTimeout(timer);
    if (source)
        source.close();
    const query = { stats: 1, after: last, watch: wanted };
    source = new EventSource(url('v1/events', query));
    const mine = source;
    for (const type of ['job', 'page', 'edit', 'deleted', 'text', 'stats', 'reset'])
        source.addEventListener(type, e => mine === source && hear(type, e));
    source.addEventListener('bye', () => mine === source && lost('leaving'));
    const isResumed = last !== null;
    source.onopen = () => mine === source && opened(isResumed);
    source.onerror = () => mine === source && lost();
}

function opened(isResumed) {
    tries = 0;
    lastHeard = Date.now();
    state.link = { state: 'online', retryAt: 0 };
    changed('link');
    on.opened(isResumed);
}

function hear(type, event) {
    lastHeard = Date.now();
    if (event.lastEventId)
        last = event.lastEventId;
    const data = JSON.parse(event.data);
    if (type === 'reset')
        last = String(data.seq);
    on[type](data, Number(event.lastEventId) || 0);
}

function lost(why) {
    if (source)
        source.close();
    source = null;
    clearTimeout(timer);
    if (state.link.state === 'key')
        return;
    const wait = Math.min(30000, 500 * 2 ** tries++) * (0.8 + 0.4 * Math.random());
    const name = why || (navigator.onLine ? state.link.state === 'leaving' ? 'leaving' : 'waiting' : 'offline');
    state.link = { state: name, retryAt: Date.now() + wait };
    changed('link');
    timer = setTimeout(probe, wait);
}

/* An EventSource does not tell why it was refused; a plain request does (401 asks for the key). */
async function probe() {
    try {
        await request('GET', 'v1/jobs', { query: { limit: 1 } });
    } catch (error) {
        if (error.status === 401)
            return;
        lost();
        return;
    }
    open();
}
