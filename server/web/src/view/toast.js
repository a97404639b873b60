/* Short messages at the lower edge, and the voice for screen readers: progress is spoken at most each five seconds. */

import { h, icon, say } from '../dom.js';
import { t } from '../words.js';

const SHOW_MS = 5000;
const SPEAK_MS = 5000;
const shelf = h('div.toasts', { role: 'status' });
const voice = h('div.unseen', { role: 'status', 'aria-live': 'polite' });
let next = '';
let timer = 0;

export const toastShelf = () => [shelf, voice];

/* Show text; with action = {label, run} a button too. after() is called when the toast goes without the action. */
export function toast(text, action, after) {
    const el = h('div.toast', h('span', text));
    const go = run => {
        clearTimeout(hide);
        el.remove();
        if (run)
            run();
    };
    const hide = setTimeout(() => go(after), SHOW_MS);
    if (action)
        el.append(h('button.quiet', { type: 'button', onclick: () => go(action.run) }, icon('undo'), action.label));
    else
        el.append(h('button.quiet', { type: 'button', 'aria-label': t('app.close'), onclick: () => go(after) }, icon('close')));
    shelf.append(el);
    while (shelf.children.length > 3)
        shelf.firstElementChild.remove();
}

export function speak(text) {
    next = text;
    if (timer)
        return;
    say(voice, next);
    timer = setTimeout(() => {
        timer = 0;
        if (next !== voice.textContent)
            speak(next);
    }, SPEAK_MS);
}
