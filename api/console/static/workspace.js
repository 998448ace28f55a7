// The workspace: how long the narrative is, the focus after a choice by key, signing by Ctrl+Enter, no sign offline.

const FORM = 'form[data-draft]';

function measured(text) {
  const words = text.split(/\s+/).filter(Boolean).length;
  const sentences = text.split(/(?<=[.!?])\s+|\n+/).filter((each) => each.trim()).length;
  return { words, sentences, letters: text.trim().length };
}

function count(field) {
  const line = document.getElementById('length');
  const place = line?.querySelector('[data-words]');
  if (!place) return;
  const { words, sentences, letters } = measured(field.value);
  const before = measured(field.defaultValue);
  const least = Number(line.dataset.least);
  const missing = Math.max(0, least - letters);
  const change = field.value === field.defaultValue ? '' : `, the draft had ${before.words}`;
  place.textContent =
    `${words} words, ${sentences} sentences${change}` + (missing ? `, ${missing} characters too short` : '');
  line.classList.toggle('short', missing > 0);
}

document.addEventListener('input', (event) => {
  if (event.target.id === 'narrative') count(event.target);
});

// A key chooses by a click that no person made; then the focus moves on into the narrative.
document.addEventListener('click', (event) => {
  const box = event.target;
  if (event.isTrusted || box.name !== 'decision' || !box.form?.matches(FORM)) return;
  const narrative = box.form.elements.namedItem('narrative');
  narrative.focus();
  narrative.setSelectionRange(narrative.value.length, narrative.value.length);
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  const form = document.querySelector(FORM);
  const sign = document.getElementById('sign');
  if (!form || !sign || sign.disabled || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  form.requestSubmit(sign);
});

document.addEventListener('submit', (event) => {
  if (event.submitter?.id !== 'sign') return;
  event.submitter.setAttribute('aria-busy', 'true');
  if (event.target.dataset.going) event.preventDefault();
  event.target.dataset.going = 'true';
});
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll(FORM)) delete form.dataset.going;
  document.getElementById('sign')?.removeAttribute('aria-busy');
});

function online() {
  const sign = document.getElementById('sign');
  if (sign) sign.disabled = !navigator.onLine;
}
addEventListener('online', online);
addEventListener('offline', online);
online();

function opened() {
  const narrative = document.getElementById('narrative');
  if (narrative) count(narrative);
  online();
}
document.addEventListener('stack:opened', opened);
opened();
