/* A `recto serve` of its own for a test: real program, real HTTP, the scripted engine in place of the arithmetic. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(path.dirname(new URL(import.meta.url).pathname), '../../..');
export const program = process.env.RECTO || path.join(root, 'build/cpu/bin/recto');
export const sample = name => path.join(root, 'samples', name);
export const miniPage = name => path.join(root, 'models/mini/pages', name);
export const artefacts = path.join(process.env.BUILD_DIR || path.join(root, 'build/cpu'), 'web');

async function freePort() {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address();
    probe.close();
    await once(probe, 'close');
    return port;
}

/* The mini model, which has no tiles, as a model that has: all its files but for one word of config.json. */
function tiledModel(dir) {
    const mini = path.join(root, 'models/mini');
    mkdirSync(dir);
    for (const name of ['generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
        symlinkSync(path.join(mini, name), path.join(dir, name));
    const config = readFileSync(path.join(mini, 'config.json'), 'utf8');
    writeFileSync(path.join(dir, 'config.json'), config.replace('"crop_mode": false', '"crop_mode": true'));
}

/* {url, dir, stop(), kill(), start()}: stop ends it and removes its data; kill and start are for the test of both.
 * pages: entries of the scripted engine (src/script.h); none: the mini model reads. isTiled: pages have tiles, as with the
 * released model. args: further options. */
export async function serve({ pages, isTiled, args = [] } = {}) {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'recto-web-'));
    const port = await freePort();
    const device = [];
    if (pages) {
        writeFileSync(path.join(dir, 'script.json'), JSON.stringify({ pages }));
        device.push('--device', `script:${path.join(dir, 'script.json')}`);
    }
    if (isTiled) {
        tiledModel(path.join(dir, 'tiled'));
        device.push('--model', path.join(dir, 'tiled'));
    }
    const self = { url: `http://127.0.0.1:${port}/`, dir, log: '', process: null };
    const env = { ...process.env, RECTO_CONFIG: '/dev/null' };
    self.start = async () => {
        const child = spawn(program, ['serve', '--listen', `127.0.0.1:${port}`, '--data', path.join(dir, 'data'), '--disk-min', '1MiB', '--rate', '0',
            ...device, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
        self.process = child;
        child.stderr.on('data', bytes => { self.log += bytes; });
        const died = once(child, 'exit').then(() => { throw new Error(`recto serve ended:\n${self.log}`); });
        died.catch(() => null);
        await Promise.race([ready(self.url), died]);
    };
    self.kill = async () => {
        if (self.process.exitCode !== null || self.process.signalCode !== null)
            return;
        self.process.kill('SIGKILL');
        await once(self.process, 'exit');
    };
    self.stop = async () => {
        await self.kill();
        rmSync(dir, { recursive: true, force: true });
    };
    await self.start();
    return self;
}

async function ready(url) {
    for (let i = 0; i < 600; i++) {
        const ok = await fetch(`${url}readyz`).then(r => r.ok, () => false);
        if (ok)
            return;
        await new Promise(f => setTimeout(f, 50));
    }
    throw new Error('recto serve is not ready after 30 s');
}

export const getJson = async (server, route, init) => (await fetch(server.url + route, init)).json();
