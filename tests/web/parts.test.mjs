/* Parts of the page that need no browser: the live reading of the model's own text, and where formulas begin. */

import test from 'node:test';
import assert from 'node:assert/strict';
import { rawBlocks, boxes } from '../../server/web/src/render/raw.js';
import { nextFormula } from '../../server/web/src/render/formula.js';

const ref = (label, box, body) => `<|ref|>${label}<|/ref|><|det|>[[${box}]]<|/det|>\n${body}`;

test('text with markers becomes blocks with boxes', () => {
    const blocks = rawBlocks(`${ref('title', '1, 2, 30, 40', '# A title')}\n\n${ref('text', '1, 50, 900, 999', 'Words.')}`);
    assert.deepEqual(blocks.map(b => [b.kind, b.level, b.text, b.boxes_999]),
        [['title', 1, 'A title', [[1, 2, 30, 40]]], ['text', 0, 'Words.', [[1, 50, 900, 999]]]]);
});

test('every beginning of a page is a page so far', () => {
    const whole = `Before. ${ref('sub_title', '1, 2, 3, 4', '## B')}\n\n${ref('image', '5, 6, 7, 8', '')}`;
    let most = 0;
    for (let n = 0; n <= whole.length; n++) {
        const blocks = rawBlocks(whole.slice(0, n));
        assert.ok(blocks.every(b => !/<\|/.test(b.text)), `marker shown at ${n}`);
        assert.ok(blocks.length >= most || blocks.length === most - 1, `blocks vanish at ${n}`);
        most = Math.max(most, blocks.length);
    }
    assert.equal(most, 3);
});

test('boxes are integers, four each, and nothing else', () => {
    assert.deepEqual(boxes('[[0,0,999,1200],[1,2,3]]'), [[0, 0, 999, 999]]);
    assert.deepEqual(boxes('[[alert(1),2,3,4]]'), []);
    assert.deepEqual(boxes('[[-5, 2, 3, 4]]'), []);
});

test('formulas are told from prices', () => {
    assert.equal(nextFormula('costs $5 or $6'), null);
    assert.equal(nextFormula('between 5$ and 6$ there'), null);
    assert.equal(nextFormula('a $x + 1$ b').tex, 'x + 1');
    assert.deepEqual(nextFormula('so \\(y\\) and').tex, 'y');
    assert.equal(nextFormula('\\[ E = mc^2 \\]').isDisplay, true);
    assert.equal(nextFormula('an escaped \\$x$ here'), null);
});
