/* The one store: everything the page knows, and who wants to hear when a part of it changes.
 *
 * A part is a topic, a word. changed('pages') marks it; all who listen to a marked topic are called once, at the next
 * frame, however many events came in between: two hundred events a second are still one paint a frame. A hidden tab gets
 * no frames, so there a timer takes their place. */

export const state = {
    jobs: new Map(),      /* id -> job object of the server */
    order: [],            /* ids as the list shows them, newest first */
    hasMore: false,       /* older jobs are on the server */
    listing: 'loading',   /* loading, ready, failed */
    query: '',            /* what the list is searched for */
    leaving: new Set(),   /* jobs that are about to be deleted, for as long as that can be undone */

    jobId: null,          /* the job that is open */
    pageNo: 1,            /* its page that is shown */
    rows: [],             /* rows[n]: page n of the open job as the server lists it; holes are not loaded yet */
    page: null,           /* layout of the shown page: {job, page, data} once loaded */
    live: null,           /* text of the shown page while it is read: {job, page, text} */
    problem: null,        /* why the open job cannot be shown */
    blockId: null,        /* the block that is lit */

    filter: 'all',        /* of the strip: all, look, sure */
    zoom: 'fit',          /* of the picture: fit, width, or a factor */
    showBoxes: true,
    textMode: 'rendered', /* rendered, markdown, raw */
    tab: 'picture',       /* which of both panes a narrow window shows */
    edit: null,           /* see view/edit.js */

    uploads: [],          /* see upload.js */
    stats: null,          /* newest sample of the monitor */
    samples: [],          /* those of the last ten minutes */
    link: { state: 'connecting', retryAt: 0 }, /* connecting, online, waiting, offline, leaving, key */
    limits: null,         /* what the server takes; null: not told yet */
};

const listeners = new Map();
const marked = new Set();
let timer = 0;

/* Call f whenever one of the topics changed, and now. Returns how to stop. */
export function watch(topics, f) {
    for (const topic of topics.split(' ')) {
        if (!listeners.has(topic))
            listeners.set(topic, new Set());
        listeners.get(topic).add(f);
    }
    f();
    return () => topics.split(' ').forEach(topic => listeners.get(topic).delete(f));
}

/* Forget all listeners: the page is about to be built anew, in another language. */
export function unwatchAll() {
    listeners.clear();
}

export function changed(...topics) {
    topics.forEach(topic => marked.add(topic));
    if (timer)
        return;
    timer = 1;
    if (document.hidden)
        setTimeout(flush, 100);
    else
        requestAnimationFrame(flush);
}

/* A frame that was asked for never comes if the tab is hidden meanwhile. */
document.addEventListener('visibilitychange', () => {
    if (timer)
        setTimeout(flush, 0);
});

function flush() {
    timer = 0;
    const due = new Set();
    for (const topic of marked)
        (listeners.get(topic) || []).forEach(f => due.add(f));
    marked.clear();
    due.forEach(f => f());
}

export const openJob = () => state.jobs.get(state.jobId) || null;
export const openRow = () => state.rows[state.pageNo] || null;
