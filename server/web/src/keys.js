/* Single keys, for who wants them: never while a text field or a dialog has the focus, and they can be switched off. */

import { prefs } from './prefs.js';
import { state, changed } from './store.js';
import { step } from './view/strip.js';
import { stepBlock } from './view/text.js';
import { toggleBoxes } from './view/picture.js';
import { startEdit, saveEdit, stopEdit } from './view/edit.js';
import { askAgain } from './view/again.js';
import { copyPage } from './view/copypage.js';

const isField = el => !!el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));

export function listen({ help, showList }) {
    const actions = { j: () => step(1), k: () => step(-1), ']': () => stepBlock(1), '[': () => stepBlock(-1), b: toggleBoxes, e: startEdit,
        r: askAgain, c: copyPage, '?': help, '/': () => {
            showList(true);
            document.getElementById('search').focus();
        } };
    addEventListener('keydown', e => {
        if ((e.ctrlKey || e.metaKey) && e.key === 's' && state.edit) {
            e.preventDefault();
            saveEdit();
            return;
        }
        if (e.key === 'Escape' && !document.querySelector('dialog[open]'))
            leave();
        const isSingle = prefs.keys && !e.ctrlKey && !e.metaKey && !e.altKey && !isField(e.target) && !document.querySelector('dialog[open]');
        const isOpen = state.jobId || e.key === '/' || e.key === '?';
        if (isSingle && isOpen && actions[e.key] && state.link.state !== 'key') {
            e.preventDefault();
            actions[e.key]();
        }
    });

    /* Escape: out of a field, of an edit without changes, of the list of a narrow window. */
    function leave() {
        if (isField(document.activeElement) && document.activeElement.id !== 'editor')
            document.activeElement.blur();
        else if (state.edit && state.edit.phase !== 'dirty')
            stopEdit();
        state.blockId = null;
        changed('block');
        showList(false);
    }
}
