"""The shell blocks of the documents, run as they stand, on a machine that has nothing running."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.running_service import free_port

README: Final = Path("README.md")

_COMMAND: Final = ".venv/bin/clearhold"
_ADDRESS: Final = "127.0.0.1:8080"
_WITHIN_S: Final = 60
# Between the first two blocks a reader waits for the ready line; after the last one the service is stopped.
_WAITING: Final = (
    'until curl -sS --fail -o /dev/null "http://{address}/readyz"; do kill -0 $! || exit 1; sleep 0.1; done'
)
_STOPPING: Final = 'kill $! && wait $!; echo "ended with $?"'
_BLOCK: Final = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks_of(page: Path, *words: str) -> list[str]:
    """Its blocks in which one of the words occurs."""
    blocks: list[str] = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [block for block in blocks if any(word in block for word in words)]


def readme_blocks() -> list[str]:
    """Those that start a service, make a bank and a program in it, and go on from there."""
    return blocks_of(README, _COMMAND, "call ")


def output_of(blocks: list[str], folder: Path) -> str:
    """What the blocks write, run in their order; the first one starts the service."""
    address = f"127.0.0.1:{free_port()}"
    first, *others = blocks
    service = f"{Path(sys.executable).with_name('clearhold')}"
    script = "\n".join([first, _WAITING.format(address=address), *others, _STOPPING])
    script = script.replace("serve --data", f"serve --port {address.rpartition(':')[2]} --metrics-port 0 --data")
    script = script.replace(_ADDRESS, address).replace(_COMMAND, service).replace("until ", "set -euo pipefail; until ")
    with subprocess.Popen(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
        start_new_session=True,
    ) as reader:
        try:
            output, _ = reader.communicate(timeout=_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(reader.pid, signal.SIGKILL)
            raise
    assert output.rstrip().endswith("ended with 0"), output
    return output
