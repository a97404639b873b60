/* Bundle the page: node build.mjs OUT, with NODE_PATH at the packages of package.json (scripts/web sees to both).
 *
 * app.js and app.css are the page; math.js and math.css are loaded when a page has a formula. The same packages give the same
 * bytes, which the test web/bundle relies on. */

import { readFileSync, writeFileSync, copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const packages = process.env.NODE_PATH;
const out = process.argv[2];
if (!packages || !out) {
    console.error('usage: NODE_PATH=node_modules node build.mjs OUT (scripts/web does it)');
    process.exit(2);
}
const { build } = createRequire(path.join(packages, 'x.js'))('esbuild');
const packed = name => path.join(packages, name);

/* Temml's sheet without its font, whose own notice forbids commercial use, and without addresses of pictures, which the
 * page's policy refuses. */
const temmlSheet = readFileSync(packed('temml/dist/Temml-Local.css'), 'utf8')
    .replace(/@font-face\s*\{[^}]*\}/g, '')
    .replace(/[^;{}]*:\s*url\("data:.*?"\);/g, '');

const LICENCES = [['marked', 'LICENSE'], ['dompurify', 'LICENSE'], ['temml', 'LICENSE']];
function licences() {
    const parts = LICENCES.map(([name, file]) => {
        const { version, license } = JSON.parse(readFileSync(packed(`${name}/package.json`)));
        return `${name} ${version} (${license})\n${'-'.repeat(72)}\n${readFileSync(packed(`${name}/${file}`), 'utf8').trim()}\n`;
    });
    return ['This page is part of recto (Apache-2.0) and contains:\n', ...parts].join('\n');
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const common = { bundle: true, minify: true, target: 'es2022', legalComments: 'none', logLevel: 'warning' };
await build({
    ...common, format: 'esm', outdir: out, nodePaths: [packages], charset: 'utf8',
    entryPoints: [
        { in: path.join(here, 'src/main.js'), out: 'app' },
        { in: path.join(here, 'src/render/math.js'), out: 'math' },
        { in: path.join(here, 'css/app.css'), out: 'app' },
    ],
});
await build({
    ...common, outfile: path.join(out, 'math.css'),
    stdin: { contents: temmlSheet + readFileSync(path.join(here, 'css/math.css'), 'utf8'), loader: 'css' },
});
for (const name of ['index.html', 'icon.svg', 'sample.png'])
    copyFileSync(path.join(here, name), path.join(out, name));
writeFileSync(path.join(out, 'licences.txt'), licences());
