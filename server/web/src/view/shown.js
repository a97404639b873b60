/* Which blocks are shown now: those of the page's layout, or while it is read those of the text so far. */

import { state } from '../store.js';
import { readable } from '../render/blocks.js';
import { rawBlocks } from '../render/raw.js';

let ofData = null;
let ready = [];

export function shownBlocks() {
    if (state.live)
        return rawBlocks(state.live.text);
    const data = state.page?.data;
    if (!data)
        return [];
    if (data !== ofData) {
        ofData = data;
        ready = readable(data.blocks || []);
    }
    return ready;
}
