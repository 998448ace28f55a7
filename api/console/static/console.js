// The console's own script. Its modules make no HTML from strings: only htmx does, from the server's answers.
import { startDrafts } from './drafts.js';
import { startKeys } from './keys.js';
import { startLive } from './live.js';
import { startQueue } from './queue.js';
import { startSending } from './sending.js';
import './secrets.js';
import './session.js';
import './workspace.js';

document.addEventListener('stack:opened', () => startDrafts());
const queue = startQueue();
startKeys(queue);
startLive(queue);
startSending(queue);
if (document.querySelector('form[data-passkey]')) void import('./passkeys.js');
if (document.querySelector('[data-changes]')) void import('./amounts.js');
