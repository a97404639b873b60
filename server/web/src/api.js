/* Requests to the server, relative to where the page lies, so that it also works below a path of a proxy. */

import { state, changed } from './store.js';

export class ApiError extends Error {
    constructor(status, error) {
        super(error.message || `HTTP ${status}`);
        this.status = status;
        this.code = error.code || (status ? 'internal' : 'no_connection');
        this.param = error.param;
    }
}

export function url(path, query) {
    const u = new URL(path, document.baseURI);
    u.hash = '';
    for (const [name, value] of Object.entries(query || {})) {
        if (value !== null && value !== undefined && value !== '')
            u.searchParams.set(name, value);
    }
    return u.href;
}

export const jobPath = (job, rest = '') => `v1/jobs/${encodeURIComponent(job)}${rest}`;
export const pagePath = (job, page, rest) => jobPath(job, `/pages/${page}${rest}`);

/* What an answer that is no success says, whatever sent it: the server's envelope, or a proxy's page. */
async function errorOf(response) {
    try {
        return (await response.json()).error || {};
    } catch {
        return {};
    }
}

export function needKey() {
    state.link = { state: 'key', retryAt: 0 };
    changed('link');
}

const TRIES = 4;
const pause = ms => new Promise(f => setTimeout(f, ms));

/* fetch, but a question that the server is too busy for is asked again when it says so. */
async function patient(address, init) {
    for (let n = 1;; n++) {
        const response = await fetch(address, init).catch(() => null);
        if (!response)
            throw new ApiError(0, { code: 'no_connection' });
        if (response.status !== 429 || init.method !== 'GET' || n === TRIES)
            return response;
        await pause(Math.min(5000, 1000 * (Number(response.headers.get('Retry-After')) || 1)));
    }
}

/* One request; what = {query, json, text, headers}. Gives the Response; everything but 2xx throws an ApiError. */
export async function request(method, path, what = {}) {
    const headers = { ...what.headers };
    let body;
    if (what.json !== undefined) {
        headers['Content-Type'] = 'application/json';
        body = JSON.stringify(what.json);
    } else if (what.text !== undefined) {
        headers['Content-Type'] = 'text/markdown; charset=utf-8';
        body = what.text;
    }
    const response = await patient(url(path, what.query), { method, headers, body, cache: 'no-store' });
    if (response.status === 401)
        needKey();
    if (!response.ok)
        throw new ApiError(response.status, await errorOf(response));
    return response;
}

export async function getJson(path, query) {
    return (await request('GET', path, { query })).json();
}

/* Text with the tag that a later PUT has to name. */
export async function getText(path, query) {
    const response = await request('GET', path, { query });
    return { text: await response.text(), etag: response.headers.get('ETag') };
}

/* POST form data with progress; fetch cannot tell how much was sent. on.progress(sent, total); the result has abort(). */
export function upload(path, form, onProgress) {
    const xhr = new XMLHttpRequest();
    const done = new Promise((resolve, reject) => {
        xhr.upload.onprogress = e => e.lengthComputable && onProgress(e.loaded, e.total);
        xhr.onload = () => finish(xhr, resolve, reject);
        xhr.onerror = () => reject(new ApiError(0, { code: 'no_connection' }));
        xhr.onabort = () => reject(new ApiError(0, { code: 'aborted' }));
    });
    xhr.open('POST', url(path));
    xhr.setRequestHeader('Idempotency-Key', randomKey());
    xhr.send(form);
    return { done, abort: () => xhr.abort() };
}

function finish(xhr, resolve, reject) {
    let answer = {};
    try {
        answer = JSON.parse(xhr.responseText);
    } catch {
        /* not ours: the status has to do */
    }
    if (xhr.status === 401)
        needKey();
    if (xhr.status >= 200 && xhr.status < 300)
        resolve(answer);
    else
        reject(new ApiError(xhr.status, answer.error || {}));
}

/* crypto.randomUUID exists on secure origins only; this one everywhere. */
export function randomKey() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('');
}
