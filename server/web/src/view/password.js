/* The password of an encrypted PDF. */

import { t } from '../words.js';
import { askText } from './dialog.js';

/* Ask for it; attempt(password) does what needs it and throws an ApiError if that fails. Resolves to what attempt gave, or to
 * null when the person gives up. The dialog stays open, and says so, while passwords are wrong. */
export function askPassword(attempt) {
    const field = { label: t('pass.label'), type: 'password' };
    return new Promise((resolve, reject) => {
        let result = null;
        askText(t('pass.title'), t('pass.text'), field, t('pass.open'), async password => {
            try {
                result = await attempt(password);
            } catch (error) {
                if (error.code === 'password_wrong' || error.code === 'password_required')
                    throw new Error(t('pass.wrong'));
                reject(error);
            }
        }, () => resolve(result));
    });
}
