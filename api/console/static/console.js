// The console's own script. Its modules make no HTML from strings: only htmx does, from the server's answers.
import { startDrafts } from './drafts.js';
import { startKeys } from './keys.js';
import { startLive } from './live.js';
import { startQueue } from './queue.js';
import { startSending } from './sending.js';

document.addEventListener('stack:opened', () => startDrafts());
if (document.querySelector('form[data-draft]')) await import('./workspace.js'); // before keys choose in it
const queue = startQueue();
startKeys(queue);
startLive(queue);
startSending(queue);

// The warning before the session's end comes with its module, a minute before it is due; a tab may have slept till then.
const left = Number(document.getElementById('session-end')?.dataset.left ?? Infinity);
const onTime = () => {
  if (document.hidden || (Date.now() - performance.timeOrigin) / 1000 < left - 180) return;
  clearInterval(looking);
  void import('./session.js');
};
const looking = setInterval(onTime, 5000);
document.addEventListener('visibilitychange', onTime);
onTime();

const hasSecret = document.querySelector('[data-secret]') !== null || location.pathname.startsWith('/console/settings');
if (hasSecret) void import('./secrets.js');
if (document.querySelector('form[data-passkey]')) void import('./passkeys.js');
if (document.querySelector('[data-changes]')) void import('./amounts.js');
