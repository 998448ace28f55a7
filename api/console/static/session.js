// Warns two minutes before the session's end, and lets one key extend it. What the page holds stays as it is.
import { UNATTENDED } from './parts.js';

const WARN_S = 120;
const LOOK_MS = 5000;

/** @type {HTMLDialogElement | null} */
const dialog = document.querySelector('dialog#session-end');
const title = document.getElementById('session-end-title');
const words = document.getElementById('session-end-words');
const stay = document.getElementById('session-stay');
const again = document.getElementById('session-again');

let endsAt = 0;
let more = 0;
let asking = false;

/** @param {number} left @param {number} further @param {number} [from] */
function note(left, further, from = Date.now()) {
  endsAt = from + left * 1000;
  more = further;
}

function secondsLeft() {
  return Math.max(0, Math.round((endsAt - Date.now()) / 1000));
}

/** Ask the server, which knows of requests of other tabs. @param {boolean} attended */
async function ask(attended) {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch('/console/session', { headers: attended ? {} : UNATTENDED, redirect: 'manual' });
    if (answer.ok) note(Number(answer.headers.get('Session-Left')), Number(answer.headers.get('Session-More')));
    else if (answer.type === 'opaqueredirect' || answer.status === 401) note(0, 0);
  } catch {
    // No connection: the page says so elsewhere, and the next look asks again.
  } finally {
    asking = false;
  }
}

function show() {
  if (!dialog || !title || !words || !stay || !again) return;
  const left = secondsLeft();
  if (left > WARN_S) {
    if (dialog.open) dialog.close();
    return;
  }
  const ended = left === 0;
  const at = new Date(endsAt).toISOString().slice(11, 16);
  title.textContent = ended ? 'Your session has ended' : 'Your session ends soon';
  words.textContent = ended
    ? 'Sign in again as the same name to go on here. What you typed is kept.'
    : more > 0
      ? `It ends at ${at} UTC without a further key. Press Enter to stay signed in.`
      : `It ends at ${at} UTC, twelve hours after you signed in. Sign in again then to go on; what you typed is kept.`;
  stay.hidden = ended || more === 0;
  again.hidden = !ended;
  again.setAttribute('href', `/console/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  if (!dialog.open) dialog.showModal();
}

async function look() {
  if (secondsLeft() > WARN_S) return show();
  if (!(dialog && dialog.open && secondsLeft() === 0)) await ask(false);
  show();
}

if (dialog && stay) {
  note(Number(dialog.dataset.left), Number(dialog.dataset.more), performance.timeOrigin);
  stay.addEventListener('click', async () => {
    await ask(true);
    show();
  });
  setInterval(look, LOOK_MS);
  document.addEventListener('visibilitychange', look);
  look();
}
