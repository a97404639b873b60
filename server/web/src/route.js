/* What is open stands in the address, behind the #: it can be reloaded, kept and sent to others. #/JOB/PAGE, or #/ */

import { state, watch } from './store.js';
import { open } from './sync.js';

export const hrefOf = (job, page) => job ? `#/${job}${page > 1 ? `/${page}` : ''}` : '#/';

export function go(job, page = 1) {
    const href = hrefOf(job, page);
    if (location.hash === href)
        follow();
    else
        location.hash = href;
}

/* Another page of the same document replaces the address: Back leaves the document, it does not leaf through it. */
export function goPage(page) {
    const last = Math.max(1, state.rows.length - 1);
    const n = Math.min(last, Math.max(1, page));
    history.replaceState(null, '', hrefOf(state.jobId, n));
    open(state.jobId, n);
}

function follow() {
    const [, job, page] = /^#\/([\w-]+)(?:\/(\d+))?/.exec(location.hash) || [];
    open(job || null, Math.max(1, Number(page) || 1));
}

export function start() {
    addEventListener('hashchange', follow);
    follow();
    watch('job', () => {
        const job = state.jobs.get(state.jobId);
        document.title = job ? `${job.name} – recto` : 'recto';
    });
}
