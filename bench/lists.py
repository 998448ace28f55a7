"""How long do the screens of a bank take that has 200 programs and 10,000 waiting alerts?

The programs of a real ``clearhold serve`` are created over HTTP. Then the service is stopped, the alerts and the
snapshots of indicators are written into its tables, and it is started again: 10,000 alerts that wait, a third of them
held with their transfers, among ten times as many that are closed, in 2,000 stacks, spread over 60 days, with evidence
of the usual size; snapshots every six hours of 30 days. Each path is read alone, for the processor time that it costs
the service. The first read is some seconds after the start, which takes the waiting alerts into memory. Each path is
read twice before it is measured, which takes its rows into memory.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import msgspec

from bench.graph import transfer_id_of, transfer_row
from bench.harness import Figure, Promise, Run, percentile
from bench.readers import read_in_turn
from bench.service import Service
from bench.stream_events import Traffic
from bench.workbench import PREFIX
from clearhold.features.catalogue.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.canonical import json_text
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import EntityRow, KriSnapshotRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.tables import row_tables

PROGRAMS: Final = 200
WAITING: Final = 10_000
CLOSED_FOR_EACH: Final = 10
OVERVIEW: Final = Promise(100)
PAGE: Final = Promise(30)
STACKS: Final = Promise(30)
_HISTORY_US: Final = 60 * DAY_US
_PAUSE_US: Final = 6 * HOUR_US
_SNAPSHOT_DAYS: Final = 30
_ALONE: Final = 40
_SHARD: Final = 0
_SETTLED_S: Final = 5
_ENTITIES: Final = 2_000
_BATCH: Final = 5_000
_EVIDENCE: Final = json_text(
    {
        "finding": "8 transfers in 24 h, 4.0 times the usual of a day.",
        "amountCents": "125000",
        "currency": "USD",
        "restsOnCount": 8,
        "transferIds": [f"acht_2zExampleOfATransfer{number:04}" for number in range(8)],
        "restsOn": [],
        "features": {f"counterparty.feature{number}": number for number in range(60)},
        "thresholds": {f"threshold{number}": str(number) for number in range(20)},
    }
)


def run(run: Run) -> Iterator[Figure]:
    programs, waiting = run.size(PROGRAMS, 20), run.size(WAITING, 1_000)
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        now = time.time_ns() // 1_000
        known = service.programs(
            [Traffic(f"program{number}", entities=1, counterparties=1) for number in range(programs)]
        )
        ids = [each.feed.program_id for each in known]
        service.stop()
        run.say(f"writing {waiting:,} waiting alerts and {waiting * CLOSED_FOR_EACH:,} closed ones")
        with closing(open_database(service.database_path)) as database:
            write_bank(BatchWriter(database), service.tenant_id, ids, waiting, now)
        service.start()
        time.sleep(_SETTLED_S)
        note = f"{programs} programs, {waiting:,} waiting alerts, {waiting * CLOSED_FOR_EACH:,} closed"
        yield from _read_alone(run, service, note)


def write_bank(
    writer: BatchWriter,
    tenant_id: str,
    ids: list[str],
    waiting: int,
    now: int,
    *,
    draft: str | None = None,
) -> None:
    """The alerts, parties and snapshots of a tenant with these programs. With a draft, alerts are of no transfer, so
    that each can be read whole.
    """
    alerts = waiting * (1 + CLOSED_FOR_EACH)
    random = Random(1)
    for first in range(0, alerts, _BATCH):
        rows = [
            _alert(random, tenant_id, ids, number, alerts, now, draft)
            for number in range(first, min(alerts, first + _BATCH))
        ]
        writer.commit(row_tables({AlertRow: rows}), {}, now)
    held = [number for number in range(alerts) if _status(number) == "held"]
    transfers = [
        msgspec.structs.replace(
            transfer_row(random, number, alerts, now, "PENDING"), tenant_id=tenant_id, program_id=ids[number % len(ids)]
        )
        for number in held
    ]
    entities = [_entity(tenant_id, ids, number, now) for number in range(_ENTITIES)]
    snapshots = [
        _snapshot(random, tenant_id, program_id, number, step, now)
        for step in range(_SNAPSHOT_DAYS * DAY_US // _PAUSE_US)
        for number, program_id in enumerate(ids)
    ]
    writer.commit(row_tables({EntityRow: entities, KriSnapshotRow: snapshots, TransferRow: transfers}), {}, now)


def _alert(
    random: Random, tenant_id: str, ids: list[str], number: int, alerts: int, now: int, draft: str | None
) -> AlertRow:
    opened_at = now - _HISTORY_US + number * _HISTORY_US // alerts
    status = _status(number)
    return AlertRow(
        tenant_id,
        ids[number % len(ids)],
        f"00000000-0000-4000-8000-{number:012}",
        _SHARD,
        number + 1,
        detector="velocity_spike",
        severity=random.choice(["low", "medium", "high"]),
        subject_type="entity",
        subject_id=f"enti_{number % _ENTITIES}",
        transfer_id=transfer_id_of(number) if draft is None else None,
        summary="velocity_spike on an entity: 8 transfers in 24 h, 4.0 times the usual of a day.",
        evidence=_EVIDENCE,
        score_at_alert=random.randrange(101),
        band_at_alert=random.choice(["clear", "review", "hold"]),
        hard_signal=False,
        status=status,
        route="reviewed",
        policy_version="policy-v1",
        opened_at=opened_at,
        closed_at=opened_at if status == "closed" else None,
        dedupe_key=str(number),
        due_at=opened_at + DAY_US * random.randrange(1, 62),
        escalated_at=None,
        sla_tier="standard",
        appeal_of=None,
        draft=draft or _EVIDENCE,
        alert_sha256="0" * 64,
        updated_at=opened_at,
        from_history=False,
        queue_rank=(random.randrange(12) << RANK_INSTANT_BITS) + opened_at,
        stack_id=f"00000000-0000-5000-8000-{number % _ENTITIES:012}",
        stack_kind="entity",
        stack_key=f"enti_{number % _ENTITIES}",
    )


def _status(number: int) -> str:
    """One of ``CLOSED_FOR_EACH`` + 1 waits, and every third of these is held."""
    turn, closed = divmod(number, 1 + CLOSED_FOR_EACH)
    if closed:
        return "closed"
    return "open" if turn % 3 else "held"


def _entity(tenant_id: str, ids: list[str], number: int, now: int) -> EntityRow:
    return EntityRow(
        tenant_id,
        ids[number % len(ids)],
        f"enti_{number}",
        _SHARD,
        number + 1,
        type="PERSON",
        name=f"Person {number}",
        verification_status="VERIFIED",
        is_high_risk=False,
        pep_status="no",
        requires_screening=False,
        review_reasons="[]",
        last_screened_at=None,
        country_code="US",
        legal_type=None,
        expected_payment_rails="[]",
        raw="{}",
        created_at=now,
        updated_at=now,
    )


def _snapshot(random: Random, tenant_id: str, program_id: str, number: int, step: int, now: int) -> KriSnapshotRow:
    at = now - _SNAPSHOT_DAYS * DAY_US + step * _PAUSE_US
    kris = {
        name: KriValue(value=0.01, n=100, unit=KriUnit.RATIO, threshold=0.05, status=random.choice([*KriStatus]))
        for name in KriName
    }
    return KriSnapshotRow(
        tenant_id,
        program_id,
        f"snapshot_{number}_{step}",
        _SHARD,
        1 + step,
        cause="scheduled",
        as_of_at=at,
        window_days=60,
        kris=msgspec.json.encode(kris).decode(),
        program_score=random.randrange(101),
        program_score_n=18,
        program_score_version="prs-v1",
        band="review",
        created_at=at,
    )


def _read_alone(run: Run, service: Service, note: str) -> Iterator[Figure]:
    count, headers = run.size(_ALONE, 10), service.operator_headers
    with service.client() as client:
        began = time.perf_counter()
        first = client.get("/api/counts").raise_for_status()
        yield Figure(name="first read", value=1e3 * (time.perf_counter() - began), unit="ms", note=note)
        run.say(f"{first.json()['waiting']:,} alerts wait")
        paths = _paths(client)
        sizes = {name: len(client.get(path).raise_for_status().content) for name, (path, _) in paths.items()}
    for name, (path, promise) in paths.items():
        read_in_turn(service.address, path, headers, count=2)
        began_s = service.processor_s()
        latencies = sorted(read_in_turn(service.address, path, headers, count=count))
        each_ms = 1e3 * (service.processor_s() - began_s) / count
        times = f"p50 {percentile(latencies, 0.5):.0f} ms, p95 {percentile(latencies, 0.95):.0f} ms of {count}"
        yield Figure(
            name=f"{name}, processor time",
            value=each_ms,
            unit="ms",
            promise=promise,
            beside=times,
            note=f"{sizes[name]:,} bytes",
        )


def _paths(client: httpx.Client) -> dict[str, tuple[str, Promise | None]]:
    waiting = "status=open,held,escalated&limit=100"
    by_due = f"/api/alerts/summaries?sort=dueAt&{waiting}"
    later = by_due
    for _ in range(5):
        later = f"{by_due}&cursor={client.get(later).raise_for_status().json()['nextCursor']}"
    return {
        "overview of programs": ("/api/programs/overview", OVERVIEW),
        "100 summaries, the worst first": (f"/api/alerts/summaries?{waiting}", PAGE),
        "100 summaries by due time": (by_due, PAGE),
        "100 summaries by due time, the sixth page": (later, PAGE),
        "100 summaries by score": (f"/api/alerts/summaries?sort=score&{waiting}", PAGE),
        "100 summaries of all alerts": ("/api/alerts/summaries?limit=100", None),
        "100 whole alerts, the worst first": (f"/api/alerts?{waiting}", None),
        "100 stacks, the worst first": ("/api/stacks?limit=100", STACKS),
        "100 stacks by due time": ("/api/stacks?sort=dueAt&limit=100", STACKS),
        "100 stacks with a hold band": ("/api/stacks?band=hold&sort=score&limit=100", STACKS),
        "100 stacks with held alerts": ("/api/stacks?status=held&limit=100", STACKS),
        "100 stacks by held money": ("/api/stacks?sort=heldCents&limit=100", STACKS),
        "counts": ("/api/counts", None),
    }
