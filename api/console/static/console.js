// The console's own script. Its modules make no HTML from strings: only htmx does, from the server's answers.
import { startDrafts } from './drafts.js';
import { startKeys } from './keys.js';
import { startLive } from './live.js';
import { startQueue } from './queue.js';
import { startSending } from './sending.js';
import './session.js';

document.addEventListener('stack:opened', () => startDrafts());
if (document.querySelector('form[data-draft]')) await import('./workspace.js'); // before keys choose in it
const queue = startQueue();
startKeys(queue);
startLive(queue);
startSending(queue);
const hasSecret = document.querySelector('[data-secret]') !== null || location.pathname.startsWith('/console/settings');
if (hasSecret) void import('./secrets.js');
if (document.querySelector('form[data-passkey]')) void import('./passkeys.js');
if (document.querySelector('[data-changes]')) void import('./amounts.js');
