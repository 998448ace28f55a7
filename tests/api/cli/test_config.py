"""``clearhold config`` with real processes: a bank's directory from its export to plan, application and approval."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any, Final

import httpx
import msgspec
import pytest
from typer.testing import CliRunner, Result

from clearhold.api.cli.main import app
from tests.support.config_calls import CLOCK_PATH, RULE_PATH
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService
from tests.support.scorecards import a_card, a_report

LIMITS: Final = {
    "achDebitDailyCents": "10000000",
    "achDebitMonthlyCents": None,
    "perTransactionCents": "500000",
    "entityDailyCents": None,
    "entityVelocity24HCount": "20",
}


def run(command: str, *arguments: str | Path, bank: RunningBank | None = None, by: str = "ann") -> Result:
    environment = {"CLEARHOLD_URL": "", "CLEARHOLD_TOKEN": ""}
    if bank is not None:
        environment = {"CLEARHOLD_URL": bank.url, "CLEARHOLD_TOKEN": bank.token}
        arguments = (*arguments, "--operator", by)
    return CliRunner(env=environment).invoke(app, ["config", command, *map(str, arguments)])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def approve(bank: RunningBank, output: str) -> dict[str, Any]:
    """Approve the action that a command names."""
    match = re.search(r"The action ([0-9a-f-]{36})", output)
    assert match is not None, output
    approved: dict[str, Any] = bank.ask("POST", f"/api/actions/{match[1]}/approve", {"approverId": "ben"})
    return approved


def edit(folder: Path, bank: RunningBank) -> None:
    """A commit as a person writes it: a rule, a clock, limits of a program, and one endpoint."""
    (folder / "rules").mkdir(exist_ok=True)
    (folder / RULE_PATH).write_text(
        "schema: clearhold-config-v1\n# Agreed on 3 March.\nid: large-wire-abroad\nname: Large wires abroad\n"
        "when:\n- {field: rail, op: in, value: [wire, intl_wire]}\n"
        '- {field: amountCents, op: gte, value: "2500000"}\n'
        "- {field: counterpartyCountry, op: in, value: [NO, SE]}\n"
        "action: hold\nseverity: high\n...\n"
    )
    clock = folder / CLOCK_PATH
    clock.write_text(clock.read_text().replace("standardHours: 24", "standardHours: 8"))
    policy = folder / "policies/policy.yaml"
    policy.write_text(policy.read_text().replace("minProgramN: ", "minProgramN: 1"))
    slug = bank.program["slug"]
    (folder / "programs" / slug).mkdir(parents=True, exist_ok=True)
    lines = [f"{name}: {'null' if cap is None else repr(cap)}\n" for name, cap in LIMITS.items()]
    (folder / "programs" / slug / "limits.yaml").write_text(f"schema: clearhold-config-v1\n{''.join(lines)}...\n")


def propose(bank: RunningBank) -> None:
    bank.ask("POST", "/api/scorecards", {"card": msgspec.to_builtins(a_card())}, expect=201)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[RunningBank]:
    with RunningService(tmp_path / "data", "--scorers", "0") as service:
        yield RunningBank(service, "payroll", "lending")


def test_given_a_commit_when_planned_applied_and_approved_then_the_export_is_the_commit_and_the_record_proves_it(
    bank: RunningBank, tmp_path: Path
) -> None:
    folder, second = tmp_path / "config", tmp_path / "second"
    assert run("export", folder, bank=bank).exit_code == 0
    unchanged = run("plan", folder, bank=bank)
    assert (unchanged.exit_code, "No changes." in unchanged.output) == (0, True), unchanged.output

    edit(folder, bank)
    assert run("format", folder).exit_code == 0
    committed = contents(folder)
    planned = run("plan", folder, bank=bank)
    assert planned.exit_code == 3, planned.output
    assert "~ policies/clock.yaml (needs a second person)\n    standardHours: 24 -> 8" in planned.output
    assert f"+ {RULE_PATH} (needs a second person)" in planned.output
    assert "backtest over 90 days: matches 0 of 0 transfers" in planned.output
    assert "dry run over 30 days: routes 0 of 0 alerts otherwise and 0 the same; 0 not considered" in planned.output
    assert "4 files change." in planned.output
    base = planned.output.split("base   ")[1].split()[0]

    waiting = run("apply", folder, "--base", base, "--reason", "commit 1a2b3c", bank=bank)
    assert waiting.exit_code == 3, waiting.output
    assert run("plan", folder, bank=bank).exit_code == 3
    action = approve(bank, waiting.output)
    assert action["status"] == "executed", action
    assert run("plan", folder, bank=bank).exit_code == 0
    assert run("apply", folder, bank=bank).exit_code == 0

    assert run("export", second, bank=bank).exit_code == 0
    assert contents(second) == committed
    checked = run("check", folder)
    assert checked.exit_code == 0
    digest = checked.output.split("digest ")[1].strip()
    assert digest == action["change"]["configSha256"]

    export = tmp_path / "record.ndjson"
    keys = tmp_path / "jwks.json"
    export.write_bytes(httpx.get(f"{bank.url}/api/record/export", headers=bank.headers).content)
    keys.write_bytes(httpx.get(f"{bank.url}/.well-known/jwks.json").content)
    notes = [tmp_path / f"{chain}.txt" for chain in ("actions", "dispositions")]
    for path in notes:
        path.write_bytes(httpx.get(f"{bank.url}/api/record/checkpoint?chain={path.stem}", headers=bank.headers).content)
    verified = CliRunner().invoke(app, ["verify", *map(str, (export, keys, *notes))])
    assert verified.exit_code == 0, verified.output
    links = [msgspec.json.decode(line) for line in export.read_bytes().splitlines()]
    bodies = [link["body"] for link in links if link.get("body", {}).get("kind") == "apply_config"]
    assert [body["transition"] for body in bodies] == ["requested", "approved", "executed"]
    assert bodies[0]["change"]["configSha256"] == digest
    assert bodies[0]["change"]["note"] == "commit 1a2b3c"


def test_given_a_plan_when_the_settings_change_then_its_application_is_refused(
    bank: RunningBank, tmp_path: Path
) -> None:
    folder = tmp_path / "config"
    run("export", folder, bank=bank)
    edit(folder, bank)
    base = run("plan", folder, bank=bank).output.split("base   ")[1].split()[0]
    bank.rule_in_force("another-rule")
    before = bank.ask("GET", "/api/config")
    refused = run("apply", folder, "--base", base, bank=bank)
    assert refused.exit_code == 1
    assert "a different change came first" in refused.output
    assert bank.ask("GET", "/api/config") == before


def test_given_every_kind_of_setting_when_exported_and_applied_elsewhere_then_the_bytes_are_the_same(
    bank: RunningBank, tmp_path: Path
) -> None:
    folder, other, again = tmp_path / "config", tmp_path / "other", tmp_path / "again"
    bank.register("https://hooks.bank.example/clearhold", "alert.opened")
    bank.rule_in_force("of-lending", programId=bank.programs[1]["id"], name="A name: with signs, 'quotes' # and NO")
    propose(bank)
    bank.card_in_force("scorecard-v1", a_card())
    run("export", folder, bank=bank)
    edit(folder, bank)
    assert approve(bank, run("apply", folder, bank=bank).output)["status"] == "executed"
    run("export", folder, bank=bank)
    with RunningService(tmp_path / "elsewhere", "--scorers", "0") as service:
        second = RunningBank(service, "payroll", "lending")
        waiting = run("apply", folder, bank=second)
        assert "needs a report of this exact card" in waiting.output
        propose(second)
        report = {"report": a_report(a_card(), datetime.now(UTC).isoformat())}
        second.ask("POST", "/api/scorecards/scorecard-v1/reports", report, expect=201)
        waiting = run("apply", folder, bank=second)
        action = approve(second, waiting.output)
        assert action["status"] == "executed", action
        run("export", other, bank=second)
        assert contents(other) == contents(folder)
        service.stop()
        service.start()
        run("export", again, bank=second)
        assert contents(again) == contents(folder)


@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.03, 0.1])
def test_given_a_kill_while_it_is_applied_when_started_again_then_all_of_it_is_in_force(
    bank: RunningBank, tmp_path: Path, delay_s: float
) -> None:
    folder, after = tmp_path / "config", tmp_path / "after"
    run("export", folder, bank=bank)
    edit(folder, bank)
    assert run("format", folder).exit_code == 0
    waiting = run("apply", folder, bank=bank)
    action_id = waiting.output.split("The action ")[1].split()[0]

    def send() -> None:
        with suppress(httpx.HTTPError):
            path, body = f"{bank.url}/api/actions/{action_id}/approve", {"approverId": "ben"}
            httpx.post(path, json=body, headers=bank.headers, timeout=30)

    sender = Thread(target=send)
    sender.start()
    sender.join(delay_s)
    bank.service.kill()
    sender.join()
    bank.service.start()
    if bank.ask("GET", f"/api/actions/{action_id}")["status"] == "requested":
        bank.ask("POST", f"/api/actions/{action_id}/approve", {"approverId": "ben"})
    for _ in range(100):
        if bank.ask("GET", f"/api/actions/{action_id}")["status"] == "executed":
            break
        sender.join(0.2)
    run("export", after, bank=bank)
    assert contents(after) == contents(folder)
    versions = [each["version"] for each in bank.ask("GET", "/api/policies?prefix=clock,rules")]
    assert sorted(versions) == ["clock-v1", "clock-v2", "rules-v1"]
