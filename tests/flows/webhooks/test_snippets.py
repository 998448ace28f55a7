"""The snippets of docs/webhooks.md, each run as it is printed, over a delivery signed as real ones are."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from clearhold.features.webhooks.delivery import delivery_headers, secret_of
from clearhold.features.webhooks.payloads import EventType

PAGE: Final = (Path(__file__).parents[3] / "docs" / "webhooks.md").read_text(encoding="utf-8")
SNIPPETS: Final = dict(re.findall(r"^```(python|js|sh)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
RUNNERS: Final = {"sh": ["sh"], "python": [sys.executable], "js": ["node"]}
NEEDED: Final = {"sh": ("sh", "openssl"), "python": (), "js": ("node",)}
OLD, NEW = secret_of(b"a" * 32), secret_of(b"b" * 32)
BODY: Final = '{"id":"8f14e45f","data":{"detector":"velocity_spike"},"text":"Müller\\n"}'.encode()


def is_taken(language: str, folder: Path, body: bytes, signature: str, secret: str) -> bool:
    lacking = [each for each in NEEDED[language] if shutil.which(each) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not on PATH: the snippet cannot be run on this machine")
    script = folder / "snippet"
    script.write_text(SNIPPETS[language], encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "SCORE_SIGNATURE": signature, "WEBHOOK_SECRET": secret}
    done = subprocess.run(
        [*RUNNERS[language], str(script)], input=body, env=environment, capture_output=True, timeout=60, check=False
    )
    assert not done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("language", RUNNERS)
def test_given_a_snippet_when_run_as_printed_then_it_takes_what_was_signed_and_nothing_else(
    tmp_path: Path, language: str
) -> None:
    def signature(*secrets: str, age_s: int = 0) -> str:
        at = (int(time.time()) - age_s) * 1_000_000
        return delivery_headers(BODY, event=EventType.PING, event_id="e", delivery_id="d", secrets=secrets, at=at)[
            "Score-Signature"
        ]

    assert is_taken(language, tmp_path, BODY, signature(NEW), NEW)
    assert is_taken(language, tmp_path, BODY, signature(NEW, OLD), OLD)
    assert not is_taken(language, tmp_path, BODY, signature(NEW), OLD)
    assert not is_taken(language, tmp_path, BODY + b" ", signature(NEW), NEW)
    assert not is_taken(language, tmp_path, BODY, signature(NEW, age_s=400), NEW)
