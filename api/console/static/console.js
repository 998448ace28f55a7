// The console's own script: keys. It makes no HTML from strings.
import './workspace.js';
import './drafts.js';
import './session.js';
