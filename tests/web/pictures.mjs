/* The pictures of the page in README.md and docs/web.md: node tests/web/pictures.mjs (after scripts/build cpu).
 *
 * Documents come from recto-corpus; what the model would say of them is their known truth, by the scripted engine, since the
 * mini model cannot read such pages. Everything else is as always. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serve, program } from './lib/server.mjs';
import { launch, open, choose, pdfFile, openId, jobSays } from './lib/browser.mjs';

const docs = path.resolve(path.dirname(new URL(import.meta.url).pathname), '../../docs');
const corpus = path.join(path.dirname(program), 'recto-corpus');
const dir = mkdtempSync(path.join(os.tmpdir(), 'recto-pictures-'));

const marked = block => `<|ref|>${block.label}<|/ref|><|det|>${JSON.stringify(block.boxes_999).replaceAll(',', ', ')}<|/det|>\n${block.raw}`;

/* A document of n pages, and what is to be said of them. */
function make(name, kind, lang, n, seed) {
    const at = path.join(dir, name);
    execFileSync(corpus, ['--kind', kind, '--lang', lang, '--n', String(n), '--seed', String(seed), '--as', 'book', '-o', at]);
    const book = readdirSync(path.join(at, 'pages')).find(file => file.endsWith('.pdf'));
    const truth = readdirSync(path.join(at, 'truth')).filter(file => file.endsWith('.json')).sort();
    const pages = truth.flatMap(file => JSON.parse(readFileSync(path.join(at, 'truth', file))).pages);
    return {
        file: pdfFile(name, readFileSync(path.join(at, 'pages', book))),
        script: pages.map((page, i) => ({ document: name, page: i + 1, text: page.blocks.map(marked).join('\n\n'), logp: -0.02 })),
    };
}

const documents = [make('Harbour survey.pdf', 'technical', 'en', 8, 5), make('Messreihen.pdf', 'tables', 'de', 5, 2), make('技术手册.pdf', 'technical', 'zh', 4, 3)];
const round = { document: 'Messreihen.pdf', page: 4, text: '<|ref|>text<|/ref|><|det|>[[90, 60, 900, 900]]<|/det|>\nSumme ', repeat: 'und Summe ' };
const server = await serve({ pages: [round, ...documents.flatMap(d => d.script)] });
const browser = await launch();
try {
    const page = await open(browser, server, { deviceScaleFactor: 1.5, viewport: { width: 1280, height: 760 } });
    const ids = [];
    for (const { file } of [...documents].reverse()) {
        await page.evaluate(() => { location.hash = '#/'; });
        await choose(page, [file]);
        ids.unshift(await openId(page));
        await jobSays(page, /Done|to check/, 60000);
    }
    await page.evaluate(hash => { location.hash = hash; }, `#/${ids[0]}/2`);
    await page.locator('.reader .block').nth(3).waitFor();
    await page.locator('.box').nth(4).hover();
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(docs, 'web-page.png') });
    const phone = await open(browser, server, { deviceScaleFactor: 1.5, viewport: { width: 390, height: 760 }, isMobile: true, hasTouch: true,
        locale: 'zh-CN', colorScheme: 'dark' }, `#/${ids[2]}/2`);
    await phone.click('[data-tab=text]');
    await phone.locator('.reader .block').nth(2).waitFor();
    await phone.waitForTimeout(1500);
    await phone.screenshot({ path: path.join(docs, 'web-phone.png') });
} finally {
    await browser.close();
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
}
