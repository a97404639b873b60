// OpenAI's own client against recto serve: picture and PDF, streaming and not, errors, retries, abort.
// The server is started by test_sdk.py, which hands over addresses, key and documents.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';

const { MODULES, BASE, KEY, PNG, PDF, SLOW_BASE } = process.env;
const { default: OpenAI, APIError } = createRequire(MODULES + '/x.js')('openai');
const client = new OpenAI({ baseURL: BASE, apiKey: KEY, maxRetries: 0 });
const model = 'deepseek-ocr-2';
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,' + PNG } };
const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,' + PDF } };
const ask = (...content) => ({ model, messages: [{ role: 'user', content }] });

test('models', async () => {
    const list = [];
    for await (const m of client.models.list()) list.push(m.id);
    assert.deepEqual(list, [model]);
    assert.equal((await client.models.retrieve(model)).owned_by, 'deepseek-ai');
});

test('a picture', async () => {
    const { data, response } = await client.chat.completions.create(ask(image)).withResponse();
    assert.equal(data.choices[0].message.content, 'page 1 of image 1');
    assert.equal(data.choices[0].finish_reason, 'stop');
    assert.equal(data.usage.total_tokens, data.usage.prompt_tokens + data.usage.completion_tokens);
    assert.equal(data._request_id, response.headers.get('x-request-id'));
});

test('a PDF', async () => {
    const answer = await client.chat.completions.create(ask(file, { type: 'text', text: 'Free OCR.' }));
    assert.equal(answer.choices[0].message.content, 'page 1 of a.pdf\n\n<--- Page Split --->\n\npage 2 of a.pdf');
});

test('streaming', async () => {
    for (const [part, want] of [[image, 'page 1 of image 1'], [file, 'page 1 of a.pdf\n\n<--- Page Split --->\n\npage 2 of a.pdf']]) {
        let text = '', usage = null, reason = null;
        const stream = await client.chat.completions.create({ ...ask(part), stream: true, stream_options: { include_usage: true } });
        for await (const chunk of stream) {
            text += chunk.choices[0]?.delta?.content ?? '';
            reason = chunk.choices[0]?.finish_reason ?? reason;
            usage = chunk.usage ?? usage;
        }
        assert.equal(text, want);
        assert.equal(reason, 'stop');
        assert.ok(usage.completion_tokens > 0);
    }
});

test('the stream helper', async () => {
    const stream = client.chat.completions.stream(ask(image));
    assert.equal(await stream.finalContent(), 'page 1 of image 1');
});

test('errors', async () => {
    const fails = async (body, status, code, c = client) => {
        const e = await c.chat.completions.create(body).then(() => assert.fail('no error'), (e) => e);
        assert.ok(e instanceof APIError, String(e));
        assert.equal(e.status, status);
        assert.equal(e.code, code);
        assert.ok(e.requestID.startsWith('req_'));
    };
    await fails({ ...ask(image), model: 'gpt-4o' }, 404, 'model_not_found');
    await fails({ ...ask(image), n: 2 }, 400, 'unsupported_parameter');
    await fails(ask({ type: 'text', text: 'hello' }), 400, 'invalid_value');
    await fails(ask({ type: 'image_url', image_url: { url: 'https://example.org/x.png' } }), 403, 'url_fetch_disabled');
    await fails(ask({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }), 415, 'unsupported_media_type');
    await fails({ ...ask(image), stream: true, temperature: 9 }, 400, 'invalid_value');
    await fails(ask(image), 401, 'invalid_api_key', new OpenAI({ baseURL: BASE, apiKey: 'rk_wrong', maxRetries: 0 }));
});

test('a refused call is tried again as the headers say', async () => {
    const c = new OpenAI({ baseURL: SLOW_BASE, apiKey: KEY, maxRetries: 4 });
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => c.models.list())); // two at once, five a second
    assert.equal(answers.length, 5);
});

test('abort', async () => {
    const endless = new OpenAI({ baseURL: SLOW_BASE, apiKey: KEY, maxRetries: 8 });
    const stop = new AbortController();
    const stream = await endless.chat.completions.create({ ...ask(image), stream: true }, { signal: stop.signal });
    let n = 0;
    for await (const chunk of stream) if (chunk.choices[0].delta.content && ++n === 3) stop.abort();
    assert.ok(n >= 3);
    const whole = new AbortController();
    setTimeout(() => whole.abort(), 300);
    await assert.rejects(endless.chat.completions.create(ask(image), { signal: whole.signal }));
});
