"""Bank events through the scorer, and what it said of every transfer.

``from_states`` applies them to the shards' own states, in order, by the same call as the flow: all of the service but
HTTP, the log and the store. ``from_service`` posts them, signed, to a ``clearhold serve`` and reads the scores back
from its export; that has no reasons in it. A transfer that was scored more than once counts with its newest score.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

import msgspec

from bench.detection.data import Answer
from bench.service import OPERATOR, Service
from bench.workbench import PREFIX, TENANT
from clearhold.client.client import ClearholdClient
from clearhold.client.event_lines import ByteStream, LineReader
from clearhold.client.event_replay import EventReplay, Tally, Target
from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import QuarantineRow, TransferRow
from clearhold.features.shard.shard import ShardState
from clearhold.store.data_dir import DEFAULT_SHARDS

Done = Callable[[int], None]
Scored = tuple[TransferFeaturesRow, TransferRow]

_STEP_EVENTS: Final = 2_000
_EXPORT_TIMEOUT_S: Final = 600.0
_RECORDED_WITHIN_S: Final = 600


class _Envelope(msgspec.Struct):
    created_at: str


class _Exported(msgspec.Struct, rename="camel"):
    id: str
    program_id: str
    rail: str
    amount_cents: str
    score: int | None


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_EXPORTED: Final = msgspec.json.Decoder(_Exported)


class Heard:
    """The newest scoring of each transfer that a shard emits, and the transfer as it is known then."""

    def __init__(self) -> None:
        self._scorings: dict[str, TransferFeaturesRow] = {}
        self._transfers: dict[str, TransferRow] = {}

    def __call__(self, row: msgspec.Struct) -> None:
        if isinstance(row, TransferFeaturesRow):
            self._scorings[row.transfer_id] = row
        elif isinstance(row, TransferRow):
            self._transfers[row.id] = row
        elif isinstance(row, QuarantineRow):
            raise SystemExit(f"{row.program_id}, offset {row.offset}: {row.error}")

    def scored(self) -> list[Scored]:
        return [(scoring, self._transfers[transfer_id]) for transfer_id, scoring in self._scorings.items()]


def from_states(files: list[Path], done: Done, heard_by: Callable[[], Heard] = Heard) -> Iterator[list[Scored]]:
    """One file a program, named after it; each in a separate state, since programs do not see each other."""
    for path in files:
        shard, heard = shard_of(path.stem, DEFAULT_SHARDS), heard_by()
        state = ShardState(shard)
        with path.open("rb") as lines:
            for offset, line in enumerate(lines, start=1):
                at = parse_instant(_ENVELOPE.decode(line).created_at)
                if at is None:
                    raise SystemExit(f"{path}, line {offset}: created_at is not a date-time.")
                if offset == 1:
                    program = msgspec.json.encode(
                        Program(id=path.stem, tenant_id=TENANT, slug=path.stem, name=path.stem)
                    )
                    state.apply(LogEntry(shard, 0, EntryKind.PROGRAM.value, path.stem, at, program), heard)
                state.apply(LogEntry(shard, offset, EntryKind.BANK.value, path.stem, at, line.rstrip()), heard)
                if offset % _STEP_EVENTS == 0:
                    done(_STEP_EVENTS)
        yield heard.scored()


def from_service(files: list[Path], done: Done) -> Iterator[Answer]:
    with TemporaryDirectory(prefix=PREFIX) as folder, Service(Path(folder) / "data") as service:
        admin_token = (Path(folder) / "data" / "admin.token").read_text().strip()
        with ClearholdClient(service.url, token=admin_token, operator=OPERATOR) as client:
            tenant = client.create_tenant(slug="bench", name="Bench")
            programs = [
                client.create_program({"tenantId": tenant["id"], "slug": path.stem, "name": path.stem})
                for path in files
            ]
        service.operator_token = tenant["operatorToken"]
        for path, program in zip(files, programs, strict=True):
            _post(path, Target(url=service.url, program_id=program["id"], secret=program["ingestSecret"]), done)
        for path in files:
            service.wait_for(_newest_transfer(path), within_s=_RECORDED_WITHIN_S)
        names = {program["id"]: program["slug"] for program in programs}
        yield from _exported(service, names)


def _post(path: Path, target: Target, done: Done) -> None:
    reported = 0

    def tell(tally: Tally) -> None:
        nonlocal reported
        done(tally.answered - reported)
        reported = tally.answered

    with path.open("rb") as lines:
        tally = EventReplay(target, LineReader(cast("ByteStream", lines))).run(tell)
    if tally.refused:
        raise SystemExit(f"{path}: {tally.refused} events were refused: {tally.first_refusals[0].sentence}")


def _newest_transfer(path: Path) -> str:
    """The transfer that was made known last: once it is recorded, so is all that came before it."""
    seen: dict[str, None] = {}
    with path.open("rb") as lines:
        for line in lines:
            event = msgspec.json.decode(line)
            if not event["type"].startswith(("identity.", "account.")):
                seen.setdefault(event["data"]["id"])
    return next(reversed(seen))


def _exported(service: Service, names: dict[str, str]) -> Iterator[Answer]:
    path, timeout = "/api/transfers/export", _EXPORT_TIMEOUT_S
    with service.client() as client, client.stream("GET", path, timeout=timeout) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            row = _EXPORTED.decode(line)
            yield Answer(row.id, names[row.program_id], row.rail, int(row.amount_cents), row.score, None, None)
