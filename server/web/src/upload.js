/* Files on their way to the server. What can be known before a byte is sent (kind, size) is said before. */

import { state, changed } from './store.js';
import { upload } from './api.js';
import { t, bytes, errorText } from './words.js';
import { readingOptions } from './view/options.js';

/* Kinds by their first bytes, as the server decides them (its answer counts; this one only saves the way). */
const HEADS = [
    [/^%PDF/, 'pdf'], [/^\x89PNG\r\n\x1a\n/, 'picture'], [/^\xff\xd8\xff/, 'picture'], [/^RIFF....WEBP/s, 'picture'],
    [/^(II\*\0|MM\0\*|II\+\0|MM\0\+)/, 'picture'], [/^BM/, 'picture'], [/^GIF8[79]a/, 'picture'],
    [/^\0\0\0\x0cjP {2}\r\n\x87\n/, 'picture'], [/^\xff\x4f\xff\x51/, 'picture'], [/^P[1-7]\s/, 'picture'],
];

/* A PDF may have rubbish before its head; the server looks at 1024 bytes, and so do we. */
export async function kindOf(file) {
    const head = new Uint8Array(await file.slice(0, 1024).arrayBuffer());
    const text = Array.from(head, b => String.fromCharCode(b)).join('');
    const hit = HEADS.find(([pattern]) => pattern.test(text));
    return hit ? hit[1] : text.includes('%PDF-') ? 'pdf' : null;
}

let nextId = 1;
function newItem(name, files) {
    const item = { id: nextId++, name, files, state: 'checking', sent: 0, why: '', stop: null };
    state.uploads.push(item);
    changed('uploads');
    return item;
}

function refuse(item, why) {
    Object.assign(item, { state: 'refused', why });
    changed('uploads');
}

export function dismiss(item) {
    if (item.stop)
        item.stop();
    state.uploads = state.uploads.filter(other => other !== item);
    changed('uploads');
}

/* What a person has to be asked, set by view/drop.js: askOne(n pictures) -> 'one', 'each' or null (forget it);
 * askPassword as in view/password.js. */
let hooks = null;
export const setHooks = value => { hooks = value; };

/* Begin with files that a person dropped, pasted or chose; gives the jobs that came of them. */
export async function addFiles(files) {
    const kinds = await Promise.all(files.map(kindOf));
    const pictures = files.filter((_, i) => kinds[i] === 'picture');
    let groups = files.map(file => [file]);
    if (pictures.length > 1 && pictures.length === files.length) {
        const answer = await hooks.askOne(pictures.length);
        if (!answer)
            return [];
        if (answer === 'one')
            groups = [files];
    }
    const jobs = await Promise.all(groups.map(group => sendGroup(group, kinds[files.indexOf(group[0])])));
    return jobs.filter(Boolean);
}

function sendGroup(files, kind) {
    const item = newItem(files[0].name || 'picture.png', files);
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const limit = state.limits && state.limits.upload_bytes;
    if (!size)
        refuse(item, t('up.empty'));
    else if (!kind)
        refuse(item, t('up.kind'));
    else if (limit && size > limit)
        refuse(item, t('up.large', { size: bytes(size), limit: bytes(limit) }));
    else
        return transfer(item);
    return null;
}

/* Send an item's files; gives the job, or null. A locked PDF asks for its password, and is sent again with it. */
async function transfer(item) {
    let job = null;
    try {
        job = await send(item).catch(error => {
            if (!/^password_/.test(error.code))
                throw error;
            return hooks.askPassword(password => send(item, password));
        });
        dismiss(item);
    } catch (error) {
        if (error.code === 'aborted')
            dismiss(item);
        else
            refuse(item, errorText(error));
    }
    return job;
}

async function send(item, password) {
    const options = { ...readingOptions(item.name), ...(password && { password }) };
    const form = new FormData();
    form.append('options', new Blob([JSON.stringify(options)], { type: 'application/json' }));
    item.files.forEach(file => form.append('file', file, file.name || item.name));
    Object.assign(item, { state: 'sending', sent: 0, why: '' });
    const { done, abort } = upload('v1/jobs', form, (sent, total) => {
        item.sent = sent / total;
        changed('uploads');
    });
    item.stop = abort;
    changed('uploads');
    try {
        return await done;
    } finally {
        item.stop = null;
    }
}

export const again = item => transfer(item);

/* Files of a drop, those in folders too. */
export async function filesOf(transferred) {
    const entries = [...transferred.items].map(item => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
    if (!entries.some(entry => entry.isDirectory))
        return [...transferred.files];
    const files = [];
    for (const entry of entries)
        await walk(entry, files);
    return files;
}

const FOLDER_FILES = 500;
async function walk(entry, files) {
    if (files.length >= FOLDER_FILES || entry.name.startsWith('.'))
        return;
    if (entry.isFile) {
        files.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
        return;
    }
    const reader = entry.createReader();
    for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length)
            return;
        for (const child of some.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })))
            await walk(child, files);
    }
}
