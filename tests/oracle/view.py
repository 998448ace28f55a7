"""What a scoring sees: its subject, and every other transfer of the program as it was known at the subject's time."""

from typing import Final, NamedTuple

from clearhold.features.bank.statuses import UNAUTHORIZED_RETURN_CODES
from tests.oracle.facts import Baseline, Decline, Key, Known, Party, Program
from tests.oracle.flow import Flow, flow_of
from tests.oracle.reading import Purchase

NEWEST: Final = 64


class AtMost(int):
    """A count of which no more is promised: a search that looks at the newest 64 may miss some of a busier day."""


class Other(NamedTuple):
    """Another transfer, as it was known at an instant. Actor and node are those of today's log, owners merged."""

    id: str
    rail: str
    direction: str
    type: str | None
    own: int
    cents: int | None
    actor: Key | None
    party: Key | None
    node: Key | None
    card: Key | None
    moved: bool
    decline: Decline
    code: str | None
    returned_at: int
    purchase: Purchase = Purchase()
    country: str | None = None

    @property
    def flow(self) -> Flow:
        return flow_of(self.rail, self.direction, self.type)

    @property
    def is_originated_debit(self) -> bool:
        return (self.rail, self.direction, self.type) == ("ach", "outgoing", "DEBIT")

    @property
    def is_outgoing_ach(self) -> bool:
        return (self.rail, self.direction) == ("ach", "outgoing")

    @property
    def is_unauthorized(self) -> bool:
        """An originated debit that came back as unauthorized; a return that we send accuses nobody."""
        return self.is_originated_debit and self.code in UNAUTHORIZED_RETURN_CODES


class Subject(NamedTuple):
    """The transfer that is scored or asked about, with the newest that is known of it; ``id`` is None in a question."""

    id: str | None
    at: int
    rail: str
    direction: str
    type: str | None
    cents: int | None
    status: str | None
    country: str | None
    card_reason: str | None
    actor: Key | None
    party: Key | None
    details: Party
    node: Key | None
    card: Key | None
    moved: bool
    decline: Decline
    baseline: Baseline
    purchase: Purchase = Purchase()

    @property
    def flow(self) -> Flow:
        return flow_of(self.rail, self.direction, self.type)

    @property
    def counts(self) -> bool:
        """It is one of its actor's: somebody acts, and money moves."""
        return self.moved and self.actor is not None


def attempts_before(program: Program, known: Known | None, at: int) -> list[Other]:
    """Those other than one up to an instant, moved or not, in the order in which they were first heard of."""
    return [_seen(program, each, at) for each in program.transfers.values() if each is not known and each.own <= at]


def _seen(program: Program, known: Known, at: int) -> Other:
    returned_at, returned = known.returned.at(at)
    said = known.said
    return Other(
        id=said.id,
        rail=said.rail,
        direction=said.direction,
        type=said.type,
        own=known.own,
        cents=known.cents.at(at)[1],
        actor=program.same(known.actor.at(at)[1]),
        party=known.party.at(at)[1],
        node=program.same(known.node.at(at)[1]),
        card=known.card.at(at)[1],
        moved=known.moved.at(at)[1],
        decline=known.decline.at(at)[1],
        code=returned.code if returned is not None and not returned.undone else None,
        returned_at=returned_at,
        purchase=known.purchase.at(at)[1],
        country=known.place.at(at)[1],
    )


def subject_of(program: Program, known: Known, baseline: Baseline) -> Subject:
    said, party = known.said, known.party.last
    return Subject(
        id=said.id,
        at=known.own,
        rail=said.rail,
        direction=said.direction,
        type=said.type,
        cents=said.cents,
        status=said.status,
        country=known.country,
        card_reason=said.card_reason,
        actor=program.same(known.actor.last),
        party=party,
        details=Party() if party is None else program.parties[party],
        node=program.same(known.node.last),
        card=known.card.last,
        moved=known.moved.last,
        decline=known.decline.last,
        baseline=baseline,
        purchase=said.purchase,
    )


def within(others: list[Other], subject: Subject, window: int) -> list[Other]:
    """Those of ``(t - window, t]``."""
    return [other for other in others if other.own > subject.at - window]


def cents_of(others: list[Other]) -> int:
    """The sum of what is known in US cents."""
    return sum(other.cents for other in others if other.cents is not None)
