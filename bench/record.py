"""How fast is a chain of a million links verified, from its stored bodies and as an export?

Links are appended as the committer does, in batches, to DuckDB and to the chain's file. Then the service's own check
runs over all of them, the record is exported, the export is checked as ``clearhold verify`` does, and the chain is
signed again after it has grown. Beside the checks stands the hashing alone: the same bodies, sha256 and nothing else.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from bench.harness import Figure, Promise, Run
from bench.workbench import PREFIX
from clearhold.api.record.service import LINES_A_BATCH
from clearhold.features.core.canonical import Chain
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.flows.scorer.scoring import GC_THRESHOLDS
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record.chain import ChainWriter
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.export_check import ExportCheck
from clearhold.store.record.reading import RecordFilter, RecordReader, Verification
from clearhold.store.record.signed_trees import opened_note
from clearhold.store.tables import row_tables

LINKS: Final = 1_000_000
QUICK_LINKS: Final = 100_000
BATCH: Final = 2_000
LINKS_A_SECOND: Final = Promise(100_000, at_least=True)
TENANT: Final = "c2a5a1de-52a5-4c53-9b7e-0d5c8a3f6e21"
_AT: Final = 1_790_000_000_000_000
_DIGEST: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_NARRATIVE: Final = (
    "The transfer is in line with the payroll of this entity, which was paid on the same day of each month."
)
_BODY: Final = (
    '{{"alertId":"{number:032x}","alertSha256":null,"confidence":null,"createdAt":"2026-09-22T10:00:00.000Z",'
    '"decidedBy":"policy:policy-v1","decision":"close","id":"{number:032x}","narrative":"' + _NARRATIVE + '",'
    '"narrativeModel":null,"note":"' + _DIGEST + '","overturnsDraft":null,"policySha256":null,'
    '"policyVersion":"policy-v1","recommendation":"close","tenantId":"' + TENANT + '"}}'
)


class Record:
    """A tenant's record in a separate directory."""

    def __init__(self, folder: Path, database: duckdb.DuckDBPyConnection) -> None:
        clock = SystemClock()
        self.operator = Principal(kind=PrincipalKind.OPERATOR, id="operator", tenant_id=TENANT, tenant="bench")
        self.keys = SigningKeys.open(
            folder / "keys.json", box=SecretBox(bytes(32)), clock=clock, purposes=(KeyPurpose.CHECKPOINT,)
        )
        chains = ChainWriter(database, folder / "record")
        chains.open()
        self.writer = BatchWriter(database, chains)
        log = CheckpointLog(database, folder / "record")
        self.checkpoints = RecordCheckpoints(
            database,
            log,
            signing_keys=self.keys,
            clock=clock,
            origin_of=lambda tenant_id, chain: f"bench.example/{tenant_id}/{chain}",
        )
        self.verification = Verification(database, log, self.keys)
        self.reader = RecordReader(database, lambda _: [])

    def append(self, first: int, count: int) -> None:
        facts = [_fact(number) for number in range(first, first + count)]
        self.writer.commit(row_tables({ChainFactRow: facts}), {0: first + count}, _AT)

    def sign(self) -> str:
        return self.checkpoints.sign(self.operator, Chain.DISPOSITIONS).note


def run(run: Run) -> Iterator[Figure]:
    gc.set_threshold(*GC_THRESHOLDS)  # as the service does
    links = run.size(LINKS, QUICK_LINKS)
    with TemporaryDirectory(prefix=PREFIX) as name, closing(open_database(Path(name) / "clearhold.duckdb")) as database:
        record = Record(Path(name), database)
        yield _appended(run, record, links)
        began = time.perf_counter()
        note = record.sign()
        first_ms = (time.perf_counter() - began) * 1e3
        hashing = _hashing_alone(links)
        yield _verified(record, links, hashing)
        yield from _exported(record, links, note, hashing)
        yield _signed_again(record, links, first_ms)


def _appended(run: Run, record: Record, links: int) -> Figure:
    began = time.perf_counter()
    with run.counting(f"{links:,} links", links) as done:
        for first in range(0, links, BATCH):
            record.append(first, BATCH)
            done(BATCH)
    took = time.perf_counter() - began
    return Figure(name="appended", value=links / took, unit="links/s", note=f"{BATCH:,} a commit, file fsynced")


def _verified(record: Record, links: int, hashing: float) -> Figure:
    began = time.perf_counter()
    check = record.verification.check(record.operator, Chain.DISPOSITIONS)
    took = time.perf_counter() - began
    assert (check.checked, check.broken_at) == (links, None)
    return Figure(
        name="verified from the stored bodies, with the checkpoint's tree",
        value=links / took,
        unit="links/s",
        promise=LINKS_A_SECOND,
        ratio=links / took / hashing,
        beside=f"sha256 over the same bodies: {hashing:,.0f}/s",
        note=f"{links:,} links",
    )


def _exported(record: Record, links: int, note: str, hashing: float) -> Iterator[Figure]:
    """Lines are checked as they come, so that a million of them need not be held."""
    keys = record.keys.public_keys(KeyPurpose.CHECKPOINT)
    check, reading, checking = ExportCheck([opened_note(note, keys)]), 0.0, 0.0
    batches = record.reader.export(record.operator, RecordFilter(), LINES_A_BATCH)
    while True:
        began = time.perf_counter()
        lines = next(batches, None)
        read_at = time.perf_counter()
        reading += read_at - began
        if lines is None:
            break
        for line in lines:
            check.take(line + b"\n")
        checking += time.perf_counter() - read_at
    (chain,) = check.finish()
    assert (chain.links, chain.signed) == (links, links)
    yield Figure(name="exported", value=links / reading, unit="lines/s")
    yield Figure(
        name="an export verified offline",
        value=links / checking,
        unit="links/s",
        promise=LINKS_A_SECOND,
        ratio=links / checking / hashing,
        beside=f"sha256 over the same bodies: {hashing:,.0f}/s",
    )


def _signed_again(record: Record, links: int, first_ms: float) -> Figure:
    record.append(links, BATCH)
    began = time.perf_counter()
    record.sign()
    took_ms = (time.perf_counter() - began) * 1e3
    return Figure(
        name=f"a checkpoint after {BATCH:,} more links",
        value=took_ms,
        unit="ms",
        ratio=took_ms / first_ms,
        beside=f"the first of a process, over all of them: {first_ms:,.0f} ms",
    )


def _hashing_alone(links: int) -> float:
    bodies = [_BODY.format(number=number).encode() for number in range(min(links, QUICK_LINKS))]
    began = time.perf_counter()
    for body in bodies:
        sha256(body).hexdigest()
    return len(bodies) / (time.perf_counter() - began)


def _fact(number: int) -> ChainFactRow:
    body = _BODY.format(number=number)
    return ChainFactRow(TENANT, "program", "dispositions", f"{number:032x}", 0, number, body, _AT + number)
