// Parts of pages, asked of the server and put in place by htmx.

/** @type {any} */
const { htmx } = /** @type {any} */ (window);

/** Requests that no person made have this header: they do not keep a session from ending. */
export const UNATTENDED = { 'X-Unattended': 'true' };

/**
 * Put the answer to a GET into an element, which the server knows by its id.
 * @param {string} address
 * @param {Element} place
 * @param {{swap?: string, headers?: Record<string, string>}} [options]
 * @returns {Promise<void>}
 */
export const load = (address, place, options = {}) =>
  htmx.ajax('GET', address, { swap: 'innerHTML', headers: {}, ...options, source: place, target: place });

/**
 * The same for a POST, with the token of the session.
 * @param {string} address
 * @param {Element} place
 * @returns {Promise<void>}
 */
export const send = (address, place) => {
  const token = /** @type {HTMLInputElement | null} */ (document.querySelector('input[name=csrf]'));
  const values = { csrf: token?.value ?? '' };
  return htmx.ajax('POST', address, { swap: 'innerHTML', headers: UNATTENDED, values, source: place, target: place });
};

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Text in the status region, for readers of screens; at most every ten seconds.
 * @param {string} words
 */
export const say = (words) => {
  const region = document.getElementById('status');
  if (region === null || Date.now() - saidAt < 10_000) return;
  saidAt = Date.now();
  region.textContent = words;
};
let saidAt = 0;
