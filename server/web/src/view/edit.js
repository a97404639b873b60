/* Correcting the text of a page. The user's text lies beside the model's on the server; a draft that is not saved yet lies in
 * this browser and survives a reload. A save names the version it began from, so that nobody's work is written over. */

import { h, icon, fill, say } from '../dom.js';
import { t, errorText } from '../words.js';
import { state, watch, changed } from '../store.js';
import { request, getText, pagePath } from '../api.js';
import { recall, remember } from '../prefs.js';
import { renderMarkdown } from '../render/markdown.js';
import { ask } from './dialog.js';
import { loadPage } from '../sync.js';
import { toast } from './toast.js';

const draftName = (job, page) => `draft.${job}.${page}`;

/* state.edit = {job, page, etag, saved (text at the server), text, phase: clean dirty saving saved failed, why} */
export async function startEdit() {
    const { jobId: job, pageNo: page } = state;
    if (!state.page?.data)
        return;
    try {
        const { text, etag } = await getText(pagePath(job, page, '.md'));
        const draft = recall(draftName(job, page), null);
        const isKept = draft !== null && draft !== text;
        state.edit = { job, page, etag, saved: text, text: isKept ? draft : text, phase: isKept ? 'draft' : 'clean', why: '' };
        changed('edit');
        document.getElementById('editor').focus();
    } catch (error) {
        toast(errorText(error));
    }
}

export function stopEdit() {
    state.edit = null;
    changed('edit');
    document.getElementById('edit')?.focus();
}

export function editor() {
    const label = h('label', { for: 'editor' });
    const area = h('textarea', { id: 'editor', spellcheck: 'true', dir: 'auto', oninput: () => type(area.value) });
    const phase = h('span.phase', { role: 'status' });
    const preview = h('div.preview', { tabindex: 0, role: 'region', 'aria-label': t('edit.preview') });
    const save = h('button.main', { type: 'button', id: 'save', onclick: saveEdit }, t('edit.save'));
    const bar = h('div.toolbar', phase, h('span.space'),
        h('button.quiet', { type: 'button', id: 'restore', onclick: restore }, icon('undo'), h('span', t('edit.restore'))),
        save, h('button', { type: 'button', onclick: stopEdit }, t('edit.done')));
    let shown = null;
    watch('edit', () => {
        const edit = state.edit;
        if (!edit)
            return;
        say(label, t('edit.source', { n: edit.page }));
        if (area.value !== edit.text)
            area.value = edit.text;
        say(phase, words(edit));
        save.disabled = edit.phase === 'clean' || edit.phase === 'saving' || edit.phase === 'saved';
        if (shown !== edit.text) {
            shown = edit.text;
            fill(preview, renderMarkdown(edit.text));
        }
    });
    return h('div.editor', { hidden: true }, bar, h('div.halves', h('div.half', label, area), h('div.half', h('h2', t('edit.preview')), preview)));
}

function words(edit) {
    const key = { clean: '', dirty: 'edit.dirty', draft: 'edit.draft', saving: 'edit.saving', saved: 'edit.saved',
        failed: 'edit.failed' }[edit.phase];
    return key ? t(key, { why: edit.why }) : '';
}

function type(text) {
    const edit = state.edit;
    Object.assign(edit, { text, phase: text === edit.saved ? 'clean' : 'dirty' });
    remember(draftName(edit.job, edit.page), text === edit.saved ? null : text);
    changed('edit');
}

export async function saveEdit() {
    const edit = state.edit;
    if (!edit || edit.phase === 'saving' || edit.phase === 'clean')
        return;
    await put(edit, edit.text);
}

/* An empty body gives the model's text back. */
async function restore() {
    const edit = state.edit;
    if (await put(edit, '')) {
        const { text, etag } = await getText(pagePath(edit.job, edit.page, '.md'));
        Object.assign(edit, { text, saved: text, etag, phase: 'saved' });
        changed('edit');
    }
}

async function put(edit, text) {
    Object.assign(edit, { phase: 'saving' });
    changed('edit');
    try {
        const answer = await request('PUT', pagePath(edit.job, edit.page, '/text'), { text, headers: { 'If-Match': edit.etag } });
        const etag = answer.headers.get('ETag') || (await getText(pagePath(edit.job, edit.page, '.md'))).etag;
        Object.assign(edit, { etag, saved: text, phase: edit.text === text || !text ? 'saved' : 'dirty' });
        remember(draftName(edit.job, edit.page), null);
        changed('edit');
        loadPage();
        return true;
    } catch (error) {
        Object.assign(edit, { phase: 'failed', why: errorText(error) });
        changed('edit');
        if (error.code === 'edit_conflict')
            await settle(edit);
        return false;
    }
}

/* Somebody saved meanwhile: take theirs, or put mine on top of it. */
async function settle(edit) {
    const { text, etag } = await getText(pagePath(edit.job, edit.page, '.md'));
    const answer = await ask(t('edit.source', { n: edit.page }), t('edit.conflict'),
        [['mine', t('edit.mine'), true], ['theirs', t('edit.theirs')]]);
    if (!answer)
        return;
    Object.assign(edit, { etag, saved: text });
    if (answer === 'theirs') {
        Object.assign(edit, { text, phase: 'clean' });
        remember(draftName(edit.job, edit.page), null);
        changed('edit');
    } else
        await put(edit, edit.text);
}
