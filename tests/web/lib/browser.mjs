/* Debian's Chromium, driven by playwright-core, and what all tests of the page want from it. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import assert from 'node:assert/strict';
import path from 'node:path';
import { artefacts } from './server.mjs';

const root = path.resolve(path.dirname(new URL(import.meta.url).pathname), '../../..');
const modules = execFileSync(path.join(root, 'scripts/web'), ['packages', path.join(root, 'tests/web')], { encoding: 'utf8' }).trim();
const require = createRequire(path.join(modules, 'x.js'));
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
mkdirSync(artefacts, { recursive: true });

export async function launch() {
    assert.ok(executablePath, 'no Chromium: scripts/setup test installs it');
    /* Chromium's own sandbox refuses to run as root, as in a container. */
    return chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
}

/* A tab on the server's page. Whatever it logs as an error, throws, or asks of another host is kept, and clean() wants none.
 * ours: a pattern of console errors that the test brings about itself. */
export async function open(browser, server, options = {}, hash = '') {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', acceptDownloads: true, ...options });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(server.url).origin });
    const page = await context.newPage();
    page.faults = [];
    page.on('console', m => m.type() === 'error' && page.faults.push(m.text()));
    page.on('pageerror', e => page.faults.push(String(e.stack)));
    page.on('request', r => {
        if (!r.url().startsWith(server.url) && !/^(blob|data):/.test(r.url()))
            page.faults.push(`asked for ${r.url()}`);
    });
    page.on('filechooser', () => null); /* from here on dialogs come to the test; asked for later, a key may be quicker */
    await page.goto(server.url + hash);
    return page;
}

export const clean = (page, ours = /$^/) => assert.deepEqual(page.faults.filter(text => !ours.test(text)), []);

/* No violation that axe-core knows of, in what is shown now. */
export async function accessible(page, where) {
    if (!(await page.evaluate(() => 'axe' in globalThis)))
        await page.evaluate(axeSource);
    const found = await page.evaluate(() => globalThis.axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    const lines = found.violations.flatMap(v => v.nodes.map(n => `${v.id} (${v.impact}): ${n.target} ${n.failureSummary}`));
    assert.deepEqual(lines, [], `axe in ${where}`);
}

/* A picture for people to look at. */
export const shot = (page, name) => page.screenshot({ path: path.join(artefacts, `${name}.png`) });

/* Add files as a person does, by the button, or by dropping them on the window: [{name, mimeType, buffer}]. */
export async function choose(page, files) {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#choose')]);
    await chooser.setFiles(files);
}

export async function drop(page, files) {
    const list = files.map(file => ({ ...file, buffer: file.buffer.toString('base64') }));
    await page.evaluate(items => {
        const data = new DataTransfer();
        for (const item of items) {
            const bytes = Uint8Array.from(atob(item.buffer), c => c.charCodeAt(0));
            data.items.add(new File([bytes], item.name, { type: item.mimeType }));
        }
        for (const type of ['dragenter', 'dragover', 'drop'])
            dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }, list);
}

export const pdfFile = (name, buffer) => ({ name, mimeType: 'application/pdf', buffer });

/* The document that is open: its id from the address. */
export async function openId(page) {
    await page.waitForURL(/#\/job_/);
    return /#\/(job_\w+)/.exec(page.url())[1];
}

/* Wait until the state in the head says so. */
export const jobSays = (page, words, timeout = 20000) =>
    page.locator('.job-head .chip', { hasText: words }).waitFor({ timeout });

/* Wait up to ten seconds for what() to become true. */
export async function until(what, why) {
    for (let i = 0; i < 200; i++) {
        if (await what())
            return;
        await new Promise(f => setTimeout(f, 50));
    }
    assert.fail(why);
}

/* A block as the model writes it, for the scripted engine. */
export const ref = (label, box, body) => `<|ref|>${label}<|/ref|><|det|>[[${box.join(', ')}]]<|/det|>\n${body}`;
