"""One decision on alerts of two programs, in two shards, when ``kill -9`` comes between the entries of the log and what
follows from them: repeated under its key, each alert is decided once, and the chain is whole.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
import pytest

from tests.flows.test_record_kills import PROGRAMS, Bank, assert_whole
from tests.support.alerting import NARRATIVE
from tests.support.running_service import COMMAND, RunningService

ALERTS: Final = 6
WITHIN_S: Final = 30.0
KILLED: Final = """
import os, signal
from clearhold.store.redis_log.appender import LogAppender

appended, append = [], LogAppender.append

async def append_and_die(self, shard, kind, *entry):
    if kind == "decisions" and len(appended) == {place}:
        {before}
    offset = await append(self, shard, kind, *entry)
    if kind == "decisions":
        appended.append(offset)
        if len(appended) > {place}:
            os.kill(os.getpid(), signal.SIGKILL)
    return offset

LogAppender.append = append_and_die
"""
DIES: Final = "os.kill(os.getpid(), signal.SIGKILL)"
MOMENTS: Final = {
    "before the first entry": (0, DIES),
    "behind the first entry": (0, "pass"),
    "between the two": (1, DIES),
    "behind the second entry": (1, "pass"),
}


def decide(bank: Bank, alert_ids: list[str]) -> httpx.Response:
    with bank.client() as client:
        body = {"decision": "close", "narrative": NARRATIVE, "alertIds": alert_ids}
        return client.post("/api/alerts/decide", json=body, headers={"Idempotency-Key": "both"})


def rows_of(data: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as database:
        return database.execute(sql).fetchall()


@pytest.mark.parametrize("moment", MOMENTS)
def test_given_a_kill_around_the_entries_of_a_decision_over_programs_then_each_alert_is_decided_once(
    tmp_path: Path, moment: str
) -> None:
    place, before = MOMENTS[moment]
    command = KILLED.format(place=place, before=before) + COMMAND
    with RunningService(tmp_path / "data", "--scorers", "1", command=command, patches_loaded=True) as service:
        bank = Bank(service)
        alert_ids = bank.alerts(ALERTS)
        checked = bank.report()["checked"]
        with pytest.raises(httpx.TransportError):
            decide(bank, alert_ids)
        service.ended_with(within_s=WITHIN_S)
        service.command = COMMAND
        service.start()

        answer = decide(bank, alert_ids)
        again = decide(bank, alert_ids)

        assert answer.status_code == 200, answer.text
        content = answer.json()
        assert [each["alertId"] for each in content["results"]] == alert_ids
        assert (content["decided"], content["refused"]) == (ALERTS, 0)
        assert again.content == answer.content
        report = bank.report()
        assert (report["ok"], report["checked"]) == (True, checked + ALERTS)
        service.stop()

    decided = rows_of(service.data, "SELECT alert_id, id FROM dispositions WHERE decided_by = 'operator:ann'")
    assert Counter(alert_id for alert_id, _ in decided) == Counter(alert_ids)
    assert {each["dispositionId"] for each in content["results"]} == {id_ for _, id_ in decided}
    entries = rows_of(service.data, "SELECT DISTINCT program_id FROM decision_results WHERE kind = 'decisions'")
    assert len(entries) == len(PROGRAMS)
    assert_whole(service.data, checked + ALERTS)
