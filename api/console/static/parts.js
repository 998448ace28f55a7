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
  htmx.ajax('GET', address, { swap: 'innerHTML', headers: {}, ...options, source: place, target: place, fetch: patient });

/**
 * The same for a POST, with the token of the session.
 * @param {string} address
 * @param {Element} place
 * @returns {Promise<void>}
 */
export const send = (address, place) => {
  const token = /** @type {HTMLInputElement | null} */ (document.querySelector('input[name=csrf]'));
  const values = { csrf: token?.value ?? '' };
  return htmx.ajax('POST', address, { swap: 'innerHTML', headers: UNATTENDED, values, source: place, target: place, fetch: patient });
};

/**
 * Put an answer that came into an element.
 * @param {Response} answer
 * @param {Element} place
 * @returns {Promise<void>}
 */
export const put = (answer, place) =>
  htmx.ajax('GET', location.pathname, { swap: 'innerHTML', source: place, target: place, fetch: async () => answer });

/**
 * As ``fetch``: waits as long as a full service tells, and goes on. A refusal of what no person asked for leaves the page
 * as it is.
 * @param {string} address
 * @param {RequestInit} options
 */
const patient = async (address, options) => {
  for (;;) {
    const answer = await fetch(address, options);
    if (answer.status === 429) await pause(1000 * Math.max(1, Number(answer.headers.get('Retry-After'))));
    else if (!answer.ok && isUnattended(options)) return new Response(null, { status: 204 });
    else return answer;
  }
};

/** @param {RequestInit} options */
const isUnattended = ({ headers }) => Object.keys(headers ?? {}).some((each) => each in UNATTENDED);

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Once the next frame is on the screen; a page that nobody sees has none. */
export const painted = () =>
  Promise.race([new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))), pause(100)]);

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
