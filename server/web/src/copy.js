/* To the clipboard. The modern interface exists only on secure origins and needs leave; the old event works everywhere as
 * long as a key or a click just happened, and can carry formatted text too. */

import { t } from './words.js';
import { toast } from './view/toast.js';

function byEvent(parts) {
    let isDone = false;
    const put = e => {
        e.preventDefault();
        e.stopImmediatePropagation();
        Object.entries(parts).forEach(([type, text]) => e.clipboardData.setData(type, text));
        isDone = true;
    };
    document.addEventListener('copy', put, { capture: true, once: true });
    document.execCommand('copy');
    document.removeEventListener('copy', put, { capture: true });
    return isDone;
}

/* Copy {type: text, ...} and say so; done is what to say. */
export async function copyParts(parts, done) {
    let isDone = byEvent(parts);
    if (!isDone && navigator.clipboard) {
        const blobs = Object.entries(parts).map(([type, text]) => [type, new Blob([text], { type })]);
        isDone = await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]).then(() => true, () => false);
    }
    toast(isDone ? done : t('text.notcopied'));
}

export const copyText = (text, done) => copyParts({ 'text/plain': text }, done);
