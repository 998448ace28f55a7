"""Rows of a transfers CSV as bank events, for the converters beside this module.

Each customer is an entity with one account, made known a day before the first row. A transfer is two events where the
bank sends two: created at the row's time, settled or completed a few hours later, on the same day (a realtime payment
at once; incoming wires and realtime payments have one). A return, where the row has one, is a third. Ids follow from
the row's own id.

A book transfer as the bank delivers it has a sender and a receiver and no direction. Here ``sender_bank_account_id``
is always the customer's account and ``is_incoming`` says which way the money went: every row has its customer side.
"""

import csv
import gzip
import heapq
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

COLUMNS: Final = (
    "transfer_id",
    "ts",
    "from_id",
    "to_id",
    "amount_cents",
    "currency",
    "rail_hint",
    "type_hint",
    "return_code",
    "returned_at",
)
WRITE_BUFFER_BYTES: Final = 1_048_576

# Family: id prefix, then (type after the direction's word, status, hours later) for outgoing and for incoming.
LIVES: Final[dict[str, tuple[str, tuple[tuple[str, str, int], ...], tuple[tuple[str, str, int], ...]]]] = {
    "ach": (
        "acht",
        (("outgoing_transfer.initiated", "INITIATED", 0), ("outgoing_transfer.settled", "SETTLED", 18)),
        (("incoming_transfer.scheduled", "SCHEDULED", 0), ("incoming_transfer.settled", "SETTLED", 18)),
    ),
    "wire": (
        "wire",
        (("outgoing_transfer.initiated", "INITIATED", 0), ("outgoing_transfer.completed", "COMPLETED", 2)),
        (("incoming_transfer.completed", "COMPLETED", 2),),
    ),
    "realtime": (
        "rttr",
        (("outgoing_transfer.initiated", "initiated", 0), ("outgoing_transfer.completed", "completed", 0)),
        (("incoming_transfer.completed", "completed", 0),),
    ),
    "book": (
        "book",
        (("transfer.hold_created", "HOLD", 0), ("transfer.completed", "COMPLETED", 1)),
        (("transfer.hold_created", "HOLD", 0), ("transfer.completed", "COMPLETED", 1)),
    ),
    "card": (
        "ctxn",
        (("authorization.approved", "PENDING", 0), ("transaction.settled", "SETTLED", 20)),
        (("transaction.refunded", "REFUNDED", 0),),
    ),
}


class Row(msgspec.Struct, frozen=True, gc=False):
    """One line of the CSV. ``at`` and ``returned_at`` are RFC 3339."""

    id: str
    at: str
    from_id: str
    to_id: str
    cents: int
    currency: str
    family: str
    hint: str
    return_code: str
    returned_at: str


class Side(msgspec.Struct, frozen=True, gc=False):
    """How one program sees a row."""

    program: str
    customer: str
    other: str
    incoming: bool
    suffix: str = ""  # keeps the receiving bank's ids apart from the sending bank's


def rows_in(path: Path) -> Iterator[Row]:
    """The rows, which must be in order of time."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        lines = csv.reader(file)
        if tuple(next(lines, ())) != COLUMNS:
            raise SystemExit(f"{path} does not begin with the columns {', '.join(COLUMNS)}.")
        last = ""
        for number, line in enumerate(lines, start=2):
            if len(line) != len(COLUMNS) or line[1] < last or line[6] not in LIVES:
                raise SystemExit(f"{path}, line {number}: not a row, out of order, or of a rail unknown here.")
            last = line[1]
            row_id, at, from_id, to_id, cents, currency, family, hint, code, returned_at = line
            yield Row(row_id, at, from_id, to_id, int(cents), currency, family, hint, code, returned_at)


class EventFiles:
    """One NDJSON file a program, in order of ``created_at``."""

    def __init__(self, folder: Path, programs: tuple[str, ...]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._stack = ExitStack()
        self._files: dict[str, BinaryIO] = {
            program: self._stack.enter_context((folder / f"{program}.ndjson").open("wb", buffering=WRITE_BUFFER_BYTES))
            for program in programs
        }
        self._later: list[tuple[str, int, str, bytes]] = []
        self._sequence = 0
        self._clock = _Clock()
        self._encode = msgspec.json.Encoder().encode
        self.events = dict.fromkeys(programs, 0)
        self.transfers = dict.fromkeys(programs, 0)

    def introduce(self, program: str, customer: str, *, first_at: str, number: int) -> None:
        """A customer, a day before ``first_at``: created, verified, and with an account."""
        at = self._clock.later(first_at, -24)
        person = {"first_name": customer, "last_name": "", "pep_status": "no"}
        for step, (kind, status) in enumerate((("created", "PENDING"), ("verification.verified", "VERIFIED"))):
            data = {"id": f"enti_{customer}", "type": "PERSON", "verification_status": status, "person_details": person}
            stamps = {"last_screened_at": at, "created_at": at, "updated_at": at}
            self._put(program, at, f"evnt_e{number}-{step}", f"identity.{kind}", {**data, **stamps})
        account = {"id": f"bacc_{customer}", "type": "CHECKING", "owners": [f"enti_{customer}"], "status": "open"}
        self._put(program, at, f"evnt_a{number}", "account.created", {**account, "created_at": at})

    def add(self, row: Row, side: Side) -> None:
        """A transfer as one program sees it."""
        self._flush(row.at)
        prefix, *lives = LIVES[row.family]
        life = lives[side.incoming]
        self.transfers[side.program] += 1
        data = {"id": f"{prefix}_{row.id}{side.suffix}", "status": "", **_object_of(row, side), "created_at": row.at}
        for step, (kind, status, hours) in enumerate(life):
            at = self._clock.later(row.at, hours) if hours else row.at
            now = {**data, "status": status, "updated_at": at}
            self._schedule(side.program, at, f"evnt_{row.id}{side.suffix}-{step}", f"{row.family}.{kind}", now)
        if row.return_code and row.family == "ach":
            at = row.returned_at or self._clock.later(row.at, 48)
            details = [{"return_code": row.return_code, "description": "", "created_at": at, "updated_at": at}]
            now = {**data, "status": "RETURNED", "returned_at": at, "return_details": details, "updated_at": at}
            way = "incoming" if side.incoming else "outgoing"
            self._schedule(side.program, at, f"evnt_{row.id}{side.suffix}-r", f"ach.{way}_transfer.returned", now)

    def close(self) -> None:
        self._flush("~")
        self._stack.close()

    def _schedule(self, program: str, at: str, event_id: str, kind: str, data: dict[str, Any]) -> None:
        self._sequence += 1
        body = self._encode({"id": event_id, "created_at": at, "type": kind, "data": data})
        heapq.heappush(self._later, (at, self._sequence, program, body))

    def _flush(self, until: str) -> None:
        """Write the rows due before ``until``; RFC 3339 texts of one form sort as their instants do."""
        while self._later and self._later[0][0] < until:
            _, _, program, body = heapq.heappop(self._later)
            self._write(program, body)

    def _put(self, program: str, at: str, event_id: str, kind: str, data: dict[str, Any]) -> None:
        self._write(program, self._encode({"id": event_id, "created_at": at, "type": kind, "data": data}))

    def _write(self, program: str, body: bytes) -> None:
        self.events[program] += 1
        self._files[program].write(body + b"\n")


class _Clock:
    """Adds hours to RFC 3339 texts; remembers the sums, as many rows share a time."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int], str] = {}

    def later(self, at: str, hours: int) -> str:
        text = self._sums.get((at, hours))
        if text is None:
            moment = datetime.fromisoformat(at) + timedelta(hours=hours)
            text = self._sums[at, hours] = moment.isoformat().replace("+00:00", "Z")
        return text


def _object_of(row: Row, side: Side) -> dict[str, Any]:
    """The fields that do not change over the transfer's life."""
    account = f"bacc_{side.customer}"
    common = {"amount": row.cents, "currency_code": row.currency, "description": row.hint, "is_incoming": side.incoming}
    if row.family == "book":
        return {**common, "sender_bank_account_id": account, "receiver_bank_account_id": f"bacc_{side.other}"}
    if row.family == "card":
        merchant = {"id": f"mrch_{side.other}", "name": side.other}
        return {**common, "bank_account_id": account, "decision": "APPROVED", "merchant": merchant}
    fields = {**common, "bank_account_id": account, "counterparty_id": f"cpty_{side.other}"}
    if row.family == "ach":
        names = {"company_name": side.other} if side.incoming else {"receiver_name": side.other}
        return {**fields, "type": "CREDIT", "entry_class_code": "PPD", **names, "return_details": []}
    if row.family == "wire":
        return {**fields, "originator_name": row.from_id, "beneficiary_name": row.to_id}
    return fields
