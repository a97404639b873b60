/* The model's own text, markers kept, to blocks: for a page that is still being read, when the server has no layout yet. What
 * it will make of the same text counts in the end, so this needs to be quick and forgiving, not exact. */

const BLOCK = /<\|ref\|>([\s\S]*?)<\|\/ref\|>(?:<\|det\|>([\s\S]*?)<\|\/det\|>)?/g;
const KINDS = { title: 'title', sub_title: 'heading', text: 'text', equation: 'equation', image: 'figure', table: 'table',
    figure_title: 'caption', image_caption: 'caption', table_title: 'caption', table_caption: 'caption' };

export function rawBlocks(text) {
    const blocks = [];
    let last = null;
    let end = 0;
    for (const m of text.matchAll(BLOCK)) {
        close(last, text.slice(end, m.index));
        if (!last && text.slice(0, m.index).trim())
            close(push(blocks, 'text', ''), text.slice(0, m.index));
        last = push(blocks, m[1].trim(), m[2] || '');
        end = m.index + m[0].length;
    }
    const rest = text.slice(end).replace(/<\|[^>]*$/, ''); /* a marker that is only half there */
    if (!last && rest.trim())
        last = push(blocks, 'text', '');
    close(last, rest);
    return blocks;
}

function push(blocks, label, det) {
    const block = { id: `live${blocks.length}`, order: blocks.length, label, kind: KINDS[label] || 'text', level: 0, flags: [],
        boxes_999: boxes(det), text: '', crops: [] };
    blocks.push(block);
    return block;
}

function close(block, body) {
    if (!block)
        return;
    block.text = body.replace(/<\|\/?(ref|det)\|>/g, '').trim();
    if (block.kind === 'title' || block.kind === 'heading') {
        block.level = /^#*/.exec(block.text)[0].length || 1;
        block.text = block.text.replace(/^#+\s*/, '');
    }
}

/* Integers only, four to a box. */
export function boxes(det) {
    return [...det.matchAll(/\[\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\]/g)]
        .map(m => m.slice(1).map(v => Math.min(999, Number(v))));
}
