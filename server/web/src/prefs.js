/* What this browser remembers: looks, language, reading options, drafts of edits. A browser that keeps nothing (private
 * windows, full quota) is no fault: then the page forgets. */

const PREFIX = 'recto.';

export function recall(name, fallback) {
    try {
        const text = localStorage.getItem(PREFIX + name);
        return text === null ? fallback : JSON.parse(text);
    } catch {
        return fallback;
    }
}

export function remember(name, value) {
    try {
        if (value === null)
            localStorage.removeItem(PREFIX + name);
        else
            localStorage.setItem(PREFIX + name, JSON.stringify(value));
    } catch {
        /* forgets */
    }
}

export const prefs = {
    lang: recall('lang', null),      /* en, zh; null: as the browser */
    theme: recall('theme', 'system'),
    size: recall('size', 100),       /* of text, per cent */
    keys: recall('keys', true),      /* single-key shortcuts */
    doubt: recall('doubt', true),    /* mark blocks that the model was unsure of */
    options: recall('options', {}),  /* see view/options.js */
};

export function setPref(name, value) {
    prefs[name] = value;
    remember(name, value);
    applyLooks();
}

export function applyLooks() {
    const root = document.documentElement;
    root.dataset.theme = prefs.theme;
    root.style.setProperty('font-size', `${prefs.size}%`);
    root.lang = language();
}

export function language() {
    if (prefs.lang)
        return prefs.lang;
    return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}
