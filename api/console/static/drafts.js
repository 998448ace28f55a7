// Nothing typed is lost: choice, narrative and checked alerts of a stack stay in this browser until they are signed.
// They outlive a reload, a refusal, a lost connection and the end of the session; signing out clears them, and so does
// signing in under another name.

const PREFIX = 'clearhold.draft.';
const FORM = 'form[data-draft]';

const keyOf = (form) => `${PREFIX}${form.dataset.by}.${form.dataset.draft}`;

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The store is full or closed: the form itself still has the text.
  }
}

function forget(isWanted) {
  const keys = Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at));
  for (const key of keys) if (key?.startsWith(PREFIX) && isWanted(key)) localStorage.removeItem(key);
}

function save(form) {
  const narrative = form.elements.namedItem('narrative');
  const isUntouched = narrative.value === narrative.defaultValue && !form.elements.namedItem('decision')?.value;
  if (isUntouched && !stored(keyOf(form))) return;
  const boxes = [...form.elements].filter((each) => each.name === 'alertIds');
  keep(keyOf(form), {
    narrative: narrative.value,
    decision: form.elements.namedItem('decision')?.value ?? '',
    unchecked: boxes.filter((each) => !each.checked).map((each) => each.value),
    attempt: form.elements.namedItem('attempt')?.value ?? '',
  });
}

function restore(form) {
  const draft = stored(keyOf(form));
  if (!draft || form.dataset.sent) return;
  const narrative = form.elements.namedItem('narrative');
  if (typeof draft.narrative === 'string') narrative.value = draft.narrative;
  for (const each of form.elements) {
    if (each.name === 'decision' && each.value === draft.decision && !each.disabled) each.checked = true;
    if (each.name === 'alertIds' && draft.unchecked?.includes(each.value)) each.checked = false;
    if (each.name === 'attempt' && draft.attempt) each.value = draft.attempt;
  }
  narrative.dispatchEvent(new Event('input', { bubbles: true }));
}

export function startDrafts(root = document) {
  const signed = root.querySelectorAll('[data-signed]');
  for (const each of signed) forget((key) => key.endsWith(`.${each.dataset.signed}`));
  for (const form of root.querySelectorAll(FORM)) {
    forget((key) => !key.startsWith(`${PREFIX}${form.dataset.by}.`));
    restore(form);
    save(form);
  }
}

document.addEventListener('input', (event) => {
  const form = event.target.form;
  if (form?.matches(FORM)) save(form);
});
document.addEventListener('change', (event) => {
  const form = event.target.form;
  if (form?.matches(FORM)) save(form);
});
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.matches(FORM)) save(form);
  if (form.getAttribute('action') === '/console/sign-out') forget(() => true);
});
startDrafts();
