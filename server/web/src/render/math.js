/* Formulas: TeX to MathML, which browsers draw and screen readers read. A bundle of its own, loaded when a page has one.
 * Temml builds nodes, never markup; \href, \includegraphics and the like are off (trust), and so are endless macros. */

import temml from 'temml';

const LIMITS = { trust: false, strict: false, throwOnError: true, maxExpand: 200, maxSize: [20, 20] };

/* Put the formula into el; throws on TeX that Temml does not know, with el as it was. */
export function draw(el, tex, isDisplay) {
    const holder = document.createElement('span');
    temml.render(tex, holder, { ...LIMITS, displayMode: isDisplay, annotate: true });
    el.replaceChildren(...holder.childNodes);
}
