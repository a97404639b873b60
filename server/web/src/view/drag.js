/* Moving a picture about: the mouse drags it, Ctrl and the wheel zoom, two fingers pinch. One finger scrolls by itself. */

/* zoom(factor, x, y) in window coordinates. */
export function drag(stage, zoom) {
    stage.addEventListener('wheel', e => {
        if (!e.ctrlKey && !e.metaKey)
            return;
        e.preventDefault();
        zoom(Math.exp(-e.deltaY / 300), e.clientX, e.clientY);
    }, { passive: false });
    pan(stage);
    pinch(stage, zoom);
}

function pan(stage) {
    let from = null;
    stage.addEventListener('pointerdown', e => {
        if (e.pointerType !== 'mouse' || e.button !== 0)
            return;
        from = { x: e.clientX, y: e.clientY, left: stage.scrollLeft, top: stage.scrollTop, isFar: false };
    });
    addEventListener('pointermove', e => {
        if (!from)
            return;
        const dx = e.clientX - from.x;
        const dy = e.clientY - from.y;
        from.isFar = from.isFar || Math.hypot(dx, dy) > 4;
        if (!from.isFar)
            return;
        stage.classList.add('dragged');
        stage.scrollTo({ left: from.left - dx, top: from.top - dy, behavior: 'instant' });
    });
    addEventListener('pointerup', () => {
        from = null;
        setTimeout(() => stage.classList.remove('dragged'), 0);
    });
    /* The click that ends a drag is none. */
    stage.addEventListener('click', e => stage.classList.contains('dragged') && (e.stopPropagation(), e.preventDefault()), true);
}

function pinch(stage, zoom) {
    const fingers = new Map();
    let apart = 0;
    const spread = () => {
        const [a, b] = [...fingers.values()];
        return { d: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    const at = e => fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    stage.addEventListener('pointerdown', e => {
        if (e.pointerType !== 'touch')
            return;
        at(e);
        apart = fingers.size === 2 ? spread().d : 0;
    });
    stage.addEventListener('pointermove', e => {
        if (!fingers.has(e.pointerId))
            return;
        at(e);
        if (fingers.size !== 2 || !apart)
            return;
        const now = spread();
        zoom(now.d / apart, now.x, now.y);
        apart = now.d;
    });
    for (const type of ['pointerup', 'pointercancel'])
        addEventListener(type, e => fingers.delete(e.pointerId));
}
