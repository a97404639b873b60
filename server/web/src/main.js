/* recto's page: builds the frame, then lets its parts follow the store. */

import { h, icon, fill } from './dom.js';
import { t, errorText } from './words.js';
import { applyLooks } from './prefs.js';
import { state, watch, unwatchAll, changed } from './store.js';
import * as sync from './sync.js';
import * as route from './route.js';
import * as keys from './keys.js';
import { historyList, searchField } from './view/history.js';
import { dropScreen, uploadList, listen as listenDrop } from './view/drop.js';
import { jobHead } from './view/head.js';
import { pageStrip } from './view/strip.js';
import { picturePane } from './view/picture.js';
import { textPane } from './view/text.js';
import { prepareCopy } from './view/copypage.js';
import { monitorLine } from './view/monitor.js';
import { linkBar, keyForm } from './view/link.js';
import { openSettings } from './view/settings.js';
import { toastShelf } from './view/toast.js';

const veil = listenDrop();

function build() {
    unwatchAll();
    const app = h('div.app', h('a.skip', { href: '#main', onclick: skip }, t('app.skip')), side(), main());
    fill(document.body, linkBar(), app, keyForm(), veil, toastShelf());
    watch('page', prepareCopy);
}

function skip(e) {
    e.preventDefault();
    document.getElementById('main').focus();
}

function brand() {
    return h('a.brand', { href: '#/', 'aria-label': 'recto' }, h('img', { src: 'icon.svg', alt: '', width: 24, height: 24 }), 'recto');
}

function side() {
    const mini = h('p.mini', { hidden: true }, t('app.mini'));
    watch('stats', () => { mini.hidden = !state.stats?.model?.is_default; });
    return h('aside.side', { id: 'side', 'aria-label': t('app.history') },
        h('header', brand(), h('span.space'),
            h('button.quiet.round', { type: 'button', id: 'settings', 'aria-label': t('app.settings'), title: t('app.settings'),
                onclick: () => openSettings(build) }, icon('gear'))),
        h('a.button.main.add', { href: '#/', id: 'add' }, icon('plus'), t('app.add')),
        searchField(), historyList(), h('footer', mini, monitorLine()));
}

function main() {
    const top = h('div.narrow-top', h('button.quiet.round', { type: 'button', id: 'show-list', 'aria-label': t('app.menu'), 'aria-expanded': false,
        'aria-controls': 'side', onclick: () => showList(!document.body.classList.contains('with-list')) }, icon('list')), brand(), h('span.space'),
    h('a.quiet.round.button', { href: '#/', 'aria-label': t('app.add') }, icon('plus')));
    const start = dropScreen();
    const view = document_();
    watch('route job', () => {
        start.hidden = !!state.jobId;
        view.hidden = !state.jobId;
        if (state.jobId !== shownJob) {
            shownJob = state.jobId;
            showList(false);
        }
    });
    return h('main', { id: 'main', tabindex: -1 }, top, start, view);
}
let shownJob = null;

/* The open document: head, strip, and the two panes, of which a narrow window shows one. */
function document_() {
    const problem = h('div.problem', { hidden: true });
    const tabs = h('div.pane-tabs', { role: 'group', 'aria-label': t('app.history') }, ['picture', 'text'].map(tab =>
        h('button', { type: 'button', data: { tab }, onclick: () => { state.tab = tab; changed('tab'); } },
            icon(tab === 'picture' ? 'boxes' : 'text'), t(`pane.${tab}`))));
    const body = h('div.work', pageStrip(), tabs, picturePane(), textPane());
    watch('tab', () => {
        body.dataset.tab = state.tab;
        for (const tab of tabs.children)
            tab.setAttribute('aria-pressed', String(tab.dataset.tab === state.tab));
    });
    watch('job', () => {
        problem.hidden = !state.problem;
        body.hidden = !!state.problem;
        fill(problem, state.problem && [icon('warn'),
            h('h1', state.problem.status === 404 || state.problem.code === 'not_found' ? t('job.gone') : errorText(state.problem)),
            h('a.button', { href: '#/' }, t('app.add'))]);
    });
    return h('div.document', jobHead(), uploadList(), problem, body);
}

function showList(isShown) {
    document.body.classList.toggle('with-list', isShown);
    document.getElementById('show-list')?.setAttribute('aria-expanded', String(isShown));
    if (isShown)
        document.getElementById('search').focus();
}

applyLooks();
build();
keys.listen({ help: () => openSettings(build), showList });
route.start();
sync.start();
