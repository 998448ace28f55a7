"""Pages scored by processes and by a thread: the same results, also when a process ends and when nobody waits."""

import asyncio
import os
import sys
import time
from typing import Final

import msgspec
import pyarrow as pa
import pytest

from clearhold.features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from clearhold.features.core.entries.commands import Rescored
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.shard.questions import CardInForce
from clearhold.flows.backfill.page_scoring import EndedError, PageScoring, ScoringProcess
from clearhold.flows.backfill.replay import LONGEST_REST_S, Throttle
from clearhold.flows.running.supervision import Workers
from clearhold.store.tables import arrow_table, columns_of
from tests.support.builders import a_vector
from tests.support.duck_rows import some_features

ROWS: Final = 250
WRONG_ONE_IN: Final = 7
DEFAULT: Final = CardInForce(None, None)


def a_page(first: int) -> pa.Table:
    """Scorings as DuckDB hands them over, some with a score that is not the present scorer's."""
    rows = []
    for number in range(first, first + ROWS):
        vector = a_vector(amount_cents=1_000 + number * 37, velocity_24h_count=number % 9)
        score = trs_v1.DEFAULT.score(vector, degraded=False)
        stored = some_features(
            transfer_id=f"t{number}",
            feature_version=FEATURE_VERSION,
            score=99 if number % WRONG_ONE_IN == 0 else score.value,
            n=score.n,
            confidence=score.confidence,
            reasons=msgspec.json.encode(score.reasons).decode(),
            vector=vector,
        )
        rows.append(stored)
    table = arrow_table(columns_of(TransferFeaturesRow), rows)
    fields = [pa.field(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


async def scored(processes: int, *, pages: int, harm: bool = False) -> tuple[list[list[Rescored]], list[object]]:
    workers = Workers(4, "backfill")
    async with PageScoring(workers, DEFAULT, processes=processes) as scoring:
        if harm:
            scoring._scorers[0].end()
        results = await asyncio.gather(*(scoring.begin(a_page(number * ROWS)) for number in range(pages)))
        scorers: list[object] = list(scoring._scorers)
    workers.close()
    return list(results), scorers


def ids(results: list[list[Rescored]]) -> list[list[str]]:
    return [[result.transfer_id for result in page] for page in results]


def test_given_pages_when_scored_by_processes_then_the_results_are_those_of_a_thread() -> None:
    by_thread, _ = asyncio.run(scored(0, pages=4))
    by_processes, scorers = asyncio.run(scored(2, pages=4))

    wrong = [f"t{number}" for number in range(4 * ROWS) if number % WRONG_ONE_IN == 0]
    assert [transfer_id for page in ids(by_thread) for transfer_id in page] == wrong
    assert by_processes == by_thread
    for scorer in scorers:
        assert isinstance(scorer, ScoringProcess)
        assert scorer._process.poll() is not None


def test_given_a_process_that_ends_when_pages_come_then_they_are_scored_all_the_same() -> None:
    expected, _ = asyncio.run(scored(0, pages=3))

    results, scorers = asyncio.run(scored(1, pages=3, harm=True))

    assert results == expected
    assert len(scorers) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no scheduling class of idle tasks")
def test_given_a_process_that_scores_then_it_runs_when_nothing_else_wants_the_cores() -> None:
    process = ScoringProcess(DEFAULT)
    try:
        assert process.score(a_page(0))

        assert os.sched_getscheduler(process._process.pid) == os.SCHED_IDLE
    finally:
        process.close()


def test_given_a_process_that_is_gone_when_asked_then_it_says_so() -> None:
    process = ScoringProcess(DEFAULT)
    process.end()

    with pytest.raises(EndedError):
        process.score(a_page(0))
    process.close()


def test_given_pages_under_way_when_the_rest_fails_then_nothing_is_left_running() -> None:
    begun: list[PageScoring] = []

    async def failing() -> None:
        workers = Workers(4, "backfill")
        async with PageScoring(workers, DEFAULT, processes=2) as scoring:
            begun.append(scoring)
            for number in range(6):
                scoring.begin(a_page(number))
            await asyncio.sleep(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(failing())

    processes = [each for each in begun[0]._scorers if isinstance(each, ScoringProcess)]
    assert [process._process.poll() is not None for process in processes] == [True, True]


def test_given_a_thread_that_others_kept_waiting_when_it_rests_then_for_a_while_and_never_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rested: list[float] = []
    monkeypatch.setattr(time, "sleep", rested.append)
    passed, ran = (
        iter([0.0, 0.010, 0.010, 9.0, 9.0, 9.002, 9.002]),
        iter([0.0, 0.008, 0.008, 0.009, 0.009, 0.011, 0.011]),
    )
    monkeypatch.setattr(time, "monotonic", lambda: next(passed))
    monkeypatch.setattr(time, "thread_time", lambda: next(ran))

    giving_way = Throttle()
    for _ in range(3):
        giving_way.rest()

    assert rested == pytest.approx([0.002, LONGEST_REST_S, 0.0])
