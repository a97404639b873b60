/* Reading documents in a real browser: scenarios E1, E2, E4, E5, E6. */

import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { serve, sample, miniPage, getJson } from './lib/server.mjs';
import { launch, open, clean, choose, drop, pdfFile, openId, jobSays, until, ref } from './lib/browser.mjs';
import { pdf } from './lib/pdf.mjs';

const blocks = Array.from({ length: 6 }, (_, i) => ref('text', [80, 60 + 150 * i, 900, 150 + 150 * i], `Paragraph ${i + 1} of page {page}.`));
const lines = Array.from({ length: 12 }, (_, i) => `line ${i} has ${i * i * i} words`);
const pages = [
    { document: 'three.pdf', page: 3, text: ref('text', [80, 60, 900, 900], `Page three. ${lines.join(' ')}`), token_ms: 12 },
    { document: 'three.pdf', text: ref('title', [80, 60, 900, 120], '# Page {page}') + '\n\n' + ref('text', [80, 200, 900, 300], 'Text of page {page}.'),
        token_ms: 2 },
    { document: 'late.pdf', text: ref('text', [80, 60, 900, 900], 'Read in good time.'), token_ms: 60 },
    { document: 'boxes.pdf', text: blocks.join('\n\n') },
    { document: 'round.pdf', page: 2, rung: 'first', view: 'global', text: ref('text', [80, 60, 900, 900], 'It ends well.') },
    { document: 'round.pdf', page: 2, text: ref('text', [80, 60, 900, 900], 'It goes '), repeat: 'round and ' },
    { text: ref('text', [80, 60, 900, 900], 'Read {document}.') },
];

let server, browser;
before(async () => {
    server = await serve({ pages, isTiled: true });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

test('E1: dropped PDF, page by page, download as the API gives it', async () => {
    const page = await open(browser, server);
    await drop(page, [pdfFile('three.pdf', pdf([['Page one'], ['Page two'], ['Page three', ...lines]]))]);
    const id = await openId(page);
    await page.locator('.text-body h2', { hasText: 'Page 1' }).waitFor();
    const job = await getJson(server, `v1/jobs/${id}`);
    assert.notEqual(job.state, 'done', 'text of page 1 is there before page 3 ends');
    await page.locator('.job-head .bar').waitFor();
    await jobSays(page, 'Done');
    await page.click('#download');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.menu a:has-text("Markdown")')]);
    assert.equal(download.suggestedFilename(), 'three.md');
    const saved = readFileSync(await download.path(), 'utf8');
    assert.equal(saved, await (await fetch(`${server.url}v1/jobs/${id}/result.md`)).text());
    assert.match(saved, /# Page 1[\s\S]*Text of page 2\.[\s\S]*Page three\./);
    clean(page);
});

test('E2: a pasted screenshot, its text in the clipboard by one key', async () => {
    const page = await open(browser, server);
    await page.evaluate(bytes => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(bytes), c => c.charCodeAt(0))], 'image.png', { type: 'image/png' }));
        dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }, readFileSync(miniPage('page00.png')).toString('base64'));
    await jobSays(page, 'Done');
    await page.locator('.block', { hasText: 'Read image.png.' }).waitFor();
    await page.keyboard.press('c');
    await page.locator('.toast', { hasText: 'Page copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'Read image.png.');
    clean(page);
});

test('E2: rows that come late do not undo what an event has told', async () => {
    const page = await open(browser, server);
    let haveCome, come = new Promise(f => { haveCome = f; });
    await page.route('**/v1/jobs/*/pages?*', async route => { // answered at once, as of a page that is being read
        const response = await route.fetch();
        await until(async () => (await getJson(server, 'v1/jobs?limit=1')).data[0].state === 'done', 'read');
        await page.waitForTimeout(500); // for the event to reach the page
        await route.fulfill({ response });
        setTimeout(haveCome, 500);
    });
    await page.route('**/pages/1.json*', async route => { await come; await route.continue(); }); // asked for by the event
    await choose(page, [pdfFile('late.pdf', pdf([['a']]))]);
    await page.locator('.block', { hasText: 'Read in good time.' }).waitFor();
    await jobSays(page, 'Done');
    clean(page);
});

const isLit = (page, selector, i) => page.locator(selector).nth(i).evaluate(el => el.classList.contains('lit'));
const isInView = (page, frame, selector, i) => page.locator(selector).nth(i).evaluate((el, outer) => {
    const a = document.querySelector(outer).getBoundingClientRect();
    const b = el.getBoundingClientRect();
    return b.bottom > a.top && b.top < a.bottom && b.right > a.left && b.left < a.right;
}, frame);
test('E4: boxes and blocks light each other, at any zoom', async () => {
    const page = await open(browser, server, { viewport: { width: 1280, height: 420 } });
    await choose(page, [pdfFile('boxes.pdf', pdf([['a', 'b', 'c']]))]);
    await jobSays(page, 'Done');
    await page.locator('.box').nth(5).waitFor();
    for (const zoom of [0.5, 1, 3]) {
        await page.click('#fit');
        for (let i = 0; i < 20 && Number.parseInt(await page.locator('.zoom').textContent()) !== 100 * zoom; i++) {
            const now = Number.parseInt(await page.locator('.zoom').textContent());
            await page.click(now < 100 * zoom ? '#zoom-in' : '#zoom-out');
            await until(async () => Number.parseInt(await page.locator('.zoom').textContent()) !== now, 'the label follows');
        }
        assert.equal(await page.locator('.zoom').textContent(), `${100 * zoom} %`);
        await page.locator('.box').nth(4).hover();
        await until(() => isLit(page, '.block', 4), `block 5 is lit at ${zoom}`);
        await until(() => isInView(page, '.text-body', '.block', 4), `block 5 is in view at ${zoom}`);
        await page.mouse.move(5, 5);
        await page.locator('.text-body').focus();
        for (let i = 0; i < 12 && !(await isLit(page, '.block', 1)); i++)
            await page.keyboard.press('[').then(() => page.waitForTimeout(40));
        await until(() => isLit(page, '.box', 1), `box 2 is lit at ${zoom}`);
        await until(() => isInView(page, '.stage', '.box', 1), `box 2 is in view at ${zoom}`);
        const off = await page.evaluate(() => {
            const box = document.querySelectorAll('.box')[1].getBoundingClientRect();
            const sheet = document.querySelector('.stage .sheet').getBoundingClientRect();
            return box.top + 3.5 - sheet.top - 210 / 999 * sheet.height;
        });
        assert.ok(Math.abs(off) < 2, `the box is ${off} px from where the block is at ${zoom}`);
    }
    clean(page);
});

test('E5: a page that goes round: found, read again, compared, kept', async () => {
    const page = await open(browser, server);
    await choose(page, [pdfFile('round.pdf', pdf([['one'], ['two'], ['three']]))]);
    await jobSays(page, '1 to check', 30000);
    await page.selectOption('.strip-box select', 'look');
    await until(async () => await page.locator('.thumb').count() === 1, 'the filter leaves one page');
    await page.click('.thumb');
    await page.locator('.why', { hasText: 'Goes round' }).waitFor();
    await page.keyboard.press('r');
    await page.click('label.card:has-text("Whole view")');
    await page.click('dialog button:has-text("Read again")');
    await page.locator('#compare').click();
    await page.locator('.side', { hasText: 'Before' }).locator('.block', { hasText: 'round and round and' }).first().waitFor();
    const after = page.locator('.side', { hasText: 'After' });
    await after.locator('.block', { hasText: 'It ends well.' }).waitFor();
    await after.locator('button').click();
    await page.locator('.reader .block', { hasText: 'It ends well.' }).waitFor();
    await jobSays(page, 'Done');
    clean(page);
});

test('E6: a locked PDF asks for its password', async () => {
    const page = await open(browser, server);
    await choose(page, [pdfFile('encrypted_user.pdf', readFileSync(sample('encrypted_user.pdf')))]);
    const field = page.locator('dialog input[type=password]');
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.locator('dialog .wrong', { hasText: 'not its password' }).waitFor();
    await field.fill('recto');
    await page.keyboard.press('Enter');
    await jobSays(page, 'Done');
    await page.locator('.block', { hasText: 'Read encrypted_user.pdf.' }).waitFor();
    clean(page, /422/);
});
