// A form that writes is sent until its answer is known. While there is no connection, while the service cannot confirm,
// and after the time that a full service tells, it is sent again with the same attempt: so it stays one write.
// Until then the text stays in the form, and nothing says that it was done.
// A signature waits for five seconds, in which it can be taken back, while the next stack is open. It is sent at once
// when the page is left, and the page that follows asks for its answer.
import { draftOf, forgetDraft } from './drafts.js';
import { UNATTENDED, load, pause, put } from './parts.js';

/** @typedef {import('./queue.js').Queue} Queue */
/**
 * A form as it was sent. ``from`` is the address of its page, ``target`` the id of its place there.
 * @typedef {{address: string, body: string, from: string, target: string, name: string, draft: string}} Sent
 */

const FORMS = 'main form[method=post]:has(> input[name=attempt])';
const UNKNOWN = [502, 503, 504];
const LONGEST_S = 15;
const WITHIN_MS = 60_000;
const SLOW_MS = 400;
const TAKE_BACK_S = 5;
const MOST_LETTERS = 60_000; // browsers send no longer text for a page that was left
const LEFT = 'clearhold.left';

/** What was sent and is not known to be on the record, by its attempt. @type {Map<string, Sent>} */
const pending = new Map();
/** Ends of the time in which a signature can be taken back. @type {Map<string, (isSent: boolean) => void>} */
const held = new Map();

/** The place of words on forms that are under way. @param {string} name */
const lineOf = (name) => {
  const line = document.createElement('div');
  const subject = document.createElement('bdi');
  const words = document.createElement('span');
  subject.textContent = name;
  line.append(...(name === '' ? [] : [subject, ': ']), words);
  let since = '';
  line.id = `sent-${(lines += 1)}`;
  /** @param {string} text */
  const say = (text) => {
    if (!line.isConnected) document.getElementById('sending')?.prepend(line);
    if (words.textContent !== text) words.textContent = text;
  };
  return {
    say,
    words,
    /** The time from which on it is not known. */
    since: () => (since ||= new Date().toISOString().slice(11, 16)),
    /** @param {string} text @param {string} path @param {(event: Event) => unknown} open */
    end: (text, path, open) => {
      const link = document.createElement('a');
      link.href = path;
      link.textContent = 'open';
      link.addEventListener('click', open);
      say(`${text} `);
      words.append(link);
    },
    /** The links of the record, from the server. @param {string} address */
    fill: async (address) => {
      say('recorded.');
      setTimeout(() => line.remove(), WITHIN_MS);
      await load(address, line, { headers: UNATTENDED });
    },
    remove: () => line.remove(),
  };
};

let lines = 0;

/** @typedef {ReturnType<typeof lineOf>} Line */

/**
 * The answer to a form, sent again while it is not known.
 * @param {Sent} sent
 * @param {Line} line
 */
const known = async ({ address, body, target }, line) => {
  for (let tries = 0; ; tries += 1) {
    let wait = Math.min(2 ** tries, LONGEST_S);
    try {
      const headers = { 'HX-Request': 'true', 'HX-Target': target, 'Content-Type': 'application/x-www-form-urlencoded' };
      const signal = AbortSignal.timeout(WITHIN_MS);
      const keepalive = body.length < MOST_LETTERS;
      const answer = await fetch(address, { method: 'POST', body, headers, signal, keepalive, cache: 'no-store' });
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

/** @param {HTMLFormElement} form */
const attemptOf = (form) => /** @type {HTMLInputElement | null} */ (form.elements.namedItem('attempt'))?.value ?? '';

/** The form of an attempt, if the page shows it. @param {string} attempt */
const formOf = (attempt) => [...document.forms].find((each) => attemptOf(each) === attempt);

/** A form that is under way takes no keys. */
const still = () => {
  for (const form of document.forms) {
    form.inert = pending.has(attemptOf(form));
    form.ariaBusy = form.inert ? 'true' : null;
  }
};

/** Whether a signature goes on, after the time in which it can be taken back. @param {string} attempt @param {Line} line */
const goesOn = (attempt, line) =>
  new Promise((resolve) => {
    const told = document.createElement('span');
    const left = document.createElement('span');
    const back = document.createElement('button');
    const letter = document.createElement('kbd');
    let seconds = TAKE_BACK_S;
    const tick = () => {
      if (seconds === 0) end(true);
      left.textContent = `Signed in ${seconds} s · `;
      seconds -= 1;
    };
    const ticking = setInterval(tick, 1000);
    /** @param {boolean} isSent */
    const end = (isSent) => {
      clearInterval(ticking);
      held.delete(attempt);
      resolve(isSent);
    };
    held.set(attempt, end);
    told.className = 'hidden'; // readers of screens hear it once, and not at each second
    told.textContent = `Signed in ${seconds} s. Take back with z. `;
    left.ariaHidden = 'true';
    back.type = 'button';
    back.dataset.key = letter.textContent = 'z';
    back.append('take back ', letter);
    back.addEventListener('click', () => end(false));
    line.say('');
    line.words.append(told, left, back);
    tick();
  });

/** Once a stack is on the screen. @param {Queue} queue @param {string} path */
const opened = (queue, path) => {
  const open = new Promise((resolve) => document.addEventListener('stack:opened', resolve, { once: true }));
  queue.open(path);
  return open;
};

const sendHeld = () => {
  for (const end of held.values()) end(true);
};

/** @param {Sent} sent @param {Queue} queue @param {string} [next] the stack that opens while a signature waits */
const follow = async (sent, queue, next) => {
  const attempt = new URLSearchParams(sent.body).get('attempt') ?? '';
  const line = lineOf(sent.name);
  pending.set(attempt, sent);
  still();
  const moved = next ? opened(queue, `/console/stacks/${next}`) : null;
  if (next !== undefined) {
    if (!(await goesOn(attempt, line))) {
      await moved;
      line.remove();
      pending.delete(attempt);
      still();
      if (formOf(attempt) === undefined) await opened(queue, sent.from);
      document.getElementById('narrative')?.focus();
      return true;
    }
    line.say('signing…');
  }
  const slow = setTimeout(() => line.say('sending…'), SLOW_MS);
  const answer = await known(sent, line);
  await moved;
  clearTimeout(slow);
  pending.delete(attempt);
  still();
  const to = answer.headers.get('HX-Redirect');
  const form = formOf(attempt);
  const place = form?.closest('#preview') ?? document.getElementById('main');
  if (answer.ok) forgetDraft(sent.draft);
  if (form === undefined || place === null) {
    if (answer.ok && to?.includes('signed=')) await line.fill(`/console/signed${to.slice(to.indexOf('?'))}`);
    else {
      line.end(outcome(answer, to), sent.from, async (event) => {
        if (sent.draft === '' || to !== null || answer.status === 401) return;
        event.preventDefault();
        line.remove();
        await opened(queue, sent.from);
        await show(answer, document.getElementById('preview') ?? document.body);
      });
    }
    return answer.ok;
  }
  line.remove();
  if (answer.status === 401) form.submit();
  else if (to !== null) go(to);
  else await show(answer, place);
  return answer.ok;
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

/** @param {Queue} queue */
export const startSending = (queue) => {
  /** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
  const send = (form, submitter) => {
    const place = form.closest('#preview') ?? document.getElementById('main');
    if (place === null || pending.has(attemptOf(form))) return;
    const { draft, keep } = form.dataset;
    const fields = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
    const isSignature = submitter?.id === 'sign' && `${fields}`.length < MOST_LETTERS;
    const sent = {
      address: submitter?.getAttribute('formaction') ?? form.getAttribute('action') ?? '',
      body: `${fields}`,
      from: draft === undefined ? location.pathname + location.search : `/console/stacks/${draft}`,
      target: place.id,
      name: draft === undefined && keep === undefined ? '' : (place.querySelector('.title bdi')?.textContent ?? ''),
      draft: draftOf(form),
    };
    running.push(follow(sent, queue, isSignature ? (fields.get('next') ?? '') : undefined));
  };
  /** @type {Promise<boolean>[]} */
  const running = [];

  document.addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if (event.defaultPrevented || !(target instanceof HTMLFormElement) || !target.matches(FORMS)) return;
    event.preventDefault();
    send(target, submitter);
  });
  // Signing out waits for what is under way, and is given up if that was refused.
  document.addEventListener(
    'submit',
    async (event) => {
      const { target } = event;
      if (!(target instanceof HTMLFormElement) || target.getAttribute('action') !== '/console/sign-out') return;
      if (pending.size === 0) return;
      event.preventDefault();
      event.stopPropagation();
      sendHeld();
      if ((await Promise.all(running.splice(0))).every(Boolean)) target.requestSubmit();
    },
    true,
  );
  addEventListener('beforeunload', (event) => {
    if (pending.size > held.size) event.preventDefault();
    sendHeld();
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) sendHeld();
  });
  addEventListener('pagehide', () => {
    sendHeld();
    if (pending.size > 0) sessionStorage.setItem(LEFT, JSON.stringify([...pending.values()]));
  });
  document.addEventListener('stack:opened', still);

  const left = sessionStorage.getItem(LEFT);
  sessionStorage.removeItem(LEFT);
  for (const sent of /** @type {Sent[]} */ (JSON.parse(left ?? '[]'))) running.push(follow(sent, queue));
};
