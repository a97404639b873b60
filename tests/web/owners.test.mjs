/* E10: two tabs, a second browser with another key, edits that conflict, and a monitor without a device. */

import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serve, program } from './lib/server.mjs';
import { launch, open, clean, accessible, choose, shot, pdfFile, openId, jobSays, until, ref } from './lib/browser.mjs';
import { pdf } from './lib/pdf.mjs';

let server, browser, dir;
const keys = {};
before(async () => {
    dir = mkdtempSync(path.join(os.tmpdir(), 'recto-keys-'));
    const file = path.join(dir, 'keys');
    for (const name of ['anna', 'bert'])
        keys[name] = /rk_\w+/.exec(execFileSync(program, ['key', 'new', name, '--keys', file], { encoding: 'utf8' }))[0];
    server = await serve({ pages: [{ text: ref('text', [80, 60, 900, 900], 'Text of page {page}.') }], args: ['--keys', file] });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
});

async function logIn(page, name) {
    await page.locator('#key').waitFor();
    await page.fill('#key-user', name);
    await page.fill('#key', keys[name]);
    await page.keyboard.press('Enter');
    await page.locator('.key-form').waitFor({ state: 'hidden' });
}

async function edit(page, text) {
    if (await page.locator('#editor').isHidden())
        await page.click('#edit');
    await page.locator('#editor').fill(text);
}

test('E10: tabs agree, edits conflict politely, others see nothing', { timeout: 60000 }, async () => {
    const one = await open(browser, server);
    await one.locator('#key').waitFor();
    await accessible(one, 'key form');
    await shot(one, 'key');
    await one.fill('#key', 'rk_wrong');
    await one.keyboard.press('Enter');
    await one.locator('.key-form .wrong', { hasText: 'does not know' }).waitFor();
    await logIn(one, 'anna');
    await choose(one, [pdfFile('letter.pdf', pdf([['one'], ['two']]))]);
    const id = await openId(one);
    await jobSays(one, 'Done');

    const two = await one.context().newPage();
    two.faults = [];
    two.on('pageerror', e => two.faults.push(String(e)));
    await two.goto(`${server.url}#/${id}`);
    await two.locator('.block', { hasText: 'Text of page 1.' }).waitFor();
    await edit(one, 'Corrected by one.');
    await edit(two, 'Corrected by two.');
    await one.click('#save');
    await one.locator('.phase', { hasText: 'Saved' }).waitFor();
    await two.click('#save');
    await two.locator('dialog', { hasText: 'changed elsewhere' }).waitFor();
    await shot(two, 'conflict');
    await two.click('dialog button:has-text("Take the other text")');
    await until(async () => await two.locator('#editor').inputValue() === 'Corrected by one.', 'two has the text of one');
    await two.click('.editor button:has-text("Done")');

    const asked = Date.now();
    await edit(one, 'Corrected again.');
    await one.keyboard.press('Control+s');
    await two.locator('.block', { hasText: 'Corrected again.' }).waitFor({ timeout: 1000 + Date.now() - asked });
    await two.locator('.thumb[data-page="1"]', { hasText: '' }).waitFor();
    await one.click('#restore');
    await one.click('.editor button:has-text("Done")');
    await two.locator('.block', { hasText: 'Text of page 1.' }).waitFor();

    const other = await open(browser, server);
    await logIn(other, 'bert');
    await other.locator('.list-note', { hasText: 'Nothing read yet' }).waitFor();
    await other.goto(`${server.url}#/${id}`);
    await other.locator('.problem').waitFor();

    await one.click('#monitor');
    const use = one.locator('.figures tr', { hasText: 'Memory of the server' });
    await use.waitFor();
    const cells = await one.locator('.figures tr:has(th:text-is("Use")) td').allTextContents();
    assert.ok(cells.length === 0 || cells[0] === '–', 'without a device there are dashes');
    clean(one, /401|404|429/);
    clean(other, /401|404/);
    assert.deepEqual(two.faults, []);
});
