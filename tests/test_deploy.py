"""The files for operators name what the service really has: its series, its command, its folders and its times."""

import re
from configparser import RawConfigParser
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from api.app import FLOW_STOP_WITHIN_S
from api.cli.main import app
from api.http.server import DRAIN_WITHIN_S

ROOT: Final = Path(__file__).parent.parent
SERIES: Final = re.compile(r"^\| `(clearhold_\w+)` \| (\w+) \| ([\w, ]*) ?\|", re.MULTILINE)
PARTS_OF_HISTOGRAMS: Final = ("_bucket", "_count", "_sum")


def documented() -> dict[str, set[str]]:
    """Every name that can be asked for, with its labels; a test of the metrics holds the page against the service."""
    shown: dict[str, set[str]] = {}
    for name, kind, labels in SERIES.findall((ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")):
        for part in PARTS_OF_HISTOGRAMS if kind == "histogram" else ("",):
            shown[name + part] = set(re.findall(r"\w+", labels))
    return shown


def rules() -> list[dict[str, Any]]:
    text = (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_given_an_alert_rule_then_its_series_and_labels_exist_and_it_says_what_is_wrong(rule: dict[str, Any]) -> None:
    shown = documented()
    names = set(re.findall(r"clearhold_\w+", rule["expr"]))
    named = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
    matched = re.findall(r"[{,]\s*(\w+)=", rule["expr"])

    assert names
    assert names <= shown.keys()
    assert {*named, *matched} <= set.union(*(shown[name] for name in names))
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["expr"].count("(") == rule["expr"].count(")")


def test_given_the_alert_rules_then_each_has_a_name_of_its_own() -> None:
    names = [rule["alert"] for rule in rules()]

    assert len(names) > 10
    assert len(set(names)) == len(names)


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
    assert service["User"] not in {"", "root"}
