"""How long do the ready questions of analysts take on a lake of five million transfers?

SQL makes the rows in a separate database: one scoring a transfer with all columns filled, over half a year,
three events for each, labels for one transfer in a hundred, an alert for one in two hundred. They are copied into parts
as a service copies them. Each question is then answered twice by a fresh reader on two threads; the slower time counts.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from bench.harness import Figure, Promise, Run
from bench.workbench import PREFIX
from clearhold.features.core.instants import DAY_US
from clearhold.store.analysts.questions import QUESTIONS
from clearhold.store.analysts.writer import LakeWriter
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import TABLES, open_database
from clearhold.store.ids import new_id
from clearhold.store.redis_log.reader import SEQ_BITS
from clearhold.store.tables import columns_of

ANSWER_MS: Final = Promise(2_000)
DAYS: Final = 180
TIMES: Final = 2
_LABELLED_EVERY: Final = 100
_ALERTED_EVERY: Final = 200
_ONE: Final = '{"id":"%s","signal":"velocity_spike","weight":12,"hard":false,"sentence":"Many in a day.","detail":null}'
_OTHER: Final = _ONE % "TRS-' || i % 40 || '"
_REASONS: Final = f"'[{_ONE % 'TRS-VEL-01'},{_OTHER}]'"
_BY_TYPE: Final = {"VARCHAR": "'text'", "BIGINT": "i % 1000", "DOUBLE": "(i % 1000) / 7", "BOOLEAN": "false"}
_SCORE: Final = "if(i % 17 = 0, NULL, hash(i) % 101)"
_BAND: Final = (
    f"CASE WHEN {_SCORE} IS NULL THEN 'unscored' WHEN {_SCORE} < 30 THEN 'clear' WHEN {_SCORE} < 70 THEN 'review' "
    "ELSE 'hold' END"
)


def run(run: Run) -> Iterator[Figure]:
    transfers = run.asked.transfers or run.size(5_000_000, 20_000)
    now = SystemClock().now()
    with TemporaryDirectory(prefix=PREFIX) as folder:
        lake = Path(folder) / "lake"
        lake.mkdir()
        with open_database(Path(folder) / "clearhold.duckdb") as database:
            run.say(f"making {transfers:,} transfers")
            _fill(database, transfers, now)
            writer = LakeWriter(lake, database, clock=SystemClock(), new_id=new_id, lead_us=0)
            writer.copy()
            while writer.merge():
                pass
            writer.close()
        yield from _answered(lake, f"{transfers:,} transfers", now)


def _answered(lake: Path, note: str, now: int) -> Iterator[Figure]:
    """The ready questions; the two that list transfers one by one are counted."""
    periods = ", ".join(f"make_timestamp({now - days * DAY_US})" for days in (DAYS, DAYS // 2, DAYS // 2, 0))
    for question in QUESTIONS:
        arguments = periods if question.name == "score_stability" else ""
        columns = "count(*)" if question.name in {"scorings", "labelled"} else "*"
        slowest, rows = 0.0, 0
        for _ in range(TIMES):
            with duckdb.connect(str(lake / "analyst.duckdb"), read_only=True, config={"threads": 2}) as reader:
                began = time.perf_counter()
                rows = len(reader.execute(f"SELECT {columns} FROM {question.name}({arguments})").fetchall())  # noqa: S608 - our own macro
                slowest = max(slowest, time.perf_counter() - began)
        yield Figure(
            name=question.name, value=slowest * 1_000, unit="ms", promise=ANSWER_MS, note=f"{note}, {rows} rows"
        )


def _fill(database: duckdb.DuckDBPyConnection, transfers: int, now: int) -> None:
    """Rows spread evenly over the days, at offsets of their instants."""
    step = DAYS * DAY_US // transfers
    ids = {"tenant_id": "'tnt_1'", "program_id": "'prg_' || i % 20", "shard": "1", "reasons": _REASONS}
    scoring = {"transfer_id": "'trf_' || i", "score": _SCORE, "band": _BAND, "rescored": "false"}
    _insert(database, "transfer_features", transfers, now - DAYS * DAY_US, step, ids | scoring)
    event = {"event_id": "'evt_' || i", "result": "if(i % 50 = 0, 'duplicate', 'applied')"}
    _insert(database, "bank_events", 3 * transfers, now - DAYS * DAY_US, step // 3, ids | event)
    label = {"transfer_id": f"'trf_' || i * {_LABELLED_EVERY}", "label": "if(hash(i) % 5 = 0, 'bad', 'ok')"}
    label["program_id"] = f"'prg_' || (i * {_LABELLED_EVERY}) % 20"
    _insert(database, "labels", transfers // _LABELLED_EVERY, now - DAYS * DAY_US, step * _LABELLED_EVERY, ids | label)
    alert = {
        "id": "'alr_' || i",
        "closed_at": "if(i % 3 = 0, NULL, {at})",
        "sla_tier": "if(i % 2 = 0, 'standard', 'complex')",
    }
    _insert(database, "alerts", transfers // _ALERTED_EVERY, now - DAYS * DAY_US, step * _ALERTED_EVERY, ids | alert)
    decided = {"id": "'dsp_' || i", "alert_id": "'alr_' || i", "decided_by": "if(i % 2 = 0, 'policy:p', 'ann')"}
    _insert(
        database, "dispositions", transfers // _ALERTED_EVERY, now - DAYS * DAY_US, step * _ALERTED_EVERY, ids | decided
    )


def _insert(
    database: duckdb.DuckDBPyConnection, table: str, rows: int, since: int, step: int, values: Mapping[str, str]
) -> None:
    at = f"make_timestamp({since} + i * {step})"
    by_type = _BY_TYPE | {"TIMESTAMP": at}
    offset = {"offset": f"((({since} + i * {step}) // 1000) << {SEQ_BITS}) + i % 1000"}
    chosen = offset | dict(values)
    cells = (
        chosen.get(each.name, by_type[each.sql_type]).replace("{at}", at) for each in columns_of(dict(TABLES)[table])
    )
    database.execute(f"INSERT INTO {table} SELECT {', '.join(cells)} FROM range({rows}) AS numbers(i)")  # noqa: S608 - our own tables
