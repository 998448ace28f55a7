// The list of the queue: rows in chunks, of which few are in the page; one row is chosen, and its stack opens beside.
import { load, pause } from './parts.js';
import { Preview } from './preview.js';

const KEPT = 2; // chunks with rows; the others are as high as they were, and empty
const AHEAD = 1200; // pixels: rows are there before they are seen
const OPENS_AFTER_MS = 120;
const PREPARES_AFTER_MS = 350;
const WIDE = matchMedia('(width >= 80rem)');
const ADDRESS = 'console:queue';

/** @typedef {{address: string, place: HTMLElement, first: number, busy: boolean, filled?: Promise<void>}} Chunk */
/** @typedef {import('./preview.js').Intent} Intent */

export class Queue {
  constructor() {
    /** @type {Chunk[]} */
    this.chunks = [];
    /** @type {string | null} */
    this.chosen = null; // the id of a row
    /** @type {Promise<void> | undefined} */
    this.coming = undefined;
    this.preview = new Preview();
    this.seen = new IntersectionObserver((entries) => this.#onSeen(entries), { root: this.#scroller(), rootMargin: `${AHEAD}px 0px` });
  }

  get pane() {
    return document.getElementById('queue-pane');
  }

  get list() {
    return document.getElementById('stacks');
  }

  /** The address of the list with its filters; the list beside a workspace is the one that was left. */
  get address() {
    return this.list?.dataset.address ?? sessionStorage.getItem(ADDRESS) ?? '/console/queue';
  }

  /** @returns {HTMLAnchorElement | null} */
  get row() {
    const row = this.chosen === null ? null : document.getElementById(this.chosen);
    return row instanceof HTMLAnchorElement ? row : null;
  }

  async start() {
    const { pane } = this;
    if (pane === null) return;
    const current = pane.dataset.stack;
    if (current !== undefined) {
      this.preview.opened = location.pathname;
      if (!WIDE.matches) return;
      await load(this.address, pane);
    }
    const { path } = this.preview; // another one, if a key or a signature came before the list
    this.adopt(path === null ? location.hash.slice(1) : rowOf(path));
    pane.addEventListener('click', (event) => this.#onClick(event));
    addEventListener('popstate', () => this.#onBack());
    setInterval(() => this.#countDown(), 30_000);
  }

  /**
   * Take a list that was just put in place; choose a row without moving the focus.
   * @param {string | null} wanted
   */
  adopt(wanted) {
    this.seen.disconnect();
    this.chunks = [];
    const { list } = this;
    const place = list?.querySelector('.piece');
    if (list === null || !(place instanceof HTMLElement)) return;
    if (this.pane?.dataset.stack === undefined) sessionStorage.setItem(ADDRESS, this.address);
    this.#add(this.address, place);
    this.loadedAt = Date.now() / 1000;
    const isEmpty = this.preview.path === null && WIDE.matches; // a workspace that is read stays, with or without a row
    const row = (wanted ? document.getElementById(wanted) : null) ?? (isEmpty ? list.querySelector('.stack') : null);
    if (row instanceof HTMLAnchorElement && row.classList.contains('stack')) this.#mark(row);
    else this.chosen = null;
    this.#tabStop();
    this.row?.scrollIntoView({ block: 'nearest' });
    if (this.row !== null) this.#open(this.row, 0, 'look');
  }

  /** Read the list from its start; what is chosen stays chosen. */
  async refresh() {
    const { pane } = this;
    if (pane === null) return;
    const hadFocus = pane.contains(document.activeElement);
    await load(this.address, pane);
    this.adopt(this.chosen); // which may be another one by now
    if (hadFocus) (this.row ?? this.#tabStop())?.focus();
  }

  /**
   * Choose the row that is so many rows further.
   * @param {1 | -1} by
   */
  async move(by) {
    const from = this.row;
    const to = from === null ? this.#firstVisible() : (this.#beside(from, by) ?? (await this.#beyond(from, by)));
    if (to === null) return;
    this.choose(to);
    for (const row of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('#stacks .stack.decided'))) {
      if (row !== to) this.#leave(row);
    }
  }

  /** @param {HTMLAnchorElement} row @param {Intent} [intent] */
  choose(row, intent = 'choose') {
    this.#mark(row);
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
    this.#open(row, intent === 'enter' ? 0 : OPENS_AFTER_MS, intent);
  }

  /** Go on in the workspace of the chosen row. */
  enter() {
    if (this.row === null) return;
    if (this.#opensHere) this.choose(this.row, 'enter');
    else location.assign(this.row.href);
  }

  /** Go on in another stack, in its row or without one. @param {string} path */
  async open(path) {
    const id = rowOf(path);
    const row = document.getElementById(id);
    if (row instanceof HTMLAnchorElement && this.#opensHere) {
      this.choose(row, 'enter');
      return;
    }
    this.row?.removeAttribute('aria-current');
    this.chosen = null;
    await this.preview.open(Object.assign(document.createElement('a'), { id, href: path }), 0, 'enter');
    scrollTo(0, 0);
  }

  /** To the chosen row, or from a workspace to its queue. */
  back() {
    if (this.row !== null && this.pane?.contains(document.activeElement) !== true) this.row.focus();
    else if (this.pane?.dataset.stack !== undefined || this.pane === null) this.leave();
  }

  /** A step back leads to the page before; one within the page is no such step. */
  #onBack() {
    const stack = this.pane?.dataset.stack;
    const path = stack === undefined ? new URL(this.address, location.href).pathname : `/console/stacks/${stack}`;
    if (location.pathname !== path) location.reload();
  }

  leave() {
    const hash = this.pane?.dataset.stack ? `#stack-${this.pane.dataset.stack}` : '';
    location.assign(this.address + hash);
  }

  /** Rows of these alerts, by the first letters of their ids. @param {Set<string>} alerts */
  rowsOf(alerts) {
    const rows = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('#stacks .stack'));
    return [...rows].filter((row) => row.dataset.alerts?.split(' ').some((each) => alerts.has(each)));
  }

  /**
   * Show a row as it is now, where it stands.
   * @param {HTMLAnchorElement} row
   * @param {Record<string, string>} headers
   */
  async renew(row, headers) {
    const item = row.closest('li');
    if (item === null) return;
    const hadFocus = document.activeElement === row;
    const { id } = row;
    this.preview.forget(row.pathname);
    await load(`${row.pathname}/row`, item, { swap: 'outerHTML', headers });
    const renewed = document.getElementById(id);
    if (!(renewed instanceof HTMLAnchorElement)) return;
    const chunk = this.chunks.find((each) => each.place.contains(renewed));
    if (chunk !== undefined) this.#number(chunk);
    if (id === this.chosen) this.#mark(renewed);
    if (hadFocus) renewed.focus({ preventScroll: true });
  }

  #scroller() {
    const { pane } = this;
    return pane !== null && getComputedStyle(pane).overflowY === 'auto' ? pane : null;
  }

  /** @param {string} address @param {HTMLElement} place */
  #add(address, place) {
    const last = this.chunks.at(-1);
    const first = last === undefined ? 1 : last.first + last.place.querySelectorAll('.stack').length;
    const chunk = { address, place, first, busy: false };
    this.chunks.push(chunk);
    this.#number(chunk);
    this.seen.observe(place);
    const further = place.querySelector('.further');
    if (further !== null) this.seen.observe(further);
  }

  /** @param {Chunk} chunk */
  #number(chunk) {
    const total = this.list?.dataset.total ?? '-1';
    let at = chunk.first;
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (chunk.place.querySelectorAll('.stack'))) {
      row.tabIndex = row.id === this.chosen ? 0 : -1;
      row.parentElement?.setAttribute('aria-posinset', `${at}`);
      row.parentElement?.setAttribute('aria-setsize', total);
      at += 1;
    }
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #onSeen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (target.classList.contains('further')) {
        if (isIntersecting) this.#further(target);
        continue;
      }
      const chunk = this.chunks.find((each) => each.place === target);
      if (chunk !== undefined && isIntersecting) this.#filled(chunk);
    }
  }

  /** The rows behind the last ones, once. @param {Element} link */
  async #further(link) {
    this.coming ??= this.#append(link);
    await this.coming;
    this.coming = undefined;
  }

  /** @param {Element} link */
  async #append(link) {
    const next = link.querySelector('a');
    const last = this.chunks.at(-1);
    if (next === null || last === undefined || last.busy || !last.place.contains(link)) return;
    last.busy = true;
    const place = document.createElement('div');
    place.className = 'piece';
    place.id = `chunk-${this.chunks.length}`;
    last.place.after(place);
    const address = next.pathname + next.search;
    await load(address, place);
    last.busy = false;
    if (!place.isConnected) return;
    this.#add(address, place);
    link.remove();
    this.#empty(place);
  }

  /** A chunk with its rows. @param {Chunk} chunk */
  async #filled(chunk) {
    chunk.filled ??= this.#fill(chunk);
    await chunk.filled;
    chunk.filled = undefined;
  }

  /** @param {Chunk} chunk */
  async #fill(chunk) {
    if (chunk.busy || chunk.place.firstElementChild !== null) return;
    chunk.busy = true;
    await load(chunk.address, chunk.place);
    chunk.busy = false;
    if (chunk !== this.chunks.at(-1)) chunk.place.querySelector('.further')?.remove();
    chunk.place.style.height = '';
    this.#number(chunk);
    this.#empty(chunk.place);
  }

  /** Take the rows out of chunks far from this one. @param {HTMLElement} near */
  #empty(near) {
    const at = this.chunks.findIndex((each) => each.place === near);
    const filled = this.chunks.filter((each) => each.place.firstElementChild !== null && !each.busy);
    const far = filled.sort((a, b) => Math.abs(this.chunks.indexOf(b) - at) - Math.abs(this.chunks.indexOf(a) - at));
    const seen = this.#frame();
    for (const { place } of far.slice(0, Math.max(0, filled.length - KEPT))) {
      const { top, bottom } = place.getBoundingClientRect();
      if (bottom > seen.top - AHEAD && top < seen.bottom + AHEAD) continue;
      place.style.height = `${place.offsetHeight}px`;
      place.replaceChildren();
    }
  }

  #frame() {
    const root = this.#scroller();
    return root === null ? { top: 0, bottom: innerHeight } : root.getBoundingClientRect();
  }

  /** @param {HTMLAnchorElement} row */
  #mark(row) {
    const former = this.row;
    if (former !== null && former !== row) {
      former.removeAttribute('aria-current');
      former.tabIndex = -1;
    }
    const stop = this.list?.querySelector('.stack[tabindex="0"]');
    if (stop instanceof HTMLElement && stop !== row) stop.tabIndex = -1;
    this.chosen = row.id;
    row.setAttribute('aria-current', 'true');
    row.tabIndex = 0;
  }

  /** One row can be reached by Tab. @returns {HTMLAnchorElement | null} */
  #tabStop() {
    const row = this.row ?? this.list?.querySelector('.stack') ?? null;
    if (!(row instanceof HTMLAnchorElement)) return null;
    row.tabIndex = 0;
    return row;
  }

  #firstVisible() {
    const { top } = this.#frame();
    const rows = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('#stacks .stack'));
    return [...rows].find((row) => row.getBoundingClientRect().top >= top) ?? rows[0] ?? null;
  }

  /**
   * @param {HTMLAnchorElement} row
   * @param {1 | -1} by
   * @returns {HTMLAnchorElement | null}
   */
  #beside(row, by) {
    const forward = by === 1;
    let item = row.closest('li');
    while (item !== null) {
      item = /** @type {HTMLLIElement | null} */ (forward ? item.nextElementSibling : item.previousElementSibling);
      const next = item?.querySelector('.stack');
      if (next instanceof HTMLAnchorElement) return next;
    }
    const at = this.chunks.findIndex((each) => each.place.contains(row));
    const rows = this.chunks[at + by]?.place.querySelectorAll('.stack');
    const next = rows?.[forward ? 0 : rows.length - 1];
    return next instanceof HTMLAnchorElement ? next : null;
  }

  /** The row beside one at the end of its chunk, whose neighbour had left the page or is yet to come. @param {HTMLAnchorElement} row @param {1 | -1} by */
  async #beyond(row, by) {
    const at = this.chunks.findIndex((each) => each.place.contains(row));
    const further = this.chunks[at]?.place.querySelector('.further');
    if (by === 1 && at === this.chunks.length - 1 && further) await this.#further(further);
    const chunk = at === -1 ? undefined : this.chunks[at + by];
    if (chunk === undefined) return null;
    await this.#filled(chunk);
    return this.row === row ? this.#beside(row, by) : null;
  }

  /** Decided rows leave at the next move, and those behind them move up. @param {HTMLAnchorElement} row */
  #leave(row) {
    const { list } = this;
    const at = this.chunks.findIndex((each) => each.place.contains(row));
    row.closest('li')?.remove();
    if (at === -1 || list === null) return;
    list.dataset.total = `${Number(list.dataset.total) - 1}`;
    for (const chunk of this.chunks.slice(at + 1)) chunk.first -= 1;
    for (const chunk of this.chunks) this.#number(chunk);
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const target = /** @type {Element} */ (event.target);
    const show = target.closest('[data-show]');
    if (show !== null) {
      event.preventDefault();
      this.refresh();
      return;
    }
    const row = target.closest('.stack');
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!(row instanceof HTMLAnchorElement) || !isPlain || !this.#opensHere) return;
    event.preventDefault();
    this.choose(row, event.detail > 0 ? 'choose' : 'enter');
  }

  get #opensHere() {
    return WIDE.matches && this.preview.place !== null;
  }

  /** @param {HTMLAnchorElement} row @param {number} after @param {Intent} intent */
  async #open(row, after, intent) {
    if (!WIDE.matches || !(await this.preview.open(row, after, intent))) return;
    this.#follow(row);
    await pause(PREPARES_AFTER_MS);
    for (const by of /** @type {(1 | -1)[]} */ ([1, -1])) {
      const next = this.row?.pathname === row.pathname ? this.#beside(this.row, by) : null;
      if (next !== null) await this.preview.prepare(next.pathname);
    }
  }

  /** The stack that a signature opens is the next one of this list, in its order. @param {HTMLAnchorElement} row */
  #follow(row) {
    let next = this.#beside(row, 1);
    while (next?.classList.contains('decided')) next = this.#beside(next, 1);
    const words = document.getElementById('following');
    const field = document.querySelector('form[data-draft] [name=next]');
    const name = next?.querySelector('bdi');
    if (next === null || !name || words === null || !(field instanceof HTMLInputElement)) return;
    field.value = next.id.slice('stack-'.length);
    words.replaceChildren(name.cloneNode(true));
  }

  #countDown() {
    const offset = Date.now() / 1000 - this.loadedAt;
    const at = Number(this.list?.dataset.at ?? 0) + offset;
    for (const due of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('#stacks [data-due]'))) {
      const left = Number(due.dataset.due) - at;
      const words = left >= 0 ? span(left) : `late ${span(-left)}`;
      if (due.textContent !== words) due.textContent = words;
    }
  }

  loadedAt = Date.now() / 1000;
  ready = Promise.resolve();
}

/** The id of the row of a stack. @param {string} path */
const rowOf = (path) => `stack-${path.slice(path.lastIndexOf('/') + 1)}`;

/** A length of time with its two largest units, as the server writes it. @param {number} seconds */
const span = (seconds) => {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)}d ${hours % 24}h`;
  if (hours >= 1) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return `${minutes}m`;
};

export const startQueue = () => {
  const queue = new Queue();
  queue.ready = queue.start();
  return queue;
};
