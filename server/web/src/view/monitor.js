/* What the device does: a line below the list, and on a click figures with their last ten minutes, as curves and as a table. */

import { h, icon, svg, say, fill } from '../dom.js';
import { t, number, bytes } from '../words.js';
import { state, watch } from '../store.js';
import { loadHistory } from '../sync.js';
import { dialog } from './dialog.js';

const STALE_MS = 5000;
const DASH = '–';

const isNumber = v => typeof v === 'number' && Number.isFinite(v);
const percent = v => isNumber(v) ? `${number(100 * v)} %` : DASH;
const plain = digits => v => isNumber(v) ? number(v, digits) : DASH;
const unit = name => v => isNumber(v) ? `${number(v)} ${name}` : DASH;
const size = v => isNumber(v) ? bytes(v) : DASH;

const waiting = s => s.queue ? (s.queue.interactive || 0) + (s.queue.normal || 0) + (s.queue.batch || 0) : null;

/* [words, what of a sample, how it is written, full scale of the curve (null: its own greatest)] */
const SERVER = [
    ['mon.pages', s => s.engine?.pages_s, plain(2), null],
    ['mon.tokens', s => s.engine?.tokens_s, plain(0), null],
    ['mon.waiting', waiting, plain(0), null],
    ['mon.running', s => s.engine?.running, plain(0), null],
    ['mon.kv', s => s.engine?.kv_used, percent, () => 1],
    ['mon.cpu', s => s.host?.cpu, percent, null],
    ['mon.rss', s => s.host?.rss_bytes, size, null],
    ['mon.disk', s => s.host?.disk_free_bytes, size, null],
];
const device = i => [
    ['mon.use', s => s.devices?.[i]?.utilization, percent, () => 1],
    ['mon.memory', s => s.devices?.[i]?.memory_used_bytes, size, s => s.devices?.[i]?.memory_total_bytes],
    ['mon.power', s => s.devices?.[i]?.power_w, unit('W'), s => s.devices?.[i]?.power_limit_w],
    ['mon.temp', s => s.devices?.[i]?.temperature_c, unit('°C'), () => 100],
];

/* The time of the newest sample on this clock: the server's own may differ. */
let heard = 0;
const age = () => heard ? Date.now() - heard : Infinity;

export function monitorLine() {
    const text = h('span');
    const mark = h('span.mark', icon('meter'));
    const button = h('button.monitor-line', { type: 'button', id: 'monitor', onclick: openMonitor }, mark, h('span.name', t('mon.title')), text);
    watch('stats', () => {
        if (state.stats)
            heard = Date.now();
        drawLine(text, button);
    });
    setInterval(() => drawLine(text, button), 1000);
    return button;
}

function drawLine(text, button) {
    const s = state.stats;
    const isStale = age() > STALE_MS;
    button.dataset.state = !s ? 'none' : isStale ? 'stale' : 'live';
    if (!s)
        say(text, t('mon.none'));
    else if (isStale)
        say(text, t('mon.stale', { n: Math.round(age() / 1000) }));
    else {
        const speed = s.engine?.pages_s;
        const queue = waiting(s);
        say(text, [speed > 0 ? t('mon.busy', { n: number(speed, speed < 10 ? 1 : 0) }) : s.engine?.running ? t('job.running') : t('mon.idle'),
            queue > 0 && t('mon.queue', { n: number(queue) })].filter(Boolean).join(' · '));
    }
}

function openMonitor() {
    loadHistory();
    const body = h('div.monitor');
    const stop = watch('stats', () => drawMonitor(body));
    dialog(t('mon.title'), body, stop, 'wide');
}

/* The tables are built once and then filled, so that a screen reader that reads in them is not thrown out each second. */
function drawMonitor(body) {
    const s = state.stats;
    const devices = s?.devices || [];
    const key = s ? devices.map(d => d.name).join('|') || 'host' : 'none';
    if (body.dataset.key !== key) {
        body.dataset.key = key;
        fill(body, s ? [devices.map((d, i) => table(`${d.name || d.kind} ${devices.length > 1 ? i : ''}`, device(i))),
            table('recto', SERVER)] : h('p', t('mon.none')));
    }
    body.querySelectorAll('tr[data-row]').forEach(row => row.draw());
}

function table(caption, rows) {
    return h('table.figures', h('caption', caption),
        h('thead', h('tr', h('th', { scope: 'col' }, t('mon.value')), h('th', { scope: 'col' }, t('mon.now')),
            h('th', { scope: 'col' }, t('mon.most')), h('td', { 'aria-hidden': true }))),
        h('tbody', rows.map(figure)));
}

function figure([words, of, write, top]) {
    const now = h('td');
    const most = h('td');
    const line = svg('polyline', { points: '', fill: 'none', 'vector-effect': 'non-scaling-stroke' });
    const curve = svg('svg', { viewBox: '0 0 120 24', preserveAspectRatio: 'none', class: 'curve', 'aria-hidden': 'true' }, line);
    const row = h('tr', { data: { row: '' } }, h('th', { scope: 'row' }, t(words)), now, most, h('td.curve-cell', { 'aria-hidden': true }, curve));
    row.draw = () => {
        const values = state.samples.map(of);
        const known = values.filter(isNumber);
        const max = known.length ? Math.max(...known) : null;
        say(now, write(of(state.stats)));
        say(most, write(max));
        line.setAttribute('points', points(values, (top && top(state.stats)) || max || 1));
    };
    return row;
}

/* Ten minutes over 120 units across; gaps are left out. */
function points(values, top) {
    const step = Math.max(1, Math.ceil(values.length / 120));
    const out = [];
    for (let i = values.length % step; i < values.length; i += step) {
        const part = values.slice(i, i + step).filter(isNumber);
        if (part.length) {
            const x = 120 - (values.length - i - step) / 600 * 120;
            out.push(`${x.toFixed(1)},${(23 - 22 * Math.min(1, Math.max(...part) / top)).toFixed(1)}`);
        }
    }
    return out.join(' ');
}
