/* The picture of the page with its boxes. Boxes are buttons placed in per cent of the sheet, so zooming moves nothing. */

import { h, icon, fill, place, say, keyed } from '../dom.js';
import { t } from '../words.js';
import { state, watch, changed, openRow } from '../store.js';
import { url, pagePath } from '../api.js';
import { KINDS, kindOf, blockText } from '../render/blocks.js';
import { copyText } from '../copy.js';
import { shownBlocks } from './shown.js';
import { light, reveal } from './light.js';
import { drag } from './drag.js';

const STEPS = [0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4];
const WIDTHS = [800, 1600];

export function picturePane() {
    const img = h('img.raster', { alt: '', draggable: 'false' });
    const boxes = h('div.boxes', { role: 'group', 'aria-label': t('pic.boxes'), onkeydown: arrows });
    const sheet = h('div.sheet', img, boxes);
    const none = h('p.note', t('pic.none'));
    const stage = h('div.stage', { tabindex: 0, role: 'region', 'aria-label': t('pic.label') }, none, sheet);
    const legend = h('ul.legend', { 'aria-label': t('pic.legend') });
    const pane = h('section.pane.picture', { 'aria-label': t('pane.picture') }, toolbar(stage), stage, legend);

    drag(stage, zoomTo(stage));
    new ResizeObserver(() => size(stage, sheet)).observe(stage);
    watch('page view', () => drawPicture({ img, sheet, none, stage }));
    watch('page live view', () => {
        const blocks = state.showBoxes ? shownBlocks() : [];
        drawBoxes(boxes, blocks);
        drawLegend(legend, blocks);
    });
    watch('block', () => light(boxes, '.box'));
    return pane;
}

function toolbar(stage) {
    const zoom = h('output.zoom', { 'aria-label': t('pic.zoom') });
    const button = (shape, key, run, id) => h('button.quiet.round', { type: 'button', 'aria-label': t(key), title: t(key), onclick: run, id },
        icon(shape));
    const boxes = h('button.quiet', { type: 'button', id: 'boxes', 'aria-pressed': true, onclick: toggleBoxes }, icon('boxes'),
        h('span', t('pic.boxes')));
    const fit = h('button.quiet', { type: 'button', id: 'fit', title: t('pic.fit'), onclick: () => setZoom('fit') }, icon('fit'),
        h('span', t('pic.fit')));
    watch('view page', () => {
        say(zoom, `${Math.round(scale(stage) * 100)} %`);
        boxes.setAttribute('aria-pressed', String(state.showBoxes));
    });
    return h('div.toolbar', button('minus', 'pic.out', () => stepZoom(stage, -1), 'zoom-out'), zoom,
        button('plus', 'pic.in', () => stepZoom(stage, 1), 'zoom-in'), fit, h('span.space'), boxes);
}

export function toggleBoxes() {
    state.showBoxes = !state.showBoxes;
    changed('view');
}

/* ---- zoom -------------------------------------------------------------------------------------------------------- */

/* Pixels of the page as it was read; unknown before it is drawn. */
function pixels() {
    const size = state.page?.data?.size_px;
    const row = openRow();
    return size || (row && row.width_px ? [row.width_px, row.height_px] : null);
}

/* CSS pixels per pixel of the page. */
function scale(stage) {
    const size = pixels();
    if (!size)
        return 1;
    if (typeof state.zoom === 'number')
        return state.zoom;
    const pad = 32;
    const across = Math.max(40, stage.clientWidth - pad) / size[0];
    return Math.min(across, Math.max(40, stage.clientHeight - pad) / size[1], 4);
}

function size(stage, sheet) {
    const px = pixels();
    if (!px)
        return;
    const by = scale(stage);
    place(sheet, { width: `${Math.round(px[0] * by)}px`, height: `${Math.round(px[1] * by)}px` });
}

export function setZoom(zoom) {
    state.zoom = zoom;
    changed('view');
}

function stepZoom(stage, by) {
    const now = scale(stage);
    const next = by > 0 ? STEPS.find(s => s > now * 1.01) : STEPS.findLast(s => s < now * 0.99);
    if (next)
        zoomTo(stage)(next / now);
}

/* Zoom by a factor, with the point under (x, y) of the window, or the middle, staying where it is. */
const zoomTo = stage => (factor, x, y) => {
    const frame = stage.getBoundingClientRect();
    const px = x === undefined ? frame.width / 2 : x - frame.left;
    const py = y === undefined ? frame.height / 2 : y - frame.top;
    const old = scale(stage);
    const next = Math.min(4, Math.max(0.1, old * factor));
    const left = (stage.scrollLeft + px) * (next / old) - px;
    const top = (stage.scrollTop + py) * (next / old) - py;
    state.zoom = next;
    size(stage, stage.querySelector('.sheet'));
    stage.scrollTo({ left, top, behavior: 'instant' });
    changed('view');
};

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

function drawPicture({ img, sheet, none, stage }) {
    const row = openRow();
    const px = pixels();
    const hasPicture = !!px && !!row;
    sheet.hidden = !hasPicture;
    none.hidden = hasPicture;
    if (!hasPicture) {
        img.removeAttribute('src');
        img.dataset.src = '';
        return;
    }
    size(stage, sheet);
    const need = px[0] * scale(stage) * devicePixelRatio;
    const w = WIDTHS.find(width => width >= Math.min(need, px[0])) || 'full';
    const src = url(pagePath(state.jobId, state.pageNo, '/image'), { w });
    const [page] = (img.dataset.src || '').split('?');
    if (img.dataset.src === src || (page === src.split('?')[0] && (img.dataset.w === 'full' || Number(img.dataset.w) >= Number(w))))
        return;
    img.alt = t('pic.alt', { n: state.pageNo });
    img.dataset.src = src;
    img.dataset.w = w;
    img.src = src;
}

const percent = v => `${(v / 999 * 100).toFixed(3)}%`;

function drawBoxes(parent, blocks) {
    const all = blocks.flatMap((block, i) => block.boxes_999.map((box, k) => ({ block, box, n: i + 1, key: `${block.id}.${k}` })));
    keyed(parent, all, item => item.key, makeBox, drawBox);
    const tabbable = parent.querySelector('.box[tabindex="0"]');
    if (!tabbable && parent.firstElementChild)
        parent.firstElementChild.tabIndex = 0;
}

function makeBox() {
    const el = h('button.box', { type: 'button', tabindex: -1 }, h('span.no'));
    el.addEventListener('pointerenter', e => e.pointerType === 'mouse' && point(el.dataset.id));
    el.addEventListener('pointerleave', e => e.pointerType === 'mouse' && point(null));
    el.addEventListener('focus', () => point(el.dataset.id));
    el.addEventListener('click', () => copyBlock(el.dataset.id));
    return el;
}

function drawBox(el, { block, box, n }) {
    el.dataset.id = block.id;
    el.dataset.kind = kindOf(block);
    const [x1, y1, x2, y2] = box;
    place(el, { left: percent(Math.min(x1, x2)), top: percent(Math.min(y1, y2)), width: percent(Math.abs(x2 - x1)),
        height: percent(Math.abs(y2 - y1)) });
    say(el.firstElementChild, String(n));
    const name = t('box.name', { n, kind: t(`kind.${kindOf(block)}`), text: (block.text || '').slice(0, 80) });
    if (el.getAttribute('aria-label') !== name)
        el.setAttribute('aria-label', name);
}

/* Light a box's block, and bring it into view in the other pane. */
function point(id) {
    state.blockId = id;
    changed('block');
    if (id)
        reveal('.text-body', `.block[data-id="${CSS.escape(id)}"]`);
}

function copyBlock(id) {
    const blocks = shownBlocks();
    const i = blocks.findIndex(block => block.id === id);
    if (i >= 0)
        copyText(blockText(blocks[i]), t('box.copied', { n: i + 1 }));
}

/* One box is reached by Tab, the others from there by arrows. */
function arrows(e) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    const all = [...e.currentTarget.children];
    const at = all.indexOf(document.activeElement);
    if (!by || at < 0)
        return;
    e.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
}

function drawLegend(legend, blocks) {
    const present = new Set(blocks.filter(block => block.boxes_999.length).map(kindOf));
    const kinds = KINDS.filter(kind => present.has(kind));
    const key = kinds.join();
    if (legend.dataset.key === key)
        return;
    legend.dataset.key = key;
    legend.hidden = !kinds.length;
    fill(legend, kinds.map(kind => h('li', { data: { kind } }, h('i', { 'aria-hidden': true }), t(`kind.${kind}`))));
}
