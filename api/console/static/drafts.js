// Nothing typed is lost: the fields of a form with a draft stay in this browser until they are on the record.
// They outlive a reload, a refusal, a lost connection and the end of the session; signing out clears them, and so does
// signing in under another name.

const PREFIX = 'clearhold.draft.';
const FORM = 'form[data-draft], form[data-keep]';

/** By name the text of a field, by name and value whether it is chosen. @typedef {Record<string, string | boolean>} Kept */

/** Where the fields of a form are kept; '' for a form without a draft. @param {HTMLFormElement} form */
export const draftOf = ({ dataset: { draft, keep, by } }) => (draft || keep ? `${PREFIX}${by}.${draft ?? keep}` : '');

/** @param {string} key @returns {Kept | null} */
const stored = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
};

/** @param {(key: string) => boolean} isWanted */
const forget = (isWanted) => {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX) && isWanted(key)) localStorage.removeItem(key);
};

/** What was kept of a form that is on the record now. @param {string} key */
export const forgetDraft = (key) => localStorage.removeItem(key);

/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Field */

/** Fields of a person, and the attempt, which makes sending them again the same write. @param {HTMLFormElement} form */
const fieldsOf = (form) =>
  /** @type {Field[]} */ ([...form.elements]).filter(
    ({ name, type }) => name === 'attempt' || (name && type !== 'hidden' && type !== 'submit'),
  );

/** @param {Field} field @returns {field is HTMLInputElement} */
const isChoice = (field) => field.type === 'radio' || field.type === 'checkbox';

/** @param {Field} field */
const nameOf = (field) => (isChoice(field) ? `${field.name}=${field.value}` : field.name);

/** @param {Field} field */
const valueOf = (field) => (isChoice(field) ? field.checked : field.value);

/** Whether a person has changed a field. @param {Field} field */
const isChanged = (field) => {
  if (isChoice(field)) return field.checked !== field.defaultChecked;
  return 'defaultValue' in field && field.type !== 'hidden' && field.value !== field.defaultValue;
};

/** @param {HTMLFormElement} form */
const save = (form) => {
  const key = draftOf(form);
  const fields = fieldsOf(form);
  if (stored(key) === null && !fields.some(isChanged)) return;
  try {
    localStorage.setItem(key, JSON.stringify(Object.fromEntries(fields.map((each) => [nameOf(each), valueOf(each)]))));
  } catch {
    // The store is full or closed: the form itself still has the text.
  }
};

/** A field that the draft does not have, as that of an alert that came later, stays as it is. @param {HTMLFormElement} form */
const restore = (form) => {
  const draft = stored(draftOf(form));
  if (draft === null || form.dataset.sent) return;
  for (const field of fieldsOf(form)) {
    const kept = draft[nameOf(field)];
    if (field.disabled || kept === undefined) continue;
    if (typeof kept === 'string') field.value = kept;
    else if (isChoice(field)) field.checked = kept;
    if (field instanceof HTMLTextAreaElement) field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  form.hidden = false;
  form.closest('details')?.setAttribute('open', '');
};

export const startDrafts = () => {
  const signed = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-signed]'));
  for (const { dataset } of signed) forget((key) => key.endsWith(`.${dataset.signed}`));
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll(FORM))) {
    forget((key) => !key.startsWith(`${PREFIX}${form.dataset.by}.`));
    restore(form);
    save(form);
  }
};

/** @param {Event} event */
const onChange = ({ target }) => {
  const form = target instanceof Element ? /** @type {{form?: HTMLFormElement | null}} */ (target).form : null;
  if (form?.matches(FORM)) save(form);
};
document.addEventListener('input', onChange);
document.addEventListener('change', onChange);
document.addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement)) return;
  if (target.matches(FORM)) save(target);
  if (target.getAttribute('action') === '/console/sign-out') forget(() => true);
});
startDrafts();
