/* Dialogs by the browser's own element: it keeps the focus inside, closes by Escape and gives the focus back. */

import { h, icon } from '../dom.js';
import { t } from '../words.js';

let count = 0;

/* Open a dialog with a title and content; onclose(value) gets what close(value) was given, '' for Escape. */
export function dialog(title, content, onclose, kind = '') {
    const id = `dialog${++count}`;
    const el = h('dialog', { 'aria-labelledby': id, class: kind },
        h('header', h('h2', { id }, title),
            h('button.quiet.round', { type: 'button', 'aria-label': t('app.close'), onclick: () => el.close('') }, icon('close'))),
        h('div.content', content));
    el.addEventListener('close', () => {
        el.remove();
        if (onclose)
            onclose(el.returnValue);
    });
    el.addEventListener('click', e => {
        if (e.target === el && isOutside(el, e))
            el.close('');
    });
    document.body.append(el);
    el.showModal();
    return el;
}

function isOutside(el, e) {
    const box = el.getBoundingClientRect();
    return e.clientX < box.left || e.clientX > box.right || e.clientY < box.top || e.clientY > box.bottom;
}

/* Ask one thing; answers = [[value, words, primary]]. Gives the value, or null. */
export function ask(title, text, answers) {
    return new Promise(resolve => {
        const buttons = answers.map(([value, words, isMain]) =>
            h(isMain ? 'button.main' : 'button', { type: 'button', onclick: () => el.close(value) }, words));
        const el = dialog(title, [h('p', text), h('div.buttons', buttons)], value => resolve(value || null), 'small');
        buttons[0].focus();
    });
}

/* A form with one field. submit(value) may throw an Error, whose message is shown; else the dialog closes, however: after(). */
export function askText(title, text, field, button, submit, after) {
    const input = h('input', { id: `field${count + 1}`, value: field.value || '', type: field.type || 'text', required: true,
        autocomplete: field.autocomplete || 'off', spellcheck: 'false' });
    const wrong = h('p.wrong', { role: 'alert' });
    const form = h('form', { method: 'dialog', onsubmit: async e => {
        e.preventDefault();
        wrong.textContent = '';
        try {
            await submit(input.value);
            el.close('done');
        } catch (error) {
            wrong.textContent = error.message;
            input.select();
        }
    } }, text && h('p', text), h('label', { for: input.id }, field.label), input, wrong,
    h('div.buttons', h('button.main', { type: 'submit' }, button)));
    const el = dialog(title, form, after, 'small');
    input.focus();
    input.select();
}
