// Keys of the console. A letter moves, opens or chooses; it never signs. None acts in a field or while a dialog is open.

/** @typedef {import('./queue.js').Queue} Queue */

export const SWITCH = 'clearhold-keys';
const GO_WITHIN_MS = 1500;
const OF_WORKSPACE = /^[hecrndwvx[\]1-7]$/;
const CHOICES = /^[hecrn]$/;
const FIELDS = 'input:not([type=radio], [type=checkbox], [type=button], [type=submit]), textarea, select, [contenteditable]';

/** Whether single letters act: kept by a cookie, which signing out leaves. */
export const areOn = () => !document.cookie.split('; ').includes(`${SWITCH}=off`);

/** @param {string} selector @returns {HTMLElement[]} */
const visible = (selector) =>
  /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]).filter((each) =>
    each.checkVisibility({ visibilityProperty: true }),
  );

/** Letters that were pressed on this page before its scripts were ready: `early.js` has them. @returns {string[]} */
const early = () => /** @type {any} */ (window).earlyKeys?.take() ?? [];

/** @param {Queue} queue */
export const startKeys = (queue) => {
  let goUntil = 0;
  /** @type {{key: string, row: string | null}[]} */
  let held = []; // pressed before the workspace of the chosen row was there

  /** @type {Record<string, () => void>} */
  const acts = {
    j: () => queue.ready.then(() => queue.move(1)),
    ArrowDown: () => queue.move(1),
    k: () => queue.ready.then(() => queue.move(-1)),
    ArrowUp: () => queue.move(-1),
    o: () => queue.ready.then(() => queue.enter()),
    u: () => queue.back(),
    '/': () => document.getElementById('search')?.focus(),
    '?': () => open('/console/keys', 'keys-sheet'),
  };

  /** @param {string} letter */
  const goTo = (letter) => visible(`header nav [data-key="${CSS.escape(letter)}"]`)[0]?.click();

  /** @param {number} number */
  const toSection = (number) => {
    const sections = [...document.querySelectorAll('.evidence section, [data-section]')];
    const head = sections[number - 1]?.querySelector('h2, h3');
    if (!(head instanceof HTMLElement)) return false;
    head.tabIndex = -1;
    head.scrollIntoView({ block: 'start' });
    head.focus({ preventScroll: true });
    return true;
  };

  /** A button, link or choice on the page that shows this key. @param {string} letter */
  const press = (letter) => {
    const all = visible(`:is(main, #sending) [data-key="${CSS.escape(letter)}"]`);
    const isNear = (/** @type {HTMLElement} */ each) => each.closest('li')?.contains(document.activeElement);
    const element = all.find(isNear) ?? all.find((each) => each.matches(':checked')) ?? all[0];
    if (element === undefined) return false;
    element.click();
    if (element.matches('[type=checkbox]')) element.focus();
    return true;
  };

  /** @param {string} key */
  const onLetter = (key) => {
    if (Date.now() < goUntil) {
      goUntil = 0;
      goTo(key);
      return true;
    }
    if (key === 'g') {
      goUntil = Date.now() + GO_WITHIN_MS;
      return true;
    }
    if (queue.preview.isBusy && OF_WORKSPACE.test(key)) {
      held.push({ key, row: queue.chosen });
      return true;
    }
    const isArrow = key.startsWith('Arrow');
    const inList = queue.pane?.contains(document.activeElement) || document.activeElement === document.body;
    if (isArrow && (!inList || queue.list === null)) return false;
    if (press(key)) return true;
    const act = acts[key];
    if (act !== undefined) {
      act();
      return true;
    }
    return /^[1-7]$/.test(key) && toSection(Number(key));
  };

  document.addEventListener('keydown', (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.isComposing || event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      open('/console/commands', 'commands');
      return;
    }
    if (isCommand || event.altKey) return;
    if (event.key === 'Escape') {
      if (target.matches(FIELDS) && target instanceof HTMLElement) target.blur();
      queue.back();
      return;
    }
    if (target.matches(FIELDS) || !areOn()) return;
    if (onLetter(event.key)) event.preventDefault();
  });

  /** A choice moves the focus into the narrative: letters after it were no keys. @param {string[]} letters */
  const replay = (letters) => {
    const choice = letters.findIndex((each) => CHOICES.test(each));
    for (const each of choice === -1 ? letters : letters.slice(0, choice + 1)) onLetter(each);
  };
  document.addEventListener('stack:opened', () => {
    const letters = held.filter(({ row }) => row === queue.chosen).map(({ key }) => key);
    held = [];
    replay(letters);
  });

  /** Keys or commands in a dialog, whose module comes when it is asked for. @param {string} address @param {string} id */
  const open = async (address, id) => {
    const { open: show } = await import('./dialogs.js');
    await show(address, id, (letter) => press(letter) || acts[letter]?.());
  };

  document.addEventListener('click', (event) => {
    const target = /** @type {Element} */ (event.target);
    const button = target.closest('.foot [data-press]');
    if (button instanceof HTMLElement) onLetter(button.dataset.press ?? '');
    const opener = target.closest('[data-opens]');
    if (!(opener instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open(opener.pathname, opener.dataset.opens ?? '');
  });
  if (document.getElementById('single-keys')) void import('./dialogs.js').then(({ wire }) => wire(document));
  if (areOn()) replay(early());
};
