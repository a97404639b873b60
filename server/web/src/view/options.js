/* How documents are to be read: five ways in plain words, and what few need. This browser remembers the choice. */

import { h, icon, fill } from '../dom.js';
import { t } from '../words.js';
import { prefs, setPref } from '../prefs.js';

const MODES = [['markdown', 'page'], ['text', 'text'], ['figure', 'figure'], ['describe', 'chat'], ['locate', 'target']];
const DPIS = ['auto', '144', '200', '300'];
const CLASSES = ['normal', 'interactive', 'batch'];
const DEFAULTS = { mode: 'markdown', query: '', pages: '', dpi: 'auto', class: 'normal' };

const chosen = () => ({ ...DEFAULTS, ...prefs.options });
const set = (name, value) => setPref('options', { ...chosen(), [name]: value });

/* The options part of a job, without what is as usual. */
export function readingOptions(name) {
    const o = chosen();
    const out = { name };
    if (o.mode !== 'markdown')
        out.mode = o.mode;
    if (o.mode === 'locate')
        out.query = o.query;
    if (o.pages.trim())
        out.pages = o.pages.replace(/\s/g, '');
    if (o.dpi !== 'auto')
        out.dpi = Number(o.dpi);
    if (o.class !== 'normal')
        out.class = o.class;
    return out;
}

export function optionsPanel() {
    const body = h('div.options-body');
    const isUsual = () => JSON.stringify(chosen()) === JSON.stringify(DEFAULTS);
    const reset = h('button.quiet', { type: 'button', onclick: () => { setPref('options', {}); draw(); } }, t('opt.reset'));
    const draw = () => {
        reset.hidden = isUsual();
        fill(body, modes(draw), query(), h('div.row', pages(), choice('dpi', DPIS, v => v === 'auto' ? t('opt.dpi.auto') : `${v} dpi`),
            choice('class', CLASSES, v => t(`opt.class.${v}`)), reset));
    };
    draw();
    return h('details.options', { open: !isUsual() }, h('summary', icon('gear'), t('opt.title')), body);
}

function modes(draw) {
    const cards = MODES.map(([mode, shape]) => h('label.card',
        h('input', { type: 'radio', name: 'mode', value: mode, checked: chosen().mode === mode,
            onchange: () => { set('mode', mode); draw(); document.querySelector(`input[name=mode][value=${mode}]`).focus(); } }),
        icon(shape), h('span', h('b', t(`mode.${mode}`)), h('small', t(`mode.${mode}.text`)))));
    return h('fieldset', h('legend', t('opt.mode')), h('div.cards', cards));
}

function query() {
    if (chosen().mode !== 'locate')
        return null;
    return h('label.field', h('span', t('opt.query')),
        h('input', { type: 'text', value: chosen().query, oninput: e => set('query', e.target.value) }));
}

function pages() {
    return h('label.field', h('span', t('opt.pages')), h('input', { type: 'text', value: chosen().pages, inputmode: 'text',
        placeholder: t('opt.pages.hint'), oninput: e => set('pages', e.target.value) }));
}

function choice(name, values, words) {
    return h('label.field', h('span', t(`opt.${name}`)), h('select', { onchange: e => set(name, e.target.value) },
        values.map(v => h('option', { value: v, selected: chosen()[name] === v }, words(v)))));
}
