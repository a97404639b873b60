/* How far jobs are, between two job objects: the server sends those when a job's own state changes, and in between one event
 * for each page. So each page event moves one page from one counter to another. */

const seen = new Map(); /* job id -> Map of page -> counter it is in, as far as events have told */
const ends = new Map(); /* job id -> times in ms at which its last pages ended */
const KEEP = 32;

/* Where a page may have come from if no event told: the likeliest first. */
const FROM = { rendering: ['queued'], reading: ['rendering', 'queued'], ended: ['reading', 'rendering', 'queued'] };
const ATTENTION = ['suspect', 'loop', 'length', 'error'];

/* Move a page's count. False: it cannot be known from where (a page read again), so the job has to be fetched. */
export function countPage(job, row) {
    const to = row.state === 'ended' ? row.status : row.state;
    const of = seen.get(job.id) || seen.set(job.id, new Map()).get(job.id);
    const known = of.get(row.page);
    of.set(row.page, to);
    if (row.state === 'ended')
        tick(job.id);
    if (known === to)
        return true;
    const from = known || (FROM[row.state] || []).find(name => job.pages[name] > 0);
    if (!from || !(job.pages[from] > 0))
        return false;
    job.pages[from]--;
    job.pages[to] = (job.pages[to] || 0) + 1;
    job.attention = ATTENTION.reduce((sum, name) => sum + (job.pages[name] || 0), 0);
    return true;
}

/* A job object tells all counts at once; rows that were loaded tell where pages are. */
export const knowRows = (id, rows) => {
    const of = seen.get(id) || seen.set(id, new Map()).get(id);
    rows.forEach(row => of.set(row.page, row.state === 'ended' ? row.status : row.state));
};
export const forget = id => [seen, ends].forEach(map => map.delete(id));

function tick(id) {
    const times = ends.get(id) || ends.set(id, []).get(id);
    times.push(performance.now());
    if (times.length > KEEP)
        times.shift();
}

/* Pages a second over the last pages, as this page saw them end; null: too few, or too long ago. */
export function speed(id) {
    const times = ends.get(id) || [];
    const now = performance.now();
    if (times.length < 2 || now - times.at(-1) > 60000)
        return null;
    return 1000 * (times.length - 1) / Math.max(1, times.at(-1) - times[0]);
}
