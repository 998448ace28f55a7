"""The export has the whole body of each rules version that was in force, and the verifiers check it."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import json
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from clearhold.features.core.canonical import canonical, digest_of
from tests.support.rule_calls import NOTE, RULE_ID, RuleCalls
from tests.support.running_app import RunningApp

VERIFY: Final = Path("docs/verify.py").resolve()


def get(api: RunningApp, tenant: dict[str, Any], path: str) -> bytes:
    answer = api.client.get(path, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    return bytes(answer.content)


@pytest.fixture
def two_versions(api: RunningApp, rules: RuleCalls) -> list[bytes]:
    """The lines of the export after two rules were activated and the first was paused."""
    for rule_id in (RULE_ID, "second"):
        rules.tested(rule_id)
        assert rules.approve(rules.activate(rule_id).json()["id"])["status"] == "executed"
    assert rules.send("POST", f"/{RULE_ID}/pause", NOTE).status_code == 200
    api.catch_up()
    return get(api, rules.tenant, "/api/record/export").splitlines(keepends=True)


def test_given_rules_that_came_into_force_then_each_version_is_a_line_that_its_link_cites(
    two_versions: list[bytes],
) -> None:
    lines = [json.decode(line) for line in two_versions]
    versions = {
        digest_of(canonical(line["body"])): [rule["id"] for rule in line["body"]["rules"]]
        for line in lines
        if line["kind"] == "policy" and "rules" in line["body"]
    }
    links = [line["body"] for line in lines if line["chain"] == "actions" and line["body"]["transition"] == "executed"]

    assert [versions[link["bodySha256"]] for link in links] == [[RULE_ID], [RULE_ID, "second"], ["second"]]


@pytest.mark.parametrize("edit", [None, "severity", "left out"])
def test_given_a_rule_that_is_edited_in_the_export_then_both_verifiers_fail(
    api: RunningApp, rules: RuleCalls, two_versions: list[bytes], tmp_path: Path, edit: str | None
) -> None:
    place = next(place for place, line in enumerate(two_versions) if b'"rules":' in line and b'"policy"' in line)
    if edit == "severity":
        two_versions[place] = two_versions[place].replace(b'"severity":"medium"', b'"severity":"low"')
    elif edit is not None:
        del two_versions[place]
    paths = [tmp_path / name for name in ("export.ndjson", "jwks.json", "dispositions.txt", "actions.txt")]
    paths[0].write_bytes(b"".join(two_versions))
    paths[1].write_bytes(api.client.get("/.well-known/jwks.json").content)
    for path in paths[2:]:
        path.write_bytes(get(api, rules.tenant, f"/api/record/checkpoint?chain={path.stem}"))
    names = [*map(str, paths)]

    script = subprocess.run([sys.executable, str(VERIFY), *names], check=False, capture_output=True)
    command = CliRunner().invoke(app, ["verify", *names])

    assert [script.returncode == 0, command.exit_code == 0] == [edit is None] * 2, (script.stderr, command.output)
