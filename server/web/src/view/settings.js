/* Settings of this browser, and the list of keys. */

import { h, fill } from '../dom.js';
import { t } from '../words.js';
import { prefs, setPref, language } from '../prefs.js';
import { changed } from '../store.js';
import { url } from '../api.js';
import { dialog } from './dialog.js';
import { logOut } from './link.js';

const KEYS = [['j', 'k', 'help.pages'], ['[', ']', 'help.blocks'], ['b', null, 'help.boxes'], ['e', null, 'help.edit'],
    ['Ctrl S', null, 'help.save'], ['r', null, 'help.retry'], ['c', null, 'help.copy'], ['/', null, 'help.search'],
    ['?', null, 'help.help'], ['Esc', null, 'help.esc']];

/* rebuild() makes the whole page anew, in the language that was chosen. */
export function openSettings(rebuild) {
    const radios = (name, values, words, now, set) => h('fieldset.pick', h('legend', words), values.map(([value, label]) =>
        h('label', h('input', { type: 'radio', name, value, checked: value === now, onchange: () => set(value) }), h('span', label))));
    const check = (name, words, after) => h('label.check', h('input', { type: 'checkbox', checked: prefs[name], onchange: e => {
        setPref(name, e.target.checked);
        after();
    } }), words);
    const content = h('div.settings');
    const draw = () => fill(content,
        radios('lang', [['en', 'English'], ['zh', '中文']], t('set.lang'), language(), lang => {
            setPref('lang', lang);
            el.close();
            rebuild();
            openSettings(rebuild);
        }),
        radios('theme', ['light', 'dark', 'system'].map(v => [v, t(`set.theme.${v}`)]), t('set.theme'), prefs.theme, v => setPref('theme', v)),
        radios('size', [90, 100, 115, 130].map(v => [v, `${v} %`]), t('set.size'), prefs.size, v => setPref('size', v)),
        check('doubt', t('set.doubt'), () => changed('page')),
        check('keys', t('set.keys'), () => null),
        keyTable(),
        h('p.links', h('a', { href: url('licences.txt'), target: '_blank', rel: 'noopener' }, t('set.licences')),
            document.cookie || h('button.quiet', { type: 'button', onclick: logOut }, t('key.out'))));
    const el = dialog(t('app.settings'), content, null);
    draw();
}

function keyTable() {
    return h('table.keys', h('caption', t('help.title')), h('tbody', KEYS.map(([a, b, words]) =>
        h('tr', h('th', { scope: 'row' }, h('kbd', a), b && h('kbd', b)), h('td', t(words))))));
}
