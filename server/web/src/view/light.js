/* The lit block: one of the picture's boxes and one of the text's blocks, always together. */

import { state } from '../store.js';

/* Mark those children of parent that belong to the lit block. */
export function light(parent, selector) {
    for (const el of parent.querySelectorAll(`${selector}.lit`)) {
        if (el.dataset.id !== state.blockId)
            el.classList.remove('lit');
    }
    if (state.blockId)
        parent.querySelectorAll(`${selector}[data-id="${CSS.escape(state.blockId)}"]`).forEach(el => el.classList.add('lit'));
}

const isStill = matchMedia('(prefers-reduced-motion: reduce)');

/* Scroll the pane so that the element is seen; nothing moves if it is. */
export function reveal(pane, selector) {
    const frame = document.querySelector(pane);
    const el = frame && frame.querySelector(selector);
    if (!el || !frame.clientHeight)
        return;
    const outer = frame.getBoundingClientRect();
    const inner = el.getBoundingClientRect();
    const isSeen = inner.top >= outer.top && inner.bottom <= outer.bottom && inner.left >= outer.left && inner.right <= outer.right;
    if (isSeen)
        return;
    frame.scrollTo({
        top: frame.scrollTop + inner.top - outer.top - Math.max(16, (outer.height - inner.height) / 2),
        left: frame.scrollLeft + inner.left - outer.left - Math.max(16, (outer.width - inner.width) / 2),
        behavior: isStill.matches ? 'instant' : 'smooth',
    });
}
