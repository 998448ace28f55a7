// Letters pressed before the modules of the page are ready: keys.js takes them and acts on them then.
(() => {
  /** @type {string[]} */
  const letters = [];
  /** @param {KeyboardEvent} event */
  const note = (event) => {
    const isField = event.target instanceof Element && event.target.matches('input, textarea, select');
    if (isField || event.ctrlKey || event.metaKey || event.altKey || event.key.length > 1) return;
    letters.push(event.key);
  };
  addEventListener('keydown', note);
  Object.assign(window, {
    earlyKeys: {
      take: () => {
        removeEventListener('keydown', note);
        return letters.splice(0);
      },
    },
  });
})();
