"""The signing snippets of the page, each run as it is printed, against a service that verifies what comes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from docs.pages.signing_snippets import SNIPPETS
from tests.support import bank_events as bank
from tests.support.fake_service import PROGRAM, SECRET, FakeService, fake_service

RUNNERS: Final = {"sh": ["sh", "-e"], "python": [sys.executable], "js": ["node"]}
NEEDED: Final = {"sh": ("sh", "openssl", "curl"), "python": (), "js": ("node",)}
WITHIN_S: Final = 60


def run(
    language: str, snippet: str, folder: Path, service: FakeService, secret: str
) -> subprocess.CompletedProcess[str]:
    lacking = [each for each in NEEDED[language] if shutil.which(each) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not on PATH: the snippet cannot be run on this machine")
    script = folder / "snippet"
    script.write_text(snippet, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "CLEARHOLD_URL": service.url,
        "PROGRAM_ID": PROGRAM,
        "INGEST_SECRET": secret,
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.run(
        [*RUNNERS[language], str(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


@pytest.mark.parametrize("title", SNIPPETS)
@pytest.mark.parametrize("ending", [b"", b"\n"], ids=["no newline", "a newline at the end"])
def test_given_a_snippet_when_it_is_run_as_printed_then_the_event_arrives_as_it_is_in_the_file(
    tmp_path: Path, title: str, ending: bytes
) -> None:
    language, snippet = SNIPPETS[title]
    body = bank.an_event("wire.outgoing_transfer.initiated", bank.a_wire(beneficiary_name="Müller & Söhne")) + ending
    (tmp_path / "event.json").write_bytes(body)

    with fake_service() as service:
        done = run(language, snippet, tmp_path, service, SECRET)

    assert done.returncode == 0, done.stderr
    assert '"received": true' in done.stdout
    assert service.taken == [body]


@pytest.mark.parametrize("title", SNIPPETS)
def test_given_a_snippet_with_the_prefix_cut_off_the_secret_when_it_is_run_then_nothing_is_taken(
    tmp_path: Path, title: str
) -> None:
    language, snippet = SNIPPETS[title]
    (tmp_path / "event.json").write_bytes(bank.an_event("wire.outgoing_transfer.initiated", bank.a_wire()))

    with fake_service() as service:
        run(language, snippet, tmp_path, service, SECRET.removeprefix("whsec_"))

    assert service.requests == 1
    assert service.taken == []
