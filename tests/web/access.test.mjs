/* E9 and the rest of accessibility: by keyboard only, in Chinese, dark, on a phone; axe on every screen in both themes and
 * languages; and pictures of them all for people to look at. */

import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { serve, sample } from './lib/server.mjs';
import { launch, open, clean, accessible, choose, shot, pdfFile, openId, jobSays, ref } from './lib/browser.mjs';
import { pdf } from './lib/pdf.mjs';

const text = [ref('title', [95, 80, 700, 130], '# Page {page}'), ref('text', [95, 160, 900, 330], 'Words with \\( a^2 + b^2 = c^2 \\) inside.'),
    ref('table', [95, 400, 800, 520], '<table><tr><td>Item</td><td>Price</td></tr><tr><td>Tea</td><td>3.50</td></tr></table>'),
    ref('image', [95, 560, 500, 760], ''), ref('figure_title', [95, 770, 500, 800], 'Figure 1. A view'),
    ref('equation', [300, 830, 700, 900], '\\[ E = mc^2 \\quad (1) \\]')].join('\n\n');
const pages = [
    { document: 'odd.pdf', page: 2, text: ref('text', [80, 60, 900, 900], 'Round '), repeat: 'and round ' },
    { document: 'odd.pdf', page: 3, end: 'fail' },
    { document: 'slow.pdf', text, token_ms: 40 },
    { text },
];

let server, browser;
before(async () => {
    server = await serve({ pages });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

/* Press Tab until what has the focus fits, as a person without a pointer does. */
async function tabTo(page, selector) {
    for (let i = 0; i < 80; i++) {
        if (await page.evaluate(s => document.activeElement.matches(s), selector))
            return;
        await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not reach ${selector}`);
}

test('E9: by keyboard only, in Chinese, dark, 390 px wide', { timeout: 60000 }, async () => {
    const page = await open(browser, server, { ...PHONE, locale: 'zh-CN', colorScheme: 'dark' });
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh');
    await accessible(page, 'start, zh, dark');
    await tabTo(page, '#choose');
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.keyboard.press('Enter')]);
    await chooser.setFiles([pdfFile('三页.pdf', pdf([['one'], ['two'], ['three']]))]);
    await openId(page);
    await jobSays(page, '完成');
    await tabTo(page, '[data-tab=text]');
    await page.keyboard.press('Enter');
    await page.locator('.text-body h2', { hasText: 'Page 1' }).waitFor();
    await accessible(page, 'text, zh, dark');
    await page.keyboard.press('j');
    await page.locator('.text-body h2', { hasText: 'Page 2' }).waitFor();
    await page.keyboard.press(']');
    assert.equal(await page.evaluate(() => document.activeElement.className.includes('block')), true);
    await tabTo(page, '#download');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'menuitem');
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    assert.equal(download.suggestedFilename(), '三页.md');
    assert.match(readFileSync(await download.path(), 'utf8'), /# Page 3/);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing sticks out');
    clean(page);
});

/* Both themes, both languages, wide and narrow; with WEB_LOOKS=all (the test web/looks) also the other way round. */
const CHINESE_DARK = { locale: 'zh-CN', colorScheme: 'dark' };
const LOOKS = process.env.WEB_LOOKS === 'all' ? [['wide-dark-zh', CHINESE_DARK], ['phone', PHONE]] :
    [['wide', {}], ['phone-dark-zh', { ...PHONE, ...CHINESE_DARK }]];

/* Every screen: how to get there from the start screen with the documents of `fill`. */
const screens = {
    start: async () => null,
    options: page => page.click('.options summary'),
    page: (page, ids) => show(page, ids.three, 1, '.block'),
    reading: (page, ids) => show(page, ids.slow, 1, '.reading, .growing, .block'),
    loop: (page, ids) => show(page, ids.odd, 2, '.why:has-text("")'),
    failed: (page, ids) => show(page, ids.odd, 3, '.why'),
    edit: async (page, ids) => { await show(page, ids.three, 2, '.block'); await pane(page, 'text'); await page.click('#edit'); await page.locator('.preview h2').waitFor(); },
    again: async (page, ids) => { await show(page, ids.three, 1, '.block'); await pane(page, 'text'); await page.click('#again'); },
    menu: async (page, ids) => { await show(page, ids.three, 1, '.block'); await page.click('#download'); },
    monitor: async page => { await list(page); await page.click('#monitor'); await page.waitForTimeout(300); },
    settings: async page => { await list(page); await page.click('#settings'); },
    markdown: async (page, ids) => { await show(page, ids.three, 2, '.block'); await pane(page, 'text'); await page.click('[data-mode=markdown]'); },
    gone: (page, ids) => show(page, `${ids.three}x`, 1, '.problem'),
};
const isNarrow = page => page.viewportSize().width < 900;
const list = page => isNarrow(page) && page.click('#show-list');
const pane = (page, tab) => isNarrow(page) && page.click(`[data-tab=${tab}]`);
async function show(page, id, n, sign) {
    await page.evaluate(hash => { location.hash = hash; }, `#/${id}/${n}`);
    await page.locator(sign).first().waitFor({ state: 'attached' });
}

/* The start screen, with nothing open over it. */
async function home(page) {
    for (let i = 0; i < 3; i++)
        await page.keyboard.press('Escape');
    await page.evaluate(() => { location.hash = '#/'; });
    await page.locator('.start').waitFor();
}

async function upload(page, name, n) {
    await home(page);
    await choose(page, [pdfFile(name, pdf(Array.from({ length: n }, (_, i) => [`Page ${i + 1}`])))]);
    return openId(page);
}

test('axe finds nothing on any screen', { timeout: 300000 }, async () => {
    const first = await open(browser, server);
    const ids = { three: await upload(first, 'three pages.pdf', 3), odd: await upload(first, 'odd.pdf', 3) };
    await jobSays(first, 'to check', 40000);
    ids.slow = await upload(first, 'slow.pdf', 6);
    clean(first);
    await first.context().close();
    await Promise.all(LOOKS.map(([look, options]) => see(look, options, ids))); /* each in a process of Chromium's own */
});

async function see(look, options, ids) {
    const page = await open(browser, server, { ...options, reducedMotion: 'reduce' });
    await page.locator('.jobs .job').first().waitFor({ state: 'attached' });
    for (const [name, go] of Object.entries(screens)) {
        await home(page);
        await go(page, ids);
        await page.waitForTimeout(60);
        await shot(page, `${name}-${look}`);
        await accessible(page, `${name}, ${look}`);
    }
    clean(page, /404/);
    await page.context().close();
}

test('320 px and 400 %: everything can be reached, nothing is cut', async () => {
    const page = await open(browser, server, { viewport: { width: 320, height: 256 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
    await choose(page, [{ name: 'a.pdf', mimeType: 'application/pdf', buffer: readFileSync(sample('no_contents.pdf')) }]);
    await openId(page);
    await jobSays(page, 'Done');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
    clean(page);
});
