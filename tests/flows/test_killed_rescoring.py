"""Kill -9 of a service in the middle of a rescoring of late history: the next start finishes it."""

import contextlib
import http.client
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.instants import DAY_US
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, post_in_batches
from tests.support.told_owners import owners_told
from tests.support.waiting import eventually

UNTIL = 1_780_000_000_000_000
EVENTS = 3_000
KILLS = 3
NEWEST = (
    "SELECT COLUMNS(c -> c NOT IN ('tenant_id', 'program_id', 'shard', 'offset', 'scored_at', 'paths', 'rescored')) "
    "FROM transfer_features WHERE program_id = ? "
    'QUALIFY row_number() OVER (PARTITION BY transfer_id ORDER BY "offset" DESC) = 1 ORDER BY transfer_id'
)
STAGES = 'SELECT id, stage, done = total, changed FROM backfills ORDER BY "offset"'


def test_given_kills_in_the_middle_of_a_rescoring_when_it_is_done_then_the_scores_are_those_of_history_in_order(
    tmp_path: Path,
) -> None:
    bank = SimulatedBank(11)
    history = [each.body for each in bank.history(UNTIL) if each.program == "remittance"][:EVENTS]
    owners, chance = owners_told(bank, "remittance", at=UNTIL - 200 * DAY_US), Random(5)
    history.sort(key=lambda body: body.partition(b'"created_at":')[2][:30])
    moments = [chance.uniform(0.05, 0.4) for _ in range(KILLS)]  # a rescoring takes longer on any machine
    with RunningService(tmp_path / "data", "--scorers", "1") as service:
        running = RunningBank(service)
        ordered = running.create_program("remittance", declaredRails=["realtime"])
        apart = running.create_program("remittance-late", declaredRails=["realtime"])
        post_in_batches(service, ordered, [*owners, *history])
        post_in_batches(service, apart, [*owners, *history[::3], *history[1::3], *history[2::3]])
        asking = threading.Thread(target=ask, args=(service, running.token, apart["id"]))
        asking.start()
        eventually(lambda: any("backfill_replays" in line for line in service.log_lines), within_s=120)
        for moment in moments:
            time.sleep(moment)
            service.kill()
            service.start()
        eventually(lambda: any("backfill_done" in line for line in service.log_lines), within_s=240)
        asking.join(60)
        service.stop()

    assert any("backfill_resumes" in line for line in service.log_lines)
    with contextlib.closing(duckdb.connect(str(tmp_path / "data" / "clearhold.duckdb"), read_only=True)) as tables:
        expected, found = (tables.execute(NEWEST, [each["id"]]).fetchall() for each in (ordered, apart))
        stages: list[tuple[Any, ...]] = tables.execute(STAGES).fetchall()
    assert found == expected
    assert len(expected) > EVENTS // 5
    assert stages[-1][1:3] == ("done", True)
    assert stages[-1][3] > 0
    assert len({row[0] for row in stages}) == 1


def ask(service: RunningService, token: str, program_id: str) -> None:
    """Ask for a rescoring; the answer is lost with the service that is killed."""
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "test"}
    with contextlib.closing(service.connect()) as connection, contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("POST", f"/api/skoor/backfill/{program_id}", headers=headers)
        connection.getresponse().read()
