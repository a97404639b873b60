/* Long documents and a server that dies: scenarios E3 and E7. */

import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { serve, getJson } from './lib/server.mjs';
import { launch, open, clean, choose, pdfFile, openId, jobSays, until, ref } from './lib/browser.mjs';
import { pdf } from './lib/pdf.mjs';

const pages = [
    { document: 'slow.pdf', text: ref('text', [80, 60, 900, 900], 'Page {page} of a slow document.'), token_ms: 12 },
    { text: ref('text', [80, 60, 900, 900], 'Page {page}.') },
];
/* Small pages, quickly drawn: what is on them comes from the script. */
const numbered = n => pdf(Array.from({ length: n }, (_, i) => [`Page ${i + 1}`]), { width: 140, height: 200 });

let server, browser;
before(async () => {
    server = await serve({ pages });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

/* Ends of pages in a job's whole story. */
async function pageEnds(id) {
    const abort = new AbortController();
    const response = await fetch(`${server.url}v1/jobs/${id}/events?after=0`, { signal: abort.signal });
    let text = '';
    for await (const bytes of response.body) {
        text += Buffer.from(bytes).toString();
        if (/"state":\s*"done"/.test(text))
            break;
    }
    abort.abort();
    const events = text.split('\n\n').filter(part => /^event: page$/m.test(part));
    return events.map(part => JSON.parse(/^data: (.*)$/m.exec(part)[1])).filter(row => row.state === 'ended').map(row => row.page);
}

test('E3: reload, then a killed server: the same page, and no page is read twice', { timeout: 90000 }, async () => {
    const page = await open(browser, server);
    await choose(page, [pdfFile('slow.pdf', numbered(12))]);
    const id = await openId(page);
    await page.locator('.job-head .facts', { hasText: /[1-9]\d* of 12 pages/ }).waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(/\/2$/);
    await page.reload();
    await page.locator('.thumb[aria-selected=true] .no', { hasText: /^2$/ }).waitFor();
    const before = await getJson(server, `v1/jobs/${id}`);
    await page.locator('.job-head .facts', { hasText: 'of 12 pages' }).waitFor();
    assert.equal(before.state, 'running');

    await server.kill();
    await page.locator('.link-bar', { hasText: 'Connection lost' }).waitFor();
    await server.start();
    await page.locator('.link-bar').waitFor({ state: 'hidden', timeout: 20000 });
    await jobSays(page, 'Done', 40000);
    await page.locator('.block', { hasText: 'Page 2 of a slow document.' }).waitFor();
    const ends = await pageEnds(id);
    assert.deepEqual([...ends].sort((a, b) => a - b), Array.from({ length: 12 }, (_, i) => i + 1));
    clean(page, /503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_NETWORK/);
});

const zipEntry = (file, name) => execFileSync('python3', ['-c',
    'import sys, zipfile; sys.stdout.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())', file, name], { encoding: 'utf8' });

test('E7: 800 pages: a strip of a few, cancelled, what is done can be had', { timeout: 300000 }, async () => {
    const page = await open(browser, server);
    await choose(page, [pdfFile('long.pdf', numbered(800))]);
    const id = await openId(page);
    await page.locator('.job-head .facts', { hasText: /1\d\d of 800 pages/ }).waitFor({ timeout: 240000 });
    assert.ok(await page.locator('.thumb').count() < 40, 'only thumbs in sight are elements');
    await page.locator('.strip').evaluate(el => el.scrollTo(0, el.scrollHeight));
    await page.locator('.thumb .no', { hasText: /^800$/ }).waitFor();
    assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 1500, 'fewer than 1500 elements');
    await page.click('.job-head button:has-text("Cancel reading")');
    await jobSays(page, 'Cancelled');
    const job = await getJson(server, `v1/jobs/${id}`);
    assert.ok(job.pages.ok >= 100 && job.pages.cancelled > 0, JSON.stringify(job.pages));
    assert.equal(job.pages.ok + job.pages.cancelled, 800);

    await page.click('#download');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.menu a:has-text("ZIP")')]);
    const layout = JSON.parse(zipEntry(await download.path(), 'document.json'));
    const read = layout.pages.filter(p => p.status === 'ok');
    assert.equal(read.length, job.pages.ok);
    for (const p of read)
        assert.equal(p.blocks[0].text, `Page ${p.page}.`, 'the number is the page\'s own');
    await until(async () => (await page.locator('.job-head .facts').textContent()).includes('800 pages'), 'the head counts all');
    clean(page);
});
