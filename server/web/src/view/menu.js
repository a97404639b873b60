/* A button with a menu: arrows move, Escape and a click elsewhere close. The list is made when it opens, so that a long
 * history has no hidden menus in it. */

import { h, icon, place } from '../dom.js';

let open = null;

/* items() gives [{label, icon, run, href, name, danger, note}] (null: left out). attrs and content are the button's. */
export function menuButton(spec, attrs, content, items) {
    const button = h(spec, { type: 'button', 'aria-haspopup': 'menu', 'aria-expanded': false, ...attrs }, content);
    button.addEventListener('click', e => {
        e.stopPropagation();
        if (open && open.button === button)
            close();
        else
            show(button, items());
    });
    return button;
}

function show(button, items) {
    close();
    const list = h('div.menu', { role: 'menu', onkeydown: move }, items.filter(Boolean).map(entry));
    button.closest('dialog, main, aside').append(list);
    const at = button.getBoundingClientRect();
    const size = list.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8));
    const isBelow = at.bottom + 4 + size.height < innerHeight || at.top < size.height;
    place(list, { left: `${left}px`, top: `${isBelow ? at.bottom + 4 : at.top - size.height - 4}px` });
    button.setAttribute('aria-expanded', 'true');
    open = { button, list };
    list.querySelector('[role=menuitem]')?.focus();
}

function entry(item) {
    const content = [icon(item.icon), h('span', item.label), item.note && h('span.note', item.note)];
    const run = () => {
        close(true);
        if (item.run)
            item.run();
    };
    const attrs = { role: 'menuitem', tabindex: -1, class: item.danger ? 'danger' : '', onclick: run };
    return item.href ? h('a', { ...attrs, href: item.href, download: item.name || '' }, content) :
        h('button', { ...attrs, type: 'button' }, content);
}

function move(e) {
    const items = [...open.list.querySelectorAll('[role=menuitem]')];
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[e.key];
    if (to !== undefined) {
        e.preventDefault();
        items[to % items.length].focus();
    } else if (e.key === 'Escape' || e.key === 'Tab') {
        e.preventDefault();
        e.stopPropagation();
        close(true);
    }
}

export function close(giveBack) {
    if (!open)
        return;
    const { button, list } = open;
    open = null;
    list.remove();
    button.setAttribute('aria-expanded', 'false');
    if (giveBack)
        button.focus();
}

addEventListener('click', e => open && !open.list.contains(e.target) && close());
addEventListener('resize', () => close());
addEventListener('scroll', e => open && e.target !== open.list && close(), true);
