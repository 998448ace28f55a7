// Dialogs with a page of the console inside: the sheet of keys, and the commands with their filter.
import { SWITCH, areOn } from './keys.js';
import { load } from './parts.js';

/**
 * Show a page in a dialog. The focus goes back to where it was; a command of a key is ``done`` after the dialog closed.
 * @param {string} address
 * @param {string} id
 * @param {(letter: string) => unknown} done
 */
export const open = async (address, id, done) => {
  if (document.getElementById(id) !== null) return;
  const dialog = document.createElement('dialog');
  dialog.id = id;
  dialog.className = id === 'commands' ? 'commands' : 'sheet';
  dialog.ariaLabel = id === 'commands' ? 'Commands' : 'Keys';
  const before = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  dialog.addEventListener('click', (event) => {
    const within = /** @type {Element} */ (event.target);
    const command = within.closest('[data-press]');
    if (within === dialog || within.closest('[data-close]') || command) dialog.close();
    if (command instanceof HTMLElement) done(command.dataset.press ?? '');
  });
  document.body.append(dialog);
  dialog.ariaBusy = 'true';
  dialog.showModal();
  await load(address, dialog);
  dialog.ariaBusy = 'false';
  const field = dialog.querySelector('input, button, a');
  if (field instanceof HTMLElement) field.focus();
  wire(dialog);
};

/** The filter of the commands, and the switch of the keys. @param {ParentNode} within */
export const wire = (within) => {
  const filter = within.querySelector('#command');
  const onOff = within.querySelector('#single-keys');
  if (filter instanceof HTMLInputElement) wireFilter(within, filter);
  if (!(onOff instanceof HTMLInputElement)) return;
  onOff.checked = areOn();
  onOff.disabled = false;
  onOff.addEventListener('change', () => {
    const value = onOff.checked ? 'on' : 'off';
    document.cookie = `${SWITCH}=${value}; Path=/console; SameSite=Strict; Max-Age=31536000`;
  });
};

/** @param {ParentNode} within @param {HTMLInputElement} filter */
const wireFilter = (within, filter) => {
  const items = /** @type {HTMLElement[]} */ ([...within.querySelectorAll('.commands li')]);
  const told = within.querySelector('[role=status]');
  const left = () => items.filter((item) => !item.hidden);
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const item of items) {
      const text = item.textContent?.toLowerCase() ?? '';
      item.hidden = !words.every((word) => text.includes(word));
    }
    const { length } = left();
    if (told !== null) told.textContent = `${length} ${length === 1 ? 'command' : 'commands'}`;
  });
  within.addEventListener('keydown', (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event);
    const links = left().map((item) => /** @type {HTMLElement} */ (item.firstElementChild));
    const at = links.findIndex((link) => link === document.activeElement);
    if (key === 'ArrowDown') links[at + 1]?.focus();
    else if (key === 'ArrowUp') (links[at - 1] ?? filter).focus();
    else if (key === 'Enter' && at === -1) links[0]?.click();
    else return;
    event.preventDefault();
  });
};
