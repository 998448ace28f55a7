"""Actions on the record: what is shown is what was signed, and an export of it holds offline."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from msgspec import json
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from clearhold.features.core.canonical import link_hash
from clearhold.store.errors import StartupError
from clearhold.store.joining.joining import check_decisions
from tests.api.actions.conftest import Served
from tests.support.acting import CANCEL, FREEZE, Acting
from tests.support.alerting import an_alert, decide
from tests.support.running_app import SHARDS

TAMPERED: Final = [
    ("UPDATE actions SET status = 'failed' WHERE id = '{executed}'", "executed", "status"),
    ("UPDATE actions SET status = 'approved' WHERE id = '{waiting}'", "waiting", "status"),
    ("UPDATE actions SET approved_by = 'carl' WHERE id = '{executed}'", "executed", "approved_by"),
    ("UPDATE actions SET approved_by = NULL WHERE id = '{executed}'", "executed", "approved_by"),
    ("UPDATE actions SET requested_by = 'bob' WHERE id = '{waiting}'", "waiting", "requested_by"),
    ("UPDATE actions SET type = 'pause_card', target_id = 'x' WHERE id = '{waiting}'", "waiting", "type target_id"),
    ("UPDATE actions SET target_type = 'card' WHERE id = '{waiting}'", "waiting", "target_type"),
    ("UPDATE actions SET alert_id = NULL WHERE id = '{executed}'", "executed", "alert_id"),
    ("UPDATE actions SET change = '{{}}' WHERE id = '{waiting}'", "waiting", "change"),
    ("UPDATE actions SET bank_response = '{{}}' WHERE id = '{executed}'", "executed", "bank_response"),
    ("UPDATE actions SET bank_response = NULL WHERE id = '{executed}'", "executed", "bank_response"),
    ("UPDATE actions SET error = NULL WHERE id = '{failed}'", "failed", "error"),
    ("UPDATE actions SET executed_at = NULL WHERE id = '{executed}'", "executed", "executed_at"),
    ("UPDATE actions SET created_at = created_at + INTERVAL 1 DAY WHERE id = '{waiting}'", "waiting", "created_at"),
    ("UPDATE actions SET program_id = tenant_id WHERE id = '{waiting}'", "waiting", "program_id"),
    ("DELETE FROM actions WHERE id = '{waiting}'", "waiting", "missing"),
    (
        "INSERT INTO actions SELECT * REPLACE ('other' AS id) FROM actions WHERE id = '{waiting}'",
        "other",
        "unrecorded",
    ),
]


def one_of_each(acting: Acting) -> dict[str, str]:
    """The ids of actions in every status that lasts."""
    alert = an_alert(acting.api, acting.tenant, acting.program, f"acht_{acting.tenant['slug']}")
    decide(acting.api, acting.api.operator(acting.tenant), alert["id"])
    executed = acting.approved(acting.request(FREEZE | {"alertId": alert["id"]})["id"])["id"]
    acting.bank.fail_next(status=422, method="POST")
    failed = acting.request(CANCEL | {"alertId": alert["id"]})["id"]
    refused = acting.approved(acting.request(FREEZE)["id"], by="ann")["id"]
    return {"executed": executed, "failed": failed, "refused": refused, "waiting": acting.request(FREEZE)["id"]}


@pytest.fixture(scope="module")
def recorded(served: Served) -> tuple[Acting, dict[str, str]]:
    """A tenant with an action in every status that lasts."""
    acting = Acting(*served)
    ids = one_of_each(acting)
    return acting, ids


@pytest.fixture
def tampering(recorded: tuple[Acting, dict[str, str]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor for one test to change the rows with, which are put back behind it."""
    with closing(recorded[0].api.database.cursor()) as cursor:
        cursor.execute("CREATE OR REPLACE TABLE untouched AS SELECT * FROM actions")
        yield cursor
        cursor.execute("DELETE FROM actions")
        cursor.execute("INSERT INTO actions SELECT * FROM untouched")


@pytest.mark.parametrize(("statement", "action", "columns"), TAMPERED)
def test_given_a_shown_action_that_was_changed_when_verified_then_it_is_named_with_its_columns(
    recorded: tuple[Acting, dict[str, str]],
    tampering: duckdb.DuckDBPyConnection,
    statement: str,
    action: str,
    columns: str,
) -> None:
    acting, ids = recorded
    assert acting.verified()["ok"]
    tampering.execute(statement.format(**ids))

    report = acting.verified()

    assert (report["ok"], report["firstBreakAt"]) == (False, None)  # the chains themselves hold
    difference = {"table": "actions", "id": ids.get(action, action), "columns": columns.split()}
    assert report["rows"]["differences"] == [difference]
    of_chain = {chain: acting.verified(chain=chain)["ok"] for chain in ("actions", "dispositions")}
    assert of_chain == {"actions": False, "dispositions": True}


def test_given_actions_in_every_status_when_exported_then_their_links_are_what_was_answered_and_hold_offline(
    acting: Acting, tmp_path: Path
) -> None:
    ids = one_of_each(acting)
    paths = [tmp_path / name for name in ("export.ndjson", "jwks.json", "dispositions.txt", "actions.txt")]
    headers = acting.api.operator(acting.tenant)
    for path, source in zip(
        paths,
        (
            "/api/record/export",
            "/.well-known/jwks.json",
            "/api/record/checkpoint?chain=dispositions",
            "/api/record/checkpoint?chain=actions",
        ),
        strict=True,
    ):
        path.write_bytes(acting.api.client.get(source, headers=headers).content)

    run = CliRunner().invoke(app, ["verify", *map(str, paths)])

    assert run.exit_code == 0, run.output
    assert "ok actions" in run.output
    lines: list[dict[str, Any]] = [json.decode(line) for line in paths[0].read_bytes().splitlines()]
    links = {line["body"]["id"]: line for line in lines if line["kind"] == "action"}
    assert len(links) == 3 + 2 + 2 + 1
    for action_id in ids.values():
        action, link = acting.read(action_id), links[action_id]
        assert (action["prevHash"], action["hash"]) == (link["prevHash"], link["hash"])
        assert link["hash"] == link_hash(link["prevHash"], json.encode(link["body"], order="sorted"))
    cited = {links[ids[name]]["body"]["alertId"] for name in ("executed", "failed")}
    assert cited <= {line["body"]["id"] for line in lines if line["kind"] == "alert"}


@pytest.mark.parametrize("table", ["actions", "record_chain", "decision_results"])
def test_given_a_step_that_was_erased_from_a_table_when_the_log_still_has_it_then_the_start_is_refused(
    acting: Acting, table: str
) -> None:
    action = acting.approved(acting.request(FREEZE)["id"])
    reader, database = acting.api.reader, acting.api.database
    committed = {shard: reader.tail(shard) for shard in range(SHARDS)}
    check_decisions(reader, database, committed)

    database.execute(f"CREATE OR REPLACE TABLE put_by AS SELECT * FROM {table}")  # noqa: S608 - our own tables
    of_action = 'SELECT max("offset") FROM actions WHERE id = ?'
    database.execute(f'DELETE FROM {table} WHERE "offset" = ({of_action})', [action["id"]])  # noqa: S608 - as above

    with pytest.raises(StartupError, match="a step of an action"):
        check_decisions(reader, database, committed)
    database.execute(f"DELETE FROM {table}")  # noqa: S608 - as above
    database.execute(f"INSERT INTO {table} SELECT * FROM put_by")  # noqa: S608 - as above
