"""How to sign an event in a shell, in Python and in Node: tests run each against the service."""

from collections.abc import Mapping
from typing import Final

_SHELL: Final = """\
# CLEARHOLD_URL, PROGRAM_ID and INGEST_SECRET are set; event.json holds the event.
SIGNATURE=$(openssl dgst -sha256 -hmac "$INGEST_SECRET" -r < event.json | cut -d ' ' -f 1)
curl -sS "$CLEARHOLD_URL/api/ingest/bank/$PROGRAM_ID" \\
  -H "Content-Type: application/json" -H "Bank-Signature: $SIGNATURE" --data-binary @event.json
"""
_PYTHON: Final = """\
import hashlib, hmac, os, urllib.request

body = open("event.json", "rb").read()
signature = hmac.new(os.environ["INGEST_SECRET"].encode(), body, hashlib.sha256).hexdigest()
request = urllib.request.Request(
    f"{os.environ['CLEARHOLD_URL']}/api/ingest/bank/{os.environ['PROGRAM_ID']}",
    data=body,
    headers={"Content-Type": "application/json", "Bank-Signature": signature},
)
print(urllib.request.urlopen(request).read().decode())
"""
_NODE: Final = """\
const { createHmac } = require("node:crypto");
const { readFileSync } = require("node:fs");

const { CLEARHOLD_URL, PROGRAM_ID, INGEST_SECRET } = process.env;
const body = readFileSync("event.json");
const signature = createHmac("sha256", INGEST_SECRET).update(body).digest("hex");
fetch(`${CLEARHOLD_URL}/api/ingest/bank/${PROGRAM_ID}`, {
  method: "POST",
  headers: { "Content-Type": "application/json", "Bank-Signature": signature },
  body,
})
  .then((answer) => answer.text())
  .then(console.log);
"""

SNIPPETS: Final[Mapping[str, tuple[str, str]]] = {
    "Shell": ("sh", _SHELL),
    "Python": ("python", _PYTHON),
    "Node": ("js", _NODE),
}
"""By title: the language, and the snippet."""
