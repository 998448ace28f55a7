// A form that writes is sent until its answer is known. While there is no connection, while the service cannot confirm,
// and after the time that a full service tells, it is sent again with the same attempt: so it stays one write.
// Until then the text stays in the form, and nothing says that it was done.
import { forgetDraft } from './drafts.js';
import { pause, put } from './parts.js';

const FORMS = 'main form[method=post]:has(> input[name=attempt])';
const UNKNOWN = [502, 503, 504];
const LONGEST_S = 15;
const WITHIN_MS = 60_000;
const SLOW_MS = 400;

/** Forms that were sent, and of which it is not known whether the service has them. @type {Set<HTMLFormElement>} */
const pending = new Set();

/** The place of words on forms that are under way. @param {string} name */
const lineOf = (name) => {
  const line = document.createElement('p');
  const subject = document.createElement('bdi');
  const words = document.createElement('span');
  subject.textContent = name;
  line.append(...(name === '' ? [] : [subject, ': ']), words);
  let since = '';
  return {
    /** @param {string} text */
    say: (text) => {
      if (!line.isConnected) document.getElementById('sending')?.append(line);
      if (words.textContent !== text) words.textContent = text;
    },
    /** The time from which on it is not known. */
    since: () => (since ||= new Date().toISOString().slice(11, 16)),
    /** @param {string} text @param {string} path */
    end: (text, path) => {
      const link = document.createElement('a');
      link.href = path;
      link.textContent = 'open';
      words.textContent = `${text} `;
      words.append(link);
      setTimeout(() => line.remove(), WITHIN_MS);
    },
    remove: () => line.remove(),
  };
};

/** @typedef {ReturnType<typeof lineOf>} Line */

/**
 * The answer to a form, sent again while it is not known.
 * @param {string} address
 * @param {URLSearchParams} body
 * @param {string} target
 * @param {Line} line
 */
const known = async (address, body, target, line) => {
  for (let tries = 0; ; tries += 1) {
    let wait = Math.min(2 ** tries, LONGEST_S);
    try {
      const headers = { 'HX-Request': 'true', 'HX-Target': target };
      const signal = AbortSignal.timeout(WITHIN_MS);
      const answer = await fetch(address, { method: 'POST', body, headers, signal, cache: 'no-store' });
      const told = Number(answer.headers.get('Retry-After'));
      if (answer.status === 429) {
        wait = Math.max(told, 1);
        line.say(`too many requests at once. It goes on in ${wait} s.`);
      } else if (UNKNOWN.includes(answer.status) || (answer.status === 409 && told > 0)) {
        wait = Math.max(wait, told);
        line.say(`not confirmed yet, since ${line.since()} UTC. It is asked again, and stays one write.`);
      } else return answer;
    } catch {
      line.say(`not confirmed: no connection since ${line.since()} UTC. It is sent again, and stays one write.`);
    }
    await Promise.race([pause(wait * 1000), reachable()]);
  }
};

/** Once the live line, or the network, is back. */
const reachable = () =>
  new Promise((resolve) => {
    addEventListener('online', resolve, { once: true });
    document.addEventListener('service:back', resolve, { once: true });
  });

/** @param {string} to */
const go = (to) => {
  const address = new URL(to, location.href);
  if (address.pathname + address.search !== location.pathname + location.search) {
    location.assign(address);
    return;
  }
  history.replaceState(null, '', address);
  location.reload();
};

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
const send = async (form, submitter) => {
  const place = form.closest('#preview') ?? document.getElementById('main');
  if (place === null || pending.has(form)) return;
  const address = submitter?.getAttribute('formaction') ?? form.getAttribute('action') ?? '';
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  const name = form.dataset.draft === undefined ? '' : (place.querySelector('.title bdi')?.textContent ?? '');
  const line = lineOf(name);
  const from = form.dataset.draft === undefined ? location.pathname + location.search : `/console/stacks/${form.dataset.draft}`;
  pending.add(form);
  form.inert = true;
  form.ariaBusy = 'true';
  const slow = setTimeout(() => line.say('sending…'), SLOW_MS);
  const answer = await known(address, body, place.id, line);
  clearTimeout(slow);
  pending.delete(form);
  form.inert = false;
  form.ariaBusy = null;
  const to = answer.headers.get('HX-Redirect');
  if (answer.ok) forgetDraft(form);
  if (form.isConnected) line.remove();
  if (!form.isConnected) line.end(outcome(answer, to), from);
  else if (answer.status === 401) form.submit();
  else if (to !== null) go(to);
  else await show(answer, place);
};

/** What is said of a form that the page no longer shows. @param {Response} answer @param {string | null} to */
const outcome = (answer, to) => {
  if (!answer.ok) return 'not recorded, your text is kept.';
  return to === null ? 'recorded in part, or not at all.' : 'recorded.';
};

/** The page that answers, with the focus at what it says. @param {Response} answer @param {Element} place */
const show = async (answer, place) => {
  await put(answer, place);
  document.dispatchEvent(new CustomEvent('stack:opened'));
  const words = place.querySelector('[role=alert]') ?? place.querySelector('#notice') ?? place.querySelector('h1, h2');
  if (!(words instanceof HTMLElement)) return;
  words.tabIndex = -1;
  words.focus();
};

document.addEventListener('submit', (event) => {
  const { target, submitter } = event;
  if (event.defaultPrevented || !(target instanceof HTMLFormElement) || !target.matches(FORMS)) return;
  event.preventDefault();
  send(target, submitter);
});
addEventListener('beforeunload', (event) => {
  if (pending.size > 0) event.preventDefault();
});
