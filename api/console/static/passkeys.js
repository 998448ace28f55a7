// Ceremonies with passkeys: the server's options to the browser, the authenticator's answer into a form.

const FAILED = 'This did not work. Try again.';
const UNSUPPORTED = 'This browser has no passkeys, or the connection is not secure.';

/** @param {string} text base64url */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));

/** @param {ArrayBuffer | null} buffer */
const textOf = (buffer) =>
  buffer === null
    ? null
    : btoa(String.fromCharCode(...new Uint8Array(buffer)))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '');

/** @param {any} credential */
const sentOf = ({ id, rawId, type, response }) => ({
  id,
  rawId: textOf(rawId),
  type,
  response: {
    clientDataJSON: textOf(response.clientDataJSON),
    ...(response.attestationObject
      ? { attestationObject: textOf(response.attestationObject) }
      : {
          authenticatorData: textOf(response.authenticatorData),
          signature: textOf(response.signature),
          userHandle: textOf(response.userHandle),
        }),
  },
});

class Refused extends Error {}

class Ceremony {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.refusal = /** @type {HTMLElement} */ (form.querySelector('.refusal'));
    this.name = /** @type {HTMLElement} */ (form.querySelector('.passkey-name'));
    this.button = /** @type {HTMLButtonElement} */ (form.querySelector('button'));
  }

  get creates() {
    return this.form.dataset.passkey === 'create';
  }

  start() {
    const origin = this.form.dataset.origin ?? '';
    this.form.hidden = false;
    if (location.origin !== origin) return this.lead(origin);
    if (!window.PublicKeyCredential) return this.refuse(UNSUPPORTED, true);
    this.form.addEventListener('submit', (event) => this.submit(event));
    if (this.creates) void this.invited();
  }

  /** Passkeys belong to one origin, so a page at another address of the service leads there. @param {string} origin */
  lead(origin) {
    const link = document.createElement('a');
    link.href = origin + location.pathname + location.search + location.hash;
    link.textContent = `Passkeys are at ${origin}`;
    this.button.replaceWith(link);
  }

  async invited() {
    try {
      const { name } = await this.ask();
      this.name.textContent = `This link is for ${name}.`;
    } catch (error) {
      this.refuse(sentenceOf(error), true);
    }
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    this.button.disabled = true;
    this.refusal.hidden = true;
    try {
      const { options } = await this.ask();
      const credential = this.creates ? await created(options) : await used(options);
      this.field('credential').value = JSON.stringify(sentOf(credential));
      this.form.submit();
    } catch (error) {
      this.refuse(sentenceOf(error));
      this.button.disabled = false;
    }
  }

  async ask() {
    const fields = new URLSearchParams();
    if (this.creates) {
      this.field('code').value = location.hash.slice(1);
      fields.set('code', location.hash.slice(1));
    }
    const answer = await fetch(this.form.dataset.options ?? '', { method: 'POST', body: fields });
    const content = await answer.json();
    if (!answer.ok) throw new Refused(content.refusal);
    return content;
  }

  /** @param {string} name @returns {HTMLInputElement} */
  field(name) {
    return /** @type {HTMLInputElement} */ (this.form.elements.namedItem(name));
  }

  /** @param {string} sentence @param {boolean} [ends] */
  refuse(sentence, ends = false) {
    this.refusal.textContent = sentence;
    this.refusal.hidden = false;
    this.button.hidden = ends;
  }
}

/** @param {any} options */
const created = (options) =>
  navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: (options.excludeCredentials ?? []).map((/** @type {any} */ each) => ({
        ...each,
        id: bytesOf(each.id),
      })),
    },
  });

/** @param {any} options */
const used = (options) =>
  navigator.credentials.get({
    publicKey: { ...options, challenge: bytesOf(options.challenge), allowCredentials: [] },
  });

/** @param {unknown} error */
function sentenceOf(error) {
  if (error instanceof Refused && error.message) return error.message;
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'InvalidStateError') return 'This device has a passkey of yours already. Sign in with it.';
  if (name === 'NotAllowedError') return 'No passkey was used: it was cancelled, or took too long. Try again.';
  return FAILED;
}

// Another invitation in the same tab changes only the fragment: the page would still name the former one's person.
if (document.querySelector('form[data-passkey=create]')) addEventListener('hashchange', () => location.reload());
for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (form instanceof HTMLFormElement) new Ceremony(form).start();
}
