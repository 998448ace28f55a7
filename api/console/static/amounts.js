// A slider that changes the amount of the form beside it.

document.addEventListener('input', ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return;
  const field = document.getElementById(target.dataset.changes ?? '');
  if (field instanceof HTMLInputElement) field.value = target.value;
});
