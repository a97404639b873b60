/* What stands between the page and the server: a broken connection, a restart, a missing key. */

import { h, icon, fill, say } from '../dom.js';
import { t, errorText } from '../words.js';
import { state, watch, changed } from '../store.js';
import { request } from '../api.js';
import { now } from '../stream.js';
import { loadAll } from '../sync.js';

export function linkBar() {
    const text = h('span');
    const bar = h('div.link-bar', { role: 'status', hidden: true }, icon('warn'), text,
        h('button', { type: 'button', onclick: now }, t('net.now')));
    const draw = () => {
        const { state: name, retryAt } = state.link;
        const n = Math.max(1, Math.ceil((retryAt - Date.now()) / 1000));
        bar.hidden = !['waiting', 'offline', 'leaving'].includes(name);
        if (!bar.hidden)
            say(text, t(`net.${name}`, { n }));
    };
    watch('link', draw);
    setInterval(draw, 1000);
    return bar;
}

/* The login form lies over everything; it is a real form with a name, so that password managers know what to do. */
export function keyForm() {
    const wrong = h('p.wrong', { role: 'alert' });
    const key = h('input', { id: 'key', type: 'password', name: 'password', autocomplete: 'current-password', required: true });
    const user = h('input', { id: 'key-user', type: 'text', name: 'username', autocomplete: 'username' });
    const form = h('form', { onsubmit: async e => {
        e.preventDefault();
        try {
            await request('POST', 'v1/session', { json: { key: key.value.trim() } });
            key.value = '';
            say(wrong, '');
            state.link = { state: 'connecting', retryAt: 0 };
            changed('link');
            now();
            loadAll();
        } catch (error) {
            say(wrong, error.status === 401 ? t('key.wrong') : errorText(error));
            key.select();
        }
    } }, h('span.mark', icon('key')), h('h1', t('key.title')), h('p', t('key.text')),
    h('label', { for: 'key-user' }, t('key.user')), user, h('label', { for: 'key' }, t('key.label')), key, wrong,
    h('button.main', { type: 'submit' }, t('key.enter')));
    const veil = h('div.key-form', { hidden: true, role: 'dialog', 'aria-label': t('key.title') }, form);
    watch('link', () => {
        const isWanted = state.link.state === 'key';
        if (isWanted && veil.hidden)
            queueMicrotask(() => key.focus());
        veil.hidden = !isWanted;
        const app = document.querySelector('.app');
        if (app)
            app.inert = isWanted;
    });
    return veil;
}

export async function logOut() {
    await request('DELETE', 'v1/session').catch(() => null);
    fill(document.body);
    location.reload();
}
