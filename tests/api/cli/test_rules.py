"""``clearhold rules``: files checked offline, compared with a real service and backtested on it."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from clearhold.api.cli.main import app
from clearhold.api.cli.rule_files import read_rules
from clearhold.api.http.auth import UNKNOWN_BEARER
from clearhold.api.http.request_schema import MOST_VALUES
from clearhold.api.http.yaml_documents import FaultyFileError
from clearhold.client.client import ClearholdClient
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.rules import Rule
from clearhold.store.clock import SystemClock
from clearhold.store.control.rule_registry import UNKNOWN_RULE
from clearhold.store.given_files import MOST_GIVEN_BYTES
from tests.support.alerting import outgoing
from tests.support.fake_service import fake_service
from tests.support.rules import RULES
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, free_port, post_in_batches, wait_until_committed

MOST_CPU_S: Final = 2.0
WIRES: Final = """\
# What the payments team agreed on.
rules:
  - id: large-credits
    name: Large credits
    when:
      - {field: rail, op: in, value: [ach, wire]}
      - field: amountCents
        op: gt
        value: "50000"
    action: review
    severity: medium
  - id: abroad
    name: Abroad
    when: [{field: counterpartyCountry, op: in, value: [NO, SE]}]
    action: hold
    severity: high
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"CLEARHOLD_URL": "", "CLEARHOLD_TOKEN": ""}).invoke(app, ["rules", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(WIRES)
    return path


def test_given_a_file_of_right_rules_when_checked_then_it_is_ok_and_no_is_norway(file: Path) -> None:
    result = run("check", file)
    rules = read_rules(file)

    assert (result.exit_code, result.stdout) == (0, "ok: 2 rules\n")
    assert [rule.id for rule in rules] == ["large-credits", "abroad"]
    assert rules[1].when[0].value == ("NO", "SE")


def test_given_a_file_with_faults_when_checked_then_each_has_its_line_and_path_and_the_code_is_1(file: Path) -> None:
    file.write_text(WIRES.replace("op: gt", "op: gtt").replace("abroad", "large-credits").replace(": hold", ": stop"))

    result = run("check", file)

    assert result.exit_code == 1
    first, second, third, count = result.stderr.splitlines()
    assert first.startswith(f"{file}:8: rules[0].when[1].op must be one of")
    assert second.startswith(f"{file}:15: rules[1].action must be one of")
    assert third == f"{file}:12: rules[1].id is the id of rules[0] too"
    assert count == "3 faults"


@pytest.mark.parametrize(
    ("over", "name"),
    [({"value": 1.5}, "value"), ({"op": "in"}, "value"), ({"field": "no.such"}, "field"), ({"note": 1}, "note")],
)
def test_given_json_with_a_fault_when_checked_then_it_has_its_path(
    tmp_path: Path, over: dict[str, Any], name: str
) -> None:
    condition = {"field": "amountCents", "op": "gt", "value": 1} | over
    file = tmp_path / "rules.json"
    file.write_text(
        json.dumps([{"id": "a", "name": "A", "when": [condition], "action": "log", "severity": "low"}], indent="\t")
    )

    result = run("check", file)

    assert result.exit_code == 1
    fault, count = result.stderr.splitlines()
    assert fault.startswith(f"{file}: [0].when[0].{name} ")
    assert count == "1 fault"


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        ("rules: [\n  }", "not YAML", 2),
        ("a: &x [1]\nb: *x\n", "Anchors and aliases", 1),
        ("- *x\n", "Anchors and aliases", 1),
        ("- id: a\n  id: b\n", "stands twice", 2),
        ("- !!python/object/apply:os.system [id]\n", "Tags", 1),
        ("- !!binary aGk=\n", "Tags", 1),
        ("[]\n---\n[]\n", "more than one document", 2),
        ("? [a]\n: b\n", "key", 1),
        ("[" * 50, "nested deeper", 1),
        ("rules: 3\n", "must be a list", None),
        ("", "must be a list", None),
        ("\x00", "not YAML", None),
        ("- [" + "[" * 100_000, "nested deeper", 1),
        (f"- a: 1\n  {'k' * 65}: [1]\n", "longer than any", 2),
    ],
)
def test_given_a_file_that_is_no_file_of_rules_when_checked_then_it_says_where(
    tmp_path: Path, text: str, sentence: str, line: int | None
) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(text)

    result = run("check", file)

    assert (result.exit_code, result.exception is None or isinstance(result.exception, SystemExit)) == (1, True)
    assert sentence in result.stderr
    assert f":{line}: " in result.stderr or line is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[{"id": "a", "id": "b"}]', "stands twice"),
        ("[NaN]", "number or a depth"),
        ("[" * 100_000, "depth"),
        ("[1" + "0" * 5_000 + "]", "number or a depth"),
        ("[1", "not JSON"),
        ('[{"note": "\\ud800"}]', "[0] has a text or a depth"),
        ('[{"\\ud800": 1}]', "[0] has a text or a depth"),
        ('[{"note": 1e999}]', "number or a depth"),
        (f'[{{"note": {10**100}}}]', "[0].note must be a string"),
        (f'[{{"note": {"[" * 900}{"]" * 900}}}]', "deep"),
    ],
)
def test_given_json_that_no_rule_is_when_checked_then_it_says_so(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)

    result = run("check", file)

    assert (result.exit_code, isinstance(result.exception, SystemExit)) == (1, True)
    assert sentence in result.stderr


def test_given_a_number_without_a_value_when_checked_then_it_is_not_read_as_null(file: Path) -> None:
    file.write_text(WIRES.replace("action: hold", "action: hold\n    programId: 1e999"))

    result = run("check", file)

    assert (result.exit_code, f"{file}:16: rules[1].programId must be a UUID" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("keys", "fault"), [(MOST_VALUES, "[0].id is required"), (20_000, f"[0] must have at most {MOST_VALUES:,} values")]
)
def test_given_a_flat_object_of_many_keys_when_checked_then_it_takes_no_more_than_its_size(
    tmp_path: Path, keys: int, fault: str
) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps([dict.fromkeys(map(str, range(keys)), 1)]))
    began = process_time()

    result = run("check", file)

    assert (result.exit_code, fault in result.stderr) == (1, True)
    assert process_time() - began < MOST_CPU_S


def test_given_a_suffix_in_capitals_when_checked_then_the_file_is_json_as_for_a_backtest(tmp_path: Path) -> None:
    file = tmp_path / "RULES.JSON"
    file.write_text('[{"note": "\\ud83d\\ude00"}]')  # a pair that YAML does not take

    assert run("check", file).stderr.startswith(f"{file}: [0].id is required\n")


def test_given_a_file_that_is_not_there_or_too_large_or_no_text_when_checked_then_it_says_so(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.yaml", tmp_path / "binary.yaml"
    large.write_bytes(b"#" * (MOST_GIVEN_BYTES + 1))
    binary.write_bytes(b"\xff\xfe\x00")

    assert (run("check", tmp_path / "none.yaml").exit_code, run("check", tmp_path).exit_code) == (2, 2)
    assert "1,048,576 bytes" in run("check", large).stderr
    assert "UTF-8" in run("check", binary).stderr


@settings(max_examples=40, deadline=None)
@given(rules=st.lists(RULES, max_size=3), text=st.text(max_size=60).filter(lambda each: "[]" not in each))
def test_given_any_rules_or_any_text_when_read_then_the_rules_come_back_or_faults_do(
    tmp_path_factory: pytest.TempPathFactory, rules: list[Rule], text: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    numbered = [msgspec.structs.replace(rule, id=f"rule-{number}") for number, rule in enumerate(rules)]
    for name, content in (
        ("r.json", msgspec.json.encode(numbered)),
        ("r.yaml", msgspec.json.encode({"rules": numbered})),
    ):
        (folder / name).write_bytes(content)
        assert list(read_rules(folder / name)) == numbered
    (folder / "t.yaml").write_bytes(text.encode(errors="replace"))
    with pytest.raises(FaultyFileError) as refusal:  # no text of so few characters is a rule
        read_rules(folder / "t.yaml")
    assert refusal.value.faults[0].sentence


def an_hour_ago() -> str:
    return format_instant(SystemClock().now() - HOUR_US)


class Bank(RunningBank):
    """With nine transfers of this hour."""

    def __init__(self, service: RunningService) -> None:
        super().__init__(service, "payroll")
        at = an_hour_ago()
        bodies = [outgoing(f"acht_{place}", at=at, amount=90_000 if place % 3 == 0 else 100) for place in range(9)]
        post_in_batches(service, self.program, bodies)
        wait_until_committed(service, self.token, "acht_8")

    def options(self, **over: str) -> list[str]:
        options = {"url": self.url, "token": self.token, "operator": "ann"} | over
        return [text for name, value in options.items() for text in (f"--{name}", value)]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """Of each test its own: a comparison names all rules that are there."""
    with RunningService(tmp_path / "data", "--scorers", "0") as service:
        yield Bank(service)


def test_given_a_service_when_a_file_is_compared_written_and_backtested_then_each_says_what_is_so(
    bank: Bank, file: Path
) -> None:
    before = run("diff", file, *bank.options())
    refused = run("backtest", file, *bank.options())
    tested = run("backtest", file, "--full", "--write", *bank.options())
    file.write_text(WIRES.replace("50000", "60000").partition("  - id: abroad")[0])
    changed = run("diff", file, *bank.options())

    assert (before.exit_code, before.stdout.splitlines()) == (
        1,
        ["+ abroad: in the file alone", "+ large-credits: in the file alone"],
    )
    lacking = "Missing or different on the service: large-credits, abroad."
    assert (refused.exit_code, refused.stderr.startswith(lacking)) == (1, True)
    assert tested.exit_code == 0, tested.stderr
    heading, large, abroad, _, chart, week = tested.stdout.splitlines()[:6]
    assert heading.split()[:4] == ["rule", "scanned", "matched", "share"]
    assert large.split()[:5] == ["large-credits", "9", "3", "33.33", "%"]
    assert abroad.split()[:5] == ["abroad", "9", "0", "0.00", "%"]
    assert chart == "large-credits, matches by week"
    assert week.endswith("3 of 9")
    assert "█" * 40 in week
    assert (changed.exit_code, changed.stdout.splitlines()) == (
        1,
        [
            "- abroad: on the service alone, testing",
            "~ large-credits: testing on the service",
            '  - when[1]: {"field":"amountCents","op":"gt","value":"50000"}',
            '  + when[1]: {"field":"amountCents","op":"gt","value":"60000"}',
        ],
    )
    listed = run("list", *bank.options())
    assert "counterpartyCountry is one of NO, SE" in listed.stdout
    file.write_text(WIRES)
    assert run("diff", file, *bank.options()).stdout == "the same: 2 rules\n"
    assert "large-credits" in run("backtest", "large-credits", "--days", "1", *bank.options()).stdout


def test_given_nothing_to_list_write_or_backtest_then_that_is_said(file: Path) -> None:
    with fake_service() as service:
        service.answers["/api/rules"] = (200, [[]])
        place = ("--url", service.url, "--token", "t")
        listed = run("list", *place)
        written = run("backtest", "large-credits", "--write", *place)
        file.write_text("[]")
        nothing = run("backtest", file, *place)

    assert (listed.exit_code, listed.stdout) == (0, "The service has no rules.\n")
    assert (written.exit_code, written.stderr) == (2, "--write needs a file of rules, and this is the id of one.\n")
    assert (nothing.exit_code, nothing.stderr) == (1, f"{file} holds no rules.\n")


def test_given_a_service_that_refuses_or_does_not_answer_then_the_command_says_why(bank: Bank, file: Path) -> None:
    token = run("diff", file, *bank.options(token="op_unknown"))
    nobody = run("list", *bank.options(url=f"http://127.0.0.1:{free_port()}"))
    unknown = run("backtest", "no-such-rule", *bank.options())

    assert (token.exit_code, UNKNOWN_BEARER in token.stderr) == (2, True)
    assert (nobody.exit_code, "did not answer" in nobody.stderr) == (2, True)
    assert (unknown.exit_code, UNKNOWN_RULE in unknown.stderr) == (1, True)
    assert run("list", *bank.options(url="ftp://somewhere")).exit_code == 2


def test_given_a_rule_that_another_changes_meanwhile_when_written_then_the_change_is_not_overwritten(
    bank: Bank, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = WIRES.replace("large-credits", "shared-1").replace("abroad", "shared-2")
    file.write_text(text)
    assert run("backtest", file, "--write", *bank.options()).exit_code == 0
    read = ClearholdClient.rule

    def read_and_changed(client: ClearholdClient, rule_id: str) -> tuple[Rule, str]:
        rule, etag = read(client, rule_id)
        client.replace_rule(msgspec.structs.replace(rule, name="Of a colleague"), etag=etag)
        return rule, etag

    monkeypatch.setattr(ClearholdClient, "rule", read_and_changed)
    file.write_text(text.replace("50000", "60000"))
    refused = run("backtest", file, "--write", *bank.options())

    assert refused.exit_code == 1
    assert "changed since it was read" in refused.stderr
    monkeypatch.undo()
    with ClearholdClient(bank.url, token=bank.tenant["operatorToken"], operator="ann") as client:
        assert client.rule("shared-1")[0].name == "Of a colleague"
