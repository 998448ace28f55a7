"""The files for operators name what the service really has: its command, its folders and its times."""

from configparser import RawConfigParser
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from clearhold.api.app import FLOW_STOP_WITHIN_S
from clearhold.api.cli.main import app
from clearhold.api.http.server import DRAIN_WITHIN_S
from clearhold.store.record.linked_chains import LINKS_EXIT
from clearhold.store.redis_log.owner import FENCED_EXIT

ROOT: Final = Path(__file__).parent.parent


@pytest.fixture
def unit() -> RawConfigParser:
    found = RawConfigParser(strict=True)
    found.read_string((ROOT / "deploy" / "systemd" / "clearhold.service").read_text(encoding="utf-8"))
    return found


def test_given_the_unit_then_it_starts_our_command_on_the_folder_that_systemd_makes(unit: RawConfigParser) -> None:
    service = unit["Service"]
    program, command, *words = service["ExecStart"].split()
    options = dict(zip(words[::2], words[1::2], strict=True))

    shown = CliRunner().invoke(app, [command, "--help"]).output

    assert program.endswith("/.venv/bin/clearhold")
    assert options
    assert not [name for name in options if f" {name} " not in shown]
    assert options["--data"] == f"/var/lib/{service['StateDirectory']}"
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")


def test_given_a_stop_then_the_unit_waits_for_the_drain_and_stops_nothing_behind_its_back(
    unit: RawConfigParser,
) -> None:
    service = unit["Service"]

    assert int(service["TimeoutStopSec"]) >= 2 * (DRAIN_WITHIN_S + FLOW_STOP_WITHIN_S)
    assert service["KillMode"] == "mixed"
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == f"{FENCED_EXIT} {LINKS_EXIT}"
    assert service["User"] not in {"", "root"}
