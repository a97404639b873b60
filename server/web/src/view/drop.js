/* Where documents come in: the drop zone of the start screen, the whole window, the clipboard, the camera of a phone. */

import { h, icon, keyed, fill, say, place } from '../dom.js';
import { t } from '../words.js';
import { state, watch } from '../store.js';
import { addFiles, filesOf, dismiss, again, setHooks } from '../upload.js';
import { ask } from './dialog.js';
import { askPassword } from './password.js';
import { optionsPanel } from './options.js';
import { go } from '../route.js';
import { url } from '../api.js';

const askOne = n => ask(t('drop.pictures', { n }), t('drop.pictures.ask'),
    [['one', t('drop.one'), true], ['each', t('drop.each', { n })]]);
setHooks({ askOne, askPassword });

/* Take files in, and open the document if only one came of them. */
export async function take(files) {
    if (!files.length)
        return;
    const jobs = await addFiles(files);
    if (jobs.length === 1)
        go(jobs[0].id);
}

export function choose() {
    const input = h('input', { type: 'file', multiple: true, accept: '.pdf,image/*' });
    input.addEventListener('change', () => take([...input.files]));
    input.click();
}

function shoot() {
    const input = h('input', { type: 'file', accept: 'image/*', capture: 'environment' });
    input.addEventListener('change', () => take([...input.files]));
    input.click();
}

export async function sample() {
    const blob = await (await fetch(url('sample.png'))).blob();
    take([new File([blob], 'sample.png', { type: 'image/png' })]);
}

/* The start screen. */
export function dropScreen() {
    const hasCamera = matchMedia('(pointer: coarse)').matches;
    return h('div.start',
        h('div.zone', h('div.zone-art', { 'aria-hidden': true }, icon('page')),
            h('h1', t('drop.title')), h('p', t('drop.text')),
            h('div.buttons', h('button.main', { type: 'button', id: 'choose', onclick: choose }, icon('plus'), t('drop.choose')),
                hasCamera && h('button', { type: 'button', onclick: shoot }, icon('camera'), t('drop.camera')),
                h('button', { type: 'button', id: 'sample', onclick: sample }, t('list.sample')))),
        uploadList(), optionsPanel());
}

/* Uploads that go on or were refused; shown on the start screen and above an open document. */
export function uploadList() {
    const list = h('ul.uploads', { 'aria-live': 'polite' });
    watch('uploads', () => keyed(list, state.uploads, item => item.id, makeItem, drawItem));
    return list;
}

function makeItem(item) {
    return h('li', h('span.name', { dir: 'auto' }, item.name), h('span.what'), h('span.bar', { 'aria-hidden': true }, h('i')), h('span.do'));
}

function drawItem(el, item) {
    const n = Math.round(100 * item.sent);
    const [, what, bar, actions] = el.children;
    const isRefused = item.state === 'refused';
    say(what, isRefused ? item.why : item.state === 'sending' ? t('up.sending', { n }) : t('up.checking'));
    bar.hidden = isRefused;
    place(bar.firstElementChild, { width: `${n}%` });
    if (el.dataset.state === item.state)
        return;
    el.dataset.state = item.state;
    fill(actions, isRefused && h('button.quiet', { type: 'button', onclick: () => again(item) }, t('up.again')),
        h('button.quiet', { type: 'button', 'aria-label': isRefused ? t('up.dismiss') : t('up.stop', { name: item.name }),
            onclick: () => dismiss(item) }, icon('close')));
}

/* Drag and drop on the whole window, and paste. */
export function listen() {
    const veil = h('div.veil', { hidden: true, 'aria-hidden': true }, h('div', icon('down'), t('drop.over')));
    let depth = 0;
    const hasFiles = e => [...(e.dataTransfer?.types || [])].includes('Files');
    const show = e => {
        if (!hasFiles(e))
            return;
        e.preventDefault();
        depth += e.type === 'dragenter' ? 1 : 0;
        veil.hidden = false;
    };
    const hide = () => {
        depth = Math.max(0, depth - 1);
        veil.hidden = depth === 0;
    };
    addEventListener('dragenter', show);
    addEventListener('dragover', e => hasFiles(e) && e.preventDefault());
    addEventListener('dragleave', hide);
    addEventListener('drop', async e => {
        if (!hasFiles(e))
            return;
        e.preventDefault();
        depth = 0;
        veil.hidden = true;
        take(await filesOf(e.dataTransfer));
    });
    addEventListener('paste', e => {
        const files = [...(e.clipboardData?.files || [])];
        if (files.length) {
            e.preventDefault();
            take(files);
        }
    });
    return veil;
}
