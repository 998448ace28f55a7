// The workspace beside the list: of the row that was chosen last, and of no other.
import { load, painted, pause } from './parts.js';

const PREPARED_FOR_MS = 20_000;
const TITLE_LETTERS = 60;

/** @typedef {'look' | 'choose' | 'enter'} Intent Looking leaves the address; entering moves the focus along. */
/** @typedef {{nodes: DocumentFragment, at: number}} Prepared */

export class Preview {
  constructor() {
    /** @type {string | null} */
    this.opened = null; // the path of the stack whose workspace is on the screen
    this.openings = 0;
    /** @type {{path: string, intent: Intent} | null} */
    this.pending = null;
    /** @type {Map<string, Prepared>} */
    this.prepared = new Map();
    // Before the veil, too, nothing of the former stack is signed.
    document.addEventListener('submit', (event) => this.#refuse(event), true);
  }

  get place() {
    return document.getElementById('preview');
  }

  /** The path of the stack whose workspace is on the screen, or on its way. */
  get path() {
    return this.pending?.path ?? this.opened;
  }

  /** Whether the workspace of the chosen row is still on its way. */
  get isBusy() {
    return this.pending !== null;
  }

  /**
   * Show the workspace of a row, after a pause in which a further choice takes its place: the choice is painted first,
   * since a workspace takes longer. Until it is there nothing of the former one can be read or signed.
   * @param {HTMLAnchorElement} row
   * @param {number} after
   * @param {Intent} intent
   * @returns {Promise<boolean>} whether it is on the screen, still as the last choice
   */
  async open(row, after, intent) {
    const { place } = this;
    const { pathname: path, href } = row;
    const opening = (this.openings += 1);
    if (place === null) {
      await pause(after);
      if (opening === this.openings) location.assign(href);
      return false;
    }
    const isNew = this.opened !== path;
    const meant = intent === 'look' && this.pending?.path === path ? this.pending.intent : intent;
    this.pending = { path, intent: meant };
    if (isNew) {
      this.opened = null;
      await painted();
      if (opening !== this.openings) return false;
      const ready = this.#preparedFor(path);
      if (ready === null) this.#veil(place, true);
      if (ready === null && after > 0) await pause(after);
      if (opening !== this.openings) return false;
      const nodes = ready ?? (await this.#read(path));
      if (opening !== this.openings) {
        this.#keep(path, nodes);
        return false;
      }
      place.scrollTop = 0; // before there is something new to lay out
      place.replaceChildren(nodes.childElementCount > 0 ? nodes : unread(path));
      this.opened = path;
    }
    this.#veil(place, false);
    this.pending = null;
    this.#note(row, meant);
    if (isNew) document.dispatchEvent(new CustomEvent('stack:opened'));
    return true;
  }

  /** Have a neighbour's workspace at hand, outside the page. @param {string} path */
  async prepare(path) {
    if (this.#isFresh(this.prepared.get(path))) return;
    this.#keep(path, await this.#read(path));
  }

  /** What is at hand of this stack is not as it is now. @param {string} path */
  forget(path) {
    this.prepared.delete(path);
  }

  /** @param {Event} event */
  #refuse(event) {
    if (!this.isBusy || !this.place?.contains(/** @type {Node} */ (event.target))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** @param {HTMLElement} place @param {boolean} isBusy */
  #veil(place, isBusy) {
    place.inert = isBusy;
    place.ariaBusy = `${isBusy}`;
  }

  /** The address is that of the chosen stack; Back leads to the queue. @param {HTMLAnchorElement} row @param {Intent} intent */
  #note(row, intent) {
    const pane = document.getElementById('queue-pane');
    if (intent !== 'look' && pane !== null && location.pathname !== row.pathname) {
      if (pane.dataset.stack === undefined) history.pushState(null, '', row.pathname);
      else history.replaceState(null, '', row.pathname);
      pane.dataset.stack = row.id.slice('stack-'.length);
      const name = row.querySelector('bdi') ?? this.place?.querySelector('.title bdi');
      document.title = `${(name?.textContent ?? '').slice(0, TITLE_LETTERS)} · Clearhold`;
    }
    const head = this.place?.querySelector('h1, h2');
    if (intent === 'enter' && head instanceof HTMLElement) {
      head.tabIndex = -1;
      head.focus({ preventScroll: true });
    }
  }

  /** Each is read into a place of its own, so that an answer that comes late replaces nothing. @param {string} path */
  async #read(path) {
    const place = document.createElement('section');
    place.id = `ahead-${(reads += 1)}`;
    place.hidden = true;
    document.body.append(place);
    const nodes = document.createDocumentFragment();
    try {
      await load(path, place);
      await import('./workspace.js');
      nodes.append(...place.childNodes);
    } catch {
      nodes.replaceChildren(); // The page offers to read it again.
    } finally {
      place.remove();
    }
    return nodes;
  }

  /** @param {string} path @param {DocumentFragment} nodes */
  #keep(path, nodes) {
    for (const [old, each] of this.prepared) if (!this.#isFresh(each)) this.prepared.delete(old);
    if (nodes.querySelector('.workspace') !== null) this.prepared.set(path, { nodes, at: Date.now() });
  }

  /** @param {string} path */
  #preparedFor(path) {
    const ready = this.prepared.get(path);
    this.prepared.delete(path);
    return ready !== undefined && this.#isFresh(ready) ? ready.nodes : null;
  }

  /** @param {Prepared | undefined} ready */
  #isFresh(ready) {
    return ready !== undefined && Date.now() - ready.at < PREPARED_FOR_MS;
  }
}

let reads = 0;

/** @param {string} path */
const unread = (path) => {
  const words = document.createElement('p');
  const again = document.createElement('a');
  words.className = 'refused';
  again.href = path;
  again.textContent = 'Read it again';
  words.append('This stack could not be read: there is no connection to the service. ', again);
  return words;
};
