/* E8, and S27: whatever a model writes and whatever a file is called, nothing runs and nothing leaves. */

import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { serve } from './lib/server.mjs';
import { launch, open, clean, choose, pdfFile, openId, jobSays } from './lib/browser.mjs';
import { pdf } from './lib/pdf.mjs';
import { NAME, pages } from './lib/hostile.mjs';

let server, browser;
before(async () => {
    server = await serve({ pages });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

const count = page => page.evaluate(() => globalThis.hits);

/* A tab that counts what ran, and keeps what it asked its own server for. */
async function openCounting() {
    const page = await open(browser, server);
    page.asked = [];
    page.on('request', r => page.asked.push(new URL(r.url()).pathname));
    await page.addInitScript(() => { globalThis.hits = 0; globalThis.hit = () => { globalThis.hits++; }; });
    await page.reload();
    return page;
}

test('E8: hostile text and names, in every view', { timeout: 60000 }, async () => {
    const page = await openCounting();
    await choose(page, [pdfFile(NAME, pdf([['1'], ['2'], ['3'], ['4'], ['5']]))]);
    const id = await openId(page);
    await jobSays(page, /Done|to check/, 30000);
    assert.equal(await page.locator('.job-head h1').textContent(), NAME, 'the name is shown as it is');
    for (let n = 1; n <= 5; n++) {
        await page.evaluate(hash => { location.hash = hash; }, `#/${id}/${n}`);
        await page.locator('.reader .block').first().waitFor();
        for (const mode of ['markdown', 'raw', 'rendered'])
            await page.click(`.tabs [data-mode=${mode}]`);
        await page.click('#edit');
        await page.locator('.preview').waitFor();
        await page.waitForTimeout(150);
        const bad = await page.evaluate(() => [...document.querySelectorAll('.text-body *, .preview *')].filter(el =>
            /^(script|iframe|object|embed|link|style|meta|base|form|input|video|audio|svg|template|details)$/i.test(el.tagName) ||
            [...el.attributes].some(a => /^on/.test(a.name) || /javascript:|far\.example/.test(a.value) && a.name !== 'data-tex')).map(el => el.outerHTML));
        assert.deepEqual(bad, [], `page ${n}`);
        const spans = await page.evaluate(() => [...document.querySelectorAll('.text-body td, .preview td')].map(td => Math.max(td.rowSpan, td.colSpan)));
        assert.ok(spans.every(s => s <= 200));
        await page.click('.editor button:has-text("Done")');
    }
    assert.equal(await count(page), 0, 'nothing ran');
    const strange = page.asked.filter(path => !/^\/(v1\/|$|(index\.html|app\.js|app\.css|math\.js|math\.css|icon\.svg|sample\.png|licences\.txt)$)/.test(path));
    assert.deepEqual(strange, [], 'nothing was asked for that is not ours');
    clean(page);
});

test('S27: the HTML result is inert, even without the headers it is sent with', async () => {
    const page = await openCounting();
    const job = (await (await fetch(`${server.url}v1/jobs`)).json()).data[0];
    const answer = await fetch(`${server.url}v1/jobs/${job.id}/result.html`);
    assert.match(answer.headers.get('content-disposition'), /^attachment/);
    assert.match(answer.headers.get('content-security-policy'), /sandbox/);
    const html = await answer.text();
    await page.route('**/result-of-test.html', route => route.fulfill({ contentType: 'text/html; charset=utf-8', body: html }));
    await page.goto(`${server.url}result-of-test.html`);
    await page.waitForTimeout(300);
    assert.equal(await count(page), 0, 'nothing ran');
    assert.deepEqual(page.faults.filter(text => /asked for/.test(text)), [], 'nothing was asked for');
    assert.equal(await page.evaluate(() => document.querySelectorAll('script, iframe, object, embed, form, [onerror], [onclick]').length), 0);
});
