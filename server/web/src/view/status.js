/* How states look: a word and an icon each, and a tone (colour) that says nothing the other two do not. */

import { t } from '../words.js';

const PAGE = {
    queued: ['clock', 'calm'], rendering: ['clock', 'busy'], reading: ['eye', 'busy'], ok: ['check', 'good'], blank: ['blank', 'calm'],
    suspect: ['warn', 'look'], loop: ['loop', 'look'], length: ['cut', 'look'], error: ['fail', 'bad'], skipped: ['next', 'calm'],
    cancelled: ['stop', 'calm'],
};

/* Of a page row (undefined: not loaded yet): {key, icon, tone, words}. */
export function pageLook(row) {
    const key = !row ? 'queued' : row.state === 'ended' ? row.status : row.state;
    const [shape, tone] = PAGE[key] || PAGE.queued;
    return { key, icon: shape, tone, words: t(`st.${key}`) };
}

export const needsLook = row => !!row && row.state === 'ended' && ['suspect', 'loop', 'length', 'error'].includes(row.status);

const JOB = { queued: ['clock', 'calm'], running: ['eye', 'busy'], done: ['check', 'good'], failed: ['fail', 'bad'],
    cancelled: ['stop', 'calm'], expired: ['clock', 'calm'] };

export function jobLook(job) {
    if (job.state === 'done' && job.attention)
        return { icon: 'warn', tone: 'look', words: t('job.look', { n: job.attention }) };
    const [shape, tone] = JOB[job.state] || JOB.queued;
    const isAhead = job.state === 'queued' && job.position;
    return { icon: shape, tone, words: isAhead ? t('job.queued.at', { n: job.position }) : t(`job.${job.state}`) };
}

/* Pages of a job that have ended, however. */
export function ended(job) {
    const p = job.pages;
    return p.total - (p.queued || 0) - (p.rendering || 0) - (p.reading || 0);
}
