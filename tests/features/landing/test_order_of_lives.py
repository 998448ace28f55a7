"""Transfers and parties in any order of delivery: the same final state and sums, and the oracle's vectors.

Each life is a path through the states of its rail, as the bank's reference tells them. Its steps are seconds apart, or
in one second, which the bank's times do not tell apart.
"""

from random import Random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.kris import KriName, KriValue
from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.kris.measure import measure_kris
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.shard.shard import ShardState
from tests.oracle.oracle import Oracle
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.oracle_agreement import differences

SENT: Final = ("INITIATED", "PENDING_SUBMISSION", "SUBMITTED", "SETTLED", "COMPLETED")
BACK: Final = ("RETURNED", "RETURN_DISHONORED", "RETURN_CONTESTED")
LIVES: Final = {
    "ach.outgoing_transfer": (
        (*SENT, *BACK),
        ("INITIATED", "MANUAL_REVIEW", "CANCELED"),
        ("INITIATED", "SUBMITTED", *BACK),
    ),
    "ach.incoming_transfer": (("SCHEDULED", "SETTLED", "COMPLETED", *BACK),),
    "wire.outgoing_transfer": (("INITIATED", "SUBMITTED", "COMPLETED"), ("INITIATED", "MANUAL_REVIEW", "REJECTED")),
    "swift.outgoing_transfer": (("INITIATED", "SUBMITTED", "COMPLETED", "PENDING_RETURN", "RETURNED"),),
    "realtime.outgoing_transfer": (
        ("initiated", "accepted", "completed"),
        ("initiated", "accepted", "blocked"),
        ("rejected",),
    ),
    "book.transfer": (("HOLD", "COMPLETED"), ("HOLD", "CANCELED")),
    "check.incoming_debit": (
        (
            "issued",
            "pending_deposit",
            "settled",
            "pending_first_return",
            "first_return",
            "pending_reclear",
            "recleared",
        ),
        ("issued", "pending_stop", "stopped"),
    ),
    "check.outgoing_debit": (("initiated", "deposited", "settled", "returned"), ("initiated", "rejected")),
    "card.authorization": (
        ("PENDING", "SETTLED"),
        ("PENDING", "VOIDED"),
        ("PENDING", "EXPIRED", "SETTLED"),
        ("DECLINED",),
    ),
}
BUILDERS: Final = {
    "ach": bank.an_ach_transfer,
    "wire": bank.a_wire,
    "swift": bank.an_international_wire,
    "realtime": bank.a_realtime_transfer,
    "book": bank.a_book_transfer,
    "check": bank.a_check,
    "card": bank.a_card_authorization,
}
ENTITY: Final = ("UNVERIFIED", "PENDING", "MANUAL_REVIEW", "VERIFIED", "DENIED")
STEP_CODES: Final = {"RETURN_DISHONORED": "R68", "RETURN_CONTESTED": "R73"}
ALL_KNOWN: Final = T0 + 2 * DAY_US
BY_FIRST_SIGHT: Final = {
    *("pair_first_time", "entity_new_parties_6h", "payer_received_cents_30d", "payer_sent_cents_30d"),
    *("first_chain_hops_14d", "first_middles_30d"),
}
"""Whether two parties have met is decided by the first snapshot of a transfer, so the order may change these."""

COMPARED: Final = [name for name in FeatureVector.__struct_fields__ if name not in BY_FIRST_SIGHT]
ON_SCORES: Final = {KriName.HOLD_SHARE}
Told = tuple[str, bank.Data, int]


def a_life(chance: Random, number: int) -> list[Told]:
    """The events of one transfer, in the order in which they happened."""
    resource = chance.choice(sorted(LIVES))
    family, _, middle = resource.partition(".")
    path = chance.choice(LIVES[resource])
    own = T0 + chance.randrange(40) * HOUR_US
    data = BUILDERS[family](id=f"trf_{number}", created_at=bank.rfc3339(own), entity_id=f"enti_{number % 2}")
    if "counterparty_id" in data:
        data["counterparty_id"] = f"cpty_{family}"  # of one account
    if "is_incoming" in data:
        data["is_incoming"] = middle.startswith("incoming")
    if family == "ach":
        data["type"] = chance.choice(("CREDIT", "DEBIT"))
    code, states_update = chance.choice(("R01", "R03", "R10", "R16", "R29")), chance.random() < 0.8
    events: list[Told] = []
    details: list[bank.Data] = []
    at = own
    for state in path[: chance.randint(1, len(path))]:
        at += chance.choice((0, 0, SECOND_US, 60 * SECOND_US))
        if family == "ach" and state in BACK:
            details = [*details, bank.a_return(STEP_CODES.get(state, code), at)]
        decision = (
            {"decision_reason": "SUSPECTED_FRAUD" if state == "DECLINED" else "APPROVED"} if family == "card" else {}
        )
        snapshot = data | decision | {"status": state, "updated_at": bank.rfc3339(at) if states_update else None}
        if family == "ach":
            snapshot |= {"return_details": details, "returned_at": details[0]["created_at"] if details else None}
        events.append((f"{resource}.{state.lower()}", snapshot, at))
    return events


def an_entity_life(chance: Random, number: int) -> list[Told]:
    events, at = [], T0 + chance.randrange(40) * HOUR_US
    path = ENTITY[: chance.randint(1, 3)] + chance.choice((("VERIFIED",), ("DENIED",), ()))
    for state in path:
        at += chance.choice((0, 0, SECOND_US))
        data = bank.an_entity(id=f"enti_{number}", verification_status=state, updated_at=bank.rfc3339(at))
        events.append(("identity.verification.updated", data, at))
    return events


def entries_of(events: list[Told], late: int) -> list[LogEntry]:
    """The first ``late`` events arrive in this order after all have happened, the others at their own times."""
    arrivals = [ALL_KNOWN + place * SECOND_US if place < late else at for place, (_, _, at) in enumerate(events)]
    return [
        bank.a_bank_entry(kind, data, offset=(place + 1) << 20, created_at=at, appended_at=arrivals[place])
        for place, (kind, data, at) in enumerate(events)
    ]


def probes() -> list[Told]:
    """One transfer of each entity, a day after the last event."""
    told = []
    for number, kind in enumerate(("wire.outgoing_transfer.completed", "ach.outgoing_transfer.settled")):
        at = ALL_KNOWN + DAY_US + number * HOUR_US
        build = bank.a_wire if kind.startswith("wire") else bank.an_ach_transfer
        times = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
        parties = {"entity_id": f"enti_{number}", "counterparty_id": f"cpty_{kind.partition('.')[0]}"}
        told.append((kind, build(id=f"probe_{number}", **parties, **times), at))
    return told


class End:
    """The final state after all events: transfers, sums, indicators and profiles."""

    def __init__(self, events: list[Told], ids: list[str]) -> None:
        state, oracle = ShardState(0), Oracle()
        self.disagreements: list[str] = []
        self.vectors: list[dict[str, Any]] = []
        self.shown: dict[str, tuple[Any, ...]] = {}
        told = [*events, *probes()]
        for place, entry in enumerate(entries_of(told, late=len(events))):
            rows: list[Any] = []
            state.apply(entry, rows.append)
            self.disagreements += differences(entry, rows, oracle.apply(entry))
            for row in rows:
                if isinstance(row, TransferFeaturesRow) and place >= len(events):
                    self.vectors.append({name: getattr(row.vector, name) for name in COMPARED})
                if isinstance(row, TransferRow):
                    newest = told[(row.raw_offset >> 20) - 1]
                    self.shown[row.id] = (row.status, row.amount_cents, row.return_code, row.returned_at, newest[0])
        (program,) = state.programs.values()
        self.kris: dict[KriName, KriValue] = {
            name: value
            for name, value in measure_kris(program, ALL_KNOWN + 2 * DAY_US).items()
            if name not in ON_SCORES
        }
        stored = [StoredTransfer.find(program, each) for each in ids]
        self.moved = [each is not None and each.record.moved for each in stored]
        returns = [None if each is None else each.returned() for each in stored]
        self.undone = [None if each is None else each.undone for each in returns]
        self.profiles = {
            actor.id: (actor.profile.words, actor.profile.order) for actor in program.actors if not actor.is_account
        }

    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "disagreements"}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_given_lives_when_they_are_delivered_in_any_order_then_there_is_one_end(seed: int) -> None:
    chance = Random(seed)
    lives = [a_life(chance, number) for number in range(chance.randint(1, 6))]
    lives += [an_entity_life(chance, number) for number in range(2) if chance.random() < 0.5]
    in_order = [event for life in lives for event in life]
    ids = [life[0][1]["id"] for life in lives if life[0][1]["id"].startswith("trf")]

    first = End(in_order, ids)

    assert not first.disagreements, first.disagreements
    for life in lives:
        if life[-1][1]["id"] in ids:
            assert first.shown[life[-1][1]["id"]][0] == life[-1][1]["status"].upper()
    for _ in range(3):
        chance.shuffle(in_order)
        other = End(in_order, ids)
        assert not other.disagreements, other.disagreements
        assert other.facts() == first.facts()
