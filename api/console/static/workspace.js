// The workspace: how long the narrative is, the focus after a choice by key, signing by Ctrl+Enter, no sign offline.

const FORM = 'form[data-draft]';

/** @returns {HTMLButtonElement | null} */
const signButton = () => document.querySelector('button#sign');

/** @returns {HTMLTextAreaElement | null} */
const narrativeField = () => document.querySelector('textarea#narrative');

/** @param {string} text */
const measured = (text) => {
  const words = text.split(/\s+/).filter(Boolean).length;
  const sentences = text.split(/(?<=[.!?])\s+|\n+/).filter((each) => each.trim()).length;
  return { words, sentences, letters: text.trim().length };
};

/** @param {HTMLTextAreaElement} field */
const count = (field) => {
  const line = document.getElementById('length');
  const place = line?.querySelector('[data-words]');
  if (!line || !place) return;
  const { words, sentences, letters } = measured(field.value);
  const before = measured(field.defaultValue);
  const missing = Math.max(0, Number(line.dataset.least) - letters);
  const change = field.value === field.defaultValue ? '' : `, the draft had ${before.words}`;
  const short = missing > 0 ? `, ${missing} characters too short` : '';
  place.textContent = `${words} words, ${sentences} sentences${change}${short}`;
  line.classList.toggle('short', missing > 0);
};

document.addEventListener('input', ({ target }) => {
  if (target instanceof HTMLTextAreaElement && target.id === 'narrative') count(target);
});

/** The narrative and the signature are described by what is chosen. */
const describe = () => {
  const words = document.querySelector(`${FORM} .choice:has(:checked) .words`)?.textContent;
  document.getElementById('chosen')?.replaceChildren(words ?? '');
};

// A key chooses by a click that no person made; then the focus moves on into the narrative.
document.addEventListener('click', ({ isTrusted, target }) => {
  if (!(target instanceof HTMLInputElement) || target.name !== 'decision') return;
  describe();
  if (isTrusted) return;
  const narrative = target.form?.matches(FORM) ? narrativeField() : null;
  if (narrative === null || target.disabled) return;
  narrative.focus();
  narrative.setSelectionRange(narrative.value.length, narrative.value.length);
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  const sign = signButton();
  if (!sign?.form || sign.disabled || sign.closest('[inert]') || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  sign.form.requestSubmit(sign);
});

let isAway = false; // the service, by the live line

const online = () => {
  const sign = signButton();
  const words = document.getElementById('sign-off');
  const isOff = isAway || !navigator.onLine;
  if (sign !== null) sign.disabled = isOff;
  if (words !== null) words.hidden = !isOff;
};
addEventListener('online', online);
addEventListener('offline', online);
for (const kind of ['service:away', 'service:back']) {
  document.addEventListener(kind, () => {
    isAway = kind === 'service:away';
    online();
  });
}

const opened = () => {
  const narrative = narrativeField();
  if (narrative !== null) count(narrative);
  describe();
  online();
};
document.addEventListener('stack:opened', opened);
opened();
