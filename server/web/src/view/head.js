/* Above the open document: what it is, how far it is, and what can be done with all of it. */

import { h, icon, fill, say, place } from '../dom.js';
import { t, number, span, pageCount, errorText } from '../words.js';
import { state, watch, openJob } from '../store.js';
import { url, jobPath } from '../api.js';
import { cancelJob, retryPages, loadAllRows } from '../sync.js';
import { jobLook, ended, needsLook } from './status.js';
import { menuButton } from './menu.js';
import { act, rename, remove } from './history.js';
import { askPassword } from './password.js';
import { speed } from '../progress.js';
import { copyText } from '../copy.js';
import { speak } from './toast.js';

const FORMATS = ['md', 'html', 'txt', 'json', 'pdf', 'zip'];

export function jobHead() {
    const name = h('h1', { dir: 'auto' });
    const chip = h('span.chip');
    const facts = h('span.facts');
    const bar = h('div.bar', { role: 'progressbar', 'aria-valuemin': 0 }, h('i'));
    const buttons = h('div.buttons');
    const head = h('header.job-head', h('div.title', name, h('div.state', chip, facts)), buttons, bar);
    let shape = '';
    watch('job', () => {
        const job = openJob();
        head.hidden = !job;
        if (!job)
            return;
        say(name, job.name);
        name.title = job.name;
        drawState(job, chip, facts, bar);
        const now = [job.id, job.state, job.attention, job.error && job.error.code].join();
        if (now !== shape) {
            shape = now;
            fill(buttons, actions(job));
            offerPassword(job);
        }
    });
    return head;
}

function drawState(job, chip, facts, bar) {
    const look = jobLook(job);
    const done = ended(job);
    const total = job.pages.total;
    if (chip.dataset.key !== look.icon + look.words) {
        chip.dataset.key = look.icon + look.words;
        chip.dataset.tone = look.tone;
        fill(chip, icon(look.icon), h('span', look.words));
    }
    const rate = speed(job.id) || job.speed_pages_s;
    const parts = job.state === 'running' ? [t('job.progress', { n: number(done), total: number(total) }),
        rate > 0 && t('job.speed', { n: number(rate, rate < 10 ? 1 : 0) }),
        rate > 0 && done < total && t('job.eta', { time: span((total - done) / rate) })] :
        [total > 0 && pageCount(total), job.started_ms && job.ended_ms && span((job.ended_ms - job.started_ms) / 1000),
            job.state === 'failed' && job.error && errorText(job.error)];
    say(facts, parts.filter(Boolean).join(' · '));
    bar.hidden = job.state !== 'running';
    bar.setAttribute('aria-label', look.words);
    bar.setAttribute('aria-valuemax', total);
    bar.setAttribute('aria-valuenow', done);
    place(bar.firstElementChild, { transform: `scaleX(${done / Math.max(1, total)})` });
    speak(`${job.name}: ${look.words}, ${t('job.progress', { n: done, total })}`);
}

function actions(job) {
    const isBusy = job.state === 'running' || job.state === 'queued';
    const more = () => [
        { label: t('job.link'), icon: 'link', run: () => copyText(location.href, t('job.linked')) },
        { label: t('list.rename'), icon: 'pen', run: () => rename(job) },
        { label: t('list.delete'), icon: 'trash', danger: true, run: () => remove(job) },
    ];
    return [
        job.attention > 0 && !isBusy && h('button', { type: 'button', onclick: () => retryMarked(job) }, icon('loop'),
            h('span', t('job.retry', { n: job.attention }))),
        isBusy && h('button', { type: 'button', onclick: () => act(cancelJob(job.id)) }, icon('stop'), h('span', t('job.cancel'))),
        job.state !== 'failed' && menuButton('button.main', { id: 'download', title: isBusy ? t('job.download.partial') : null }, [icon('down'), h('span', t('job.download'))],
            () => downloads(openJob())),
        menuButton('button.quiet.round', { 'aria-label': t('app.more', { name: job.name }) }, icon('more'), more),
    ];
}

/* Results of a document that is still being read hold what is there, with its gaps marked. */
function downloads(job) {
    const isWhole = job.state !== 'running' && job.state !== 'queued';
    const stem = job.name.replace(/\.[^.]{1,5}$/, '') || 'document';
    return FORMATS.map(format => ({
        label: t(`fmt.${format}`), icon: format === 'zip' ? 'down' : 'page', note: `.${format}`, name: `${stem}.${format}`,
        href: url(jobPath(job.id, `/result.${format}`), { partial: isWhole ? null : 1 }),
    }));
}

async function retryMarked(job) {
    await loadAllRows();
    const pages = state.rows.filter(needsLook).map(row => row.page);
    if (pages.length && state.jobId === job.id)
        act(retryPages(job.id, pages.join()));
}

/* A document whose password is gone (it is kept in memory only) asks for it again. */
function offerPassword(job) {
    const isLocked = job.state === 'failed' && job.error && /^password_/.test(job.error.code);
    if (isLocked && !document.querySelector('dialog[open]'))
        act(askPassword(password => retryPages(job.id, null, {}, password)));
}
