/* A list of thousands of rows of equal size of which only those in sight are elements. */

import { h, place, keyed } from '../dom.js';

const SPARE = 4; /* rows kept on either side of what is seen */

/* make(index) and draw(el, index) as in keyed; size() is a row's extent in px, isAcross() whether rows lie side by side.
 * Gives {el, show(n rows), reveal(index), seen(): [first, last]}. */
export function virtualList(spec, attrs, { make, draw, size, isAcross, onscroll }) {
    const inner = h('div.virtual', { role: 'presentation' });
    const el = h(spec, attrs, inner);
    let count = 0;
    const range = () => {
        const across = isAcross();
        const start = across ? el.scrollLeft : el.scrollTop;
        const extent = across ? el.clientWidth : el.clientHeight;
        const first = Math.max(0, Math.floor(start / size()) - SPARE);
        return [first, Math.min(count, Math.ceil((start + extent) / size()) + SPARE)];
    };
    const render = () => {
        const [first, last] = range();
        const indexes = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
        keyed(inner, indexes, i => i, make, (row, i) => {
            const at = `${i * size()}px`;
            place(row, isAcross() ? { left: at, top: '0' } : { top: at, left: '0' });
            draw(row, i);
        });
    };
    el.addEventListener('scroll', () => {
        render();
        onscroll(range());
    }, { passive: true });
    new ResizeObserver(() => show(count)).observe(el);
    function show(n) {
        count = n;
        const extent = `${n * size()}px`;
        place(inner, isAcross() ? { width: extent, height: '100%' } : { height: extent, width: '100%' });
        render();
    }
    function reveal(index) {
        const start = index * size();
        const across = isAcross();
        const at = across ? el.scrollLeft : el.scrollTop;
        const extent = across ? el.clientWidth : el.clientHeight;
        if (start < at || start + size() > at + extent)
            el.scrollTo(across ? { left: start - extent / 2 + size() / 2 } : { top: start - extent / 2 + size() / 2 });
    }
    return { el, show, reveal, seen: range };
}
