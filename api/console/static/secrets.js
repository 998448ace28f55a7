// A secret that a page has once: a button copies it, and it is taken off the page when the page is left, so that the
// browser's way back does not bring it.

/** @returns {NodeListOf<HTMLInputElement>} */
const secrets = () => document.querySelectorAll('input[data-secret]');

addEventListener('pagehide', () => {
  for (const each of secrets()) {
    each.value = '';
    each.removeAttribute('value');
  }
});

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('button[data-copies]') : null;
  if (!(button instanceof HTMLButtonElement)) return;
  const field = document.getElementById(button.dataset.copies ?? '');
  if (!(field instanceof HTMLInputElement)) return;
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Press Ctrl+C';
  }
});
