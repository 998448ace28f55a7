// What happens at the bank while a page is open: one connection for all tabs of a browser, and marks where it matters.
// Nothing moves under a reader: counts change, a bar offers what is new, a decided row greys where it stands.
import { UNATTENDED, load, pause, say, send } from './parts.js';

/** @typedef {import('./queue.js').Queue} Queue */
/** @typedef {{kind: string, at: number, isAway?: boolean, alert?: string, transfer?: string, parties?: string[]}} News */

const NAME = 'clearhold-live';
const SILENT_MS = 40_000; // the service sends something every 15 s
const DARK_AFTER_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const FLUSH_MS = 2_000;
const MOST_WAITING = 500;
const MOST_ROWS = 6;
const LOOK_MS = 20_000;
const LETTERS = 8;
const UP = 'up';
const DOWN = 'down';
const ENDED = 'ended';
const RESYNC = 'resync';
const ASK = 'ask';

/** @param {Queue} queue */
export const startLive = (queue) => {
  if (document.getElementById('live') === null || !('locks' in navigator)) return;
  const channel = new BroadcastChannel(NAME);
  const page = new Page(queue);
  /** @type {News} */
  let state = { kind: DOWN, at: Date.now() };
  let leads = false;

  /** @param {News} news */
  const tell = (news) => {
    if ([UP, DOWN, ENDED].includes(news.kind)) state = news;
    channel.postMessage(news);
    page.take(news);
  };
  channel.onmessage = ({ data }) => {
    if (data.kind !== ASK) page.take(data);
    else if (leads) channel.postMessage(state);
  };
  channel.postMessage({ kind: ASK, at: Date.now() });
  navigator.locks.request(NAME, async () => {
    leads = true;
    await follow(tell);
  });
};

/** Read the feed until the session ends; connect again after a pause that grows. @param {(news: News) => void} tell */
const follow = async (tell) => {
  let last = '';
  let wait = FIRST_PAUSE_MS;
  let isUp = false;
  for (;;) {
    const stop = new AbortController();
    let silence = setTimeout(() => stop.abort(), SILENT_MS);
    try {
      /** @type {Record<string, string>} */
      const headers = last === '' ? UNATTENDED : { ...UNATTENDED, 'Last-Event-ID': last };
      const answer = await fetch('/console/live', { headers, signal: stop.signal, cache: 'no-store' });
      if (answer.status === 401 || answer.redirected) {
        tell({ kind: ENDED, at: Date.now() });
        return;
      }
      if (answer.status === 400) last = '';
      if (answer.ok && answer.body !== null) {
        tell({ kind: UP, at: Date.now() });
        isUp = true;
        wait = FIRST_PAUSE_MS;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = '';
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          clearTimeout(silence);
          silence = setTimeout(() => stop.abort(), SILENT_MS);
          const blocks = (rest + value).split('\n\n');
          rest = blocks.pop() ?? '';
          for (const block of blocks) {
            const { id, news } = read(block);
            last = id ?? last;
            if (news !== null) tell(news);
          }
        }
      }
    } catch {
      // The network or the service is away: the light says so, and the next try follows.
    } finally {
      clearTimeout(silence);
      stop.abort();
    }
    tell({ kind: DOWN, at: Date.now(), isAway: !isUp }); // one end of an answer is no absence: the next try follows
    isUp = false;
    await pause(wait * (0.5 + Math.random()));
    wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
  }
};

/**
 * The id of an event, and of its content the ids alone.
 * @param {string} block
 * @returns {{id: string | null, news: News | null}}
 */
const read = (block) => {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
  }
  const { id = null, event: kind, data } = fields;
  if (kind === undefined || data === undefined) return { id, news: null };
  const at = Date.now();
  if (kind === RESYNC) return { id, news: { kind, at } };
  const body = JSON.parse(data).data ?? {};
  const parties = [body.entityId, body.accountId, body.counterpartyId].filter((each) => typeof each === 'string');
  return { id, news: { kind, at, alert: body.alertId?.slice(0, LETTERS), transfer: body.transferId, parties } };
};

/** What a page does with news. */
class Page {
  /** @param {Queue} queue */
  constructor(queue) {
    this.queue = queue;
    this.light = /** @type {HTMLElement} */ (document.getElementById('live'));
    /** @type {Set<string>} */
    this.alerts = new Set(); // changed ones, by the first letters of their ids
    /** @type {Set<string>} */
    this.transfers = new Set(); // of the open stack, since it was opened
    this.isStale = false;
    this.flushing = false;
    this.wasUp = false;
    this.downSince = Date.now();
    this.dark = setTimeout(() => this.#darken(), DARK_AFTER_MS);
    document.addEventListener('stack:opened', () => this.#onOpened());
    document.addEventListener('visibilitychange', () => this.#onVisible());
    setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  /** @param {News} news */
  take(news) {
    switch (news.kind) {
      case UP:
        this.#lighten();
        if (this.wasUp) this.#mark();
        this.wasUp = true;
        return;
      case DOWN:
        this.#down(news);
        return;
      case ENDED:
        this.#end();
        return;
      case RESYNC:
        this.#mark();
        return;
      case 'transfer.scored':
        this.#onTransfer(news);
        return;
      default:
        if (news.alert === undefined) return;
        if (this.alerts.size < MOST_WAITING) this.alerts.add(news.alert);
        this.#mark();
    }
  }

  #mark() {
    this.isStale = true;
    this.#flushSoon();
  }

  async #flushSoon() {
    if (this.flushing || document.hidden) return;
    this.flushing = true;
    await pause(FLUSH_MS);
    try {
      if (!document.hidden && this.isStale) await this.#flush();
    } finally {
      this.flushing = false;
    }
    if (this.isStale) this.#flushSoon();
  }

  /** Counts, the bar, and the rows of changed alerts, as the server has them. */
  async #flush() {
    this.isStale = false;
    const { alerts, queue } = this;
    this.alerts = new Set();
    const news = document.getElementById('news');
    const since = queue.list?.dataset.since;
    if (news === null || since === undefined) return;
    const rows = queue.rowsOf(alerts).filter((row) => !row.classList.contains('decided'));
    for (const row of rows.slice(0, MOST_ROWS)) await queue.renew(row, UNATTENDED);
    for (const { dataset } of rows.slice(MOST_ROWS)) this.alerts.add(dataset.alerts?.split(' ')[0] ?? '');
    this.isStale ||= this.alerts.size > 0; // the others have their turn
    const address = new URL(queue.address, location.href);
    address.searchParams.set('since', since);
    const before = news.querySelector('.bar-new')?.textContent;
    await load(address.pathname + address.search, news, { headers: UNATTENDED });
    const bar = news.querySelector('.bar-new')?.textContent;
    if (bar && bar !== before) say(bar);
  }

  /** @param {News} news */
  #onTransfer({ transfer, parties = [] }) {
    const opened = document.getElementById('opened');
    if (opened === null || transfer === undefined) return;
    const { subject = '', transfers = '' } = opened.dataset;
    if (!parties.includes(subject) && transfers !== transfer) return;
    this.transfers.add(transfer);
    const number = this.transfers.size;
    const words = opened.querySelector('.words');
    if (words !== null) words.textContent = `${number} ${number === 1 ? 'transfer' : 'transfers'} since you opened this`;
    opened.hidden = false;
  }

  #onOpened() {
    this.transfers.clear();
    this.#look();
  }

  #onVisible() {
    if (document.hidden) return;
    this.#look();
    if (this.isStale) this.#flushSoon();
  }

  /** Say which stack is looked at, and show who else looks. */
  #look() {
    const place = document.getElementById('presence');
    const stack = place?.dataset.stack;
    if (place === null || stack === undefined || document.hidden || this.downSince === Infinity) return;
    send(`/console/stacks/${stack}/presence`, place);
  }

  #lighten() {
    clearTimeout(this.dark);
    this.downSince = 0;
    this.light.textContent = 'live';
    this.light.classList.add('on');
    document.dispatchEvent(new CustomEvent('service:back'));
  }

  /** @param {News} news */
  #down({ at, isAway = false }) {
    if (isAway) document.dispatchEvent(new CustomEvent('service:away'));
    if (this.downSince > 0) return;
    this.downSince = at;
    this.dark = setTimeout(() => this.#darken(), DARK_AFTER_MS);
  }

  #darken() {
    const since = new Date(this.downSince).toISOString().slice(11, 16);
    this.light.textContent = `not live since ${since}`;
    this.light.classList.remove('on');
    say(`Not live since ${since}.`);
  }

  #end() {
    clearTimeout(this.dark);
    this.downSince = Infinity;
    this.light.textContent = 'signed out';
    this.light.classList.remove('on');
    say('The session has ended.');
  }
}
