// Nothing typed is lost: choice, narrative and checked alerts of a stack stay in this browser until they are signed.
// They outlive a reload, a refusal, a lost connection and the end of the session; signing out clears them, and so does
// signing in under another name.

const PREFIX = 'clearhold.draft.';
const FORM = 'form[data-draft]';

/** @typedef {{narrative?: string, decision?: string, unchecked?: string[], attempt?: string}} Kept */

/** @param {HTMLFormElement} form */
const keyOf = (form) => `${PREFIX}${form.dataset.by}.${form.dataset.draft}`;

/** @param {string} key @returns {Kept | null} */
const stored = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
};

/** @param {string} key @param {Kept} value */
const keep = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The store is full or closed: the form itself still has the text.
  }
};

/** @param {(key: string) => boolean} isWanted */
const forget = (isWanted) => {
  const keys = Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at));
  for (const key of keys) if (key?.startsWith(PREFIX) && isWanted(key)) localStorage.removeItem(key);
};

/** What was kept of a form that is on the record now. @param {HTMLFormElement} form */
export const forgetDraft = (form) => {
  if (form.matches(FORM)) forget((key) => key === keyOf(form));
};

/** @param {HTMLFormElement} form */
const narrativeOf = (form) => /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('narrative'));

/** The value of a field, of a choice that of the chosen one. @param {HTMLFormElement} form @param {string} name */
const valueOf = (form, name) => {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof RadioNodeList ? field.value : '';
};

/** @param {HTMLFormElement} form */
const inputsOf = (form) => [...form.elements].filter((each) => each instanceof HTMLInputElement);

/** @param {HTMLFormElement} form */
const save = (form) => {
  const narrative = narrativeOf(form);
  const decision = valueOf(form, 'decision');
  if (narrative.value === narrative.defaultValue && decision === '' && stored(keyOf(form)) === null) return;
  const boxes = inputsOf(form).filter((each) => each.name === 'alertIds' && !each.checked);
  keep(keyOf(form), {
    narrative: narrative.value,
    decision,
    unchecked: boxes.map((each) => each.value),
    attempt: valueOf(form, 'attempt'),
  });
};

/** @param {HTMLFormElement} form */
const restore = (form) => {
  const draft = stored(keyOf(form));
  if (draft === null || form.dataset.sent) return;
  const narrative = narrativeOf(form);
  if (typeof draft.narrative === 'string') narrative.value = draft.narrative;
  for (const each of inputsOf(form)) {
    if (each.name === 'decision' && each.value === draft.decision && !each.disabled) each.checked = true;
    if (each.name === 'alertIds' && draft.unchecked?.includes(each.value)) each.checked = false;
    if (each.name === 'attempt' && draft.attempt) each.value = draft.attempt;
  }
  narrative.dispatchEvent(new Event('input', { bubbles: true }));
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
