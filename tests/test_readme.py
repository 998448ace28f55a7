"""The blocks of the README are what somebody runs first: as they stand there, on a machine that has nothing running."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.running_service import free_port

README: Final = Path("README.md")
COMMAND: Final = ".venv/bin/clearhold"
ADDRESS: Final = "127.0.0.1:8080"
WITHIN_S: Final = 60
# Between the first two blocks a reader waits for the ready line; after the last one the service is stopped.
WAITING: Final = (
    'until curl -sS --fail -o /dev/null "http://{address}/readyz"; do kill -0 $! || exit 1; sleep 0.1; done'
)
STOPPING: Final = 'kill $! && wait $!; echo "ended with $?"'


def test_given_the_blocks_of_the_readme_when_run_in_their_order_then_a_transfer_is_scored(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    blocks = re.findall(r"^```\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    first, *others = [block for block in blocks if COMMAND in block or "call " in block]
    service = f"{Path(sys.executable).with_name('clearhold')}"
    script = "\n".join([first, WAITING.format(address=address), *others, STOPPING])
    script = script.replace("serve --data", f"serve --port {address.rpartition(':')[2]} --metrics-port 0 --data")
    script = script.replace(ADDRESS, address).replace(COMMAND, service).replace("until ", "set -euo pipefail; until ")
    with subprocess.Popen(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as reader:
        try:
            said, _ = reader.communicate(timeout=WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(reader.pid, signal.SIGKILL)
            raise

    assert said.rstrip().endswith("ended with 0"), said
    assert '"score": 100' in said
    assert '"score": 58' in said
    assert '"decision": "hold"' in said
    assert '"detector": "high_risk_geography"' in said
