"""The supporting transfers of a finding, for evidence that an outsider can count again.

Window  each detector's, up to the finding's own time; transfers count with their present state
Errors  none: a detector without a rule here rests on the transfer alone
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from clearhold.features.bank.statuses import FROZEN_RETURN_CODE, STOP_RETURN_CODES, UNAUTHORIZED_RETURN_CODES
from clearhold.features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, SMALL_CARD_BELOW_CENTS
from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.instants import DAYS_7, DAYS_30, DAYS_60, HOUR_US, HOURS_24, HOURS_48
from clearhold.features.core.money import OUTGOING_CLASSES
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.detectors.detector import AlertSubject, DetectionContext, Finding
from clearhold.features.detectors.places import (
    NAMED,
    Flags,
    Keep,
    SupportingTransfers,
    alike,
    are_below,
    but_cards,
    declined,
    flags,
    fraud_declined,
    in_thousands,
    in_zone,
    joined,
    kept,
    micro,
    moved,
    newest_of_program,
    of_cards,
    of_classes,
    originated,
    places_of,
    supporting,
    within,
)
from clearhold.features.limits.caps import period_of
from clearhold.features.state.transfer_table import COUNTERPARTY, NO_PLACES, ROW, Places, ReturnState
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor
from clearhold.features.windows.series import ALWAYS

FOLLOW_MONEY: Final = frozenset({"round_trip", "layering_hops", "scatter_gather", "gather_scatter"})
"""The detectors that follow money from transfer to transfer; their evidence shows its path."""

LIMIT: Final = "limit"
"""The figure that names the kind of a cap that was crossed."""
_of_outgoing: Final = of_classes(OUTGOING_CLASSES)
_BANKING_DAYS_2: Final = 4 * HOURS_24  # two banking days and a weekend between them

Support = Callable[[DetectionContext, AlertSubject, int], Places]
_LIMIT_COUNT: Final = "limitCount"
"""The figure with the number of transfers behind a crossed cap; only the newest of them are read."""
_COUNTED_OF_PROGRAM: Final[Mapping[str, str]] = {
    "micro_entry_abuse": "program_micro_entries_24h",
    "card_testing": "program_card_attempts_1h",
    "card_decline_mix": "program_card_fraud_declines_24h",
}
_SPANS: Final[Mapping[str, int]] = {
    "velocity_spike": HOURS_24,
    "dormant_reactivation": HOURS_24,
    "kyc_unverified_moving": DAYS_7,
}


def rests_on(context: DetectionContext, finding: Finding) -> SupportingTransfers:
    """The supporting transfers of the finding, its own included."""
    rest = _RESTS.get(finding.figures.get(LIMIT, finding.detector.id))
    places = NO_PLACES if rest is None else rest(context, finding.subject, finding.at)
    own = context.landed.row_index
    if (rest is None or finding.at == context.at) and (not places.size or places[ROW, -1] != own):
        places = joined(places, places_of(context.program, (own,)))
    return supporting(places, max(_counted(context, finding), default=0))


def _counted(context: DetectionContext, finding: Finding) -> Iterator[int]:
    """The counts of transfers that are too many to be read each time."""
    counted = finding.figures.get(_LIMIT_COUNT)
    if isinstance(counted, int):
        yield counted
    if finding.subject.type is SubjectType.PROGRAM and finding.detector.id in _COUNTED_OF_PROGRAM:
        yield getattr(context.vector, _COUNTED_OF_PROGRAM[finding.detector.id]) or 0
    span = _SPANS.get(finding.detector.id)
    if span is not None:
        edges = _edges_at(context, finding.subject)
        yield sum(each.count_between(finding.at - span, finding.at, as_of=finding.at) for each in edges)


def _edges_at(context: DetectionContext, subject: AlertSubject) -> list[Edges]:
    """All edges of the subject, when it is a party of the transfer, else of the transfer's actor."""
    program = context.program
    node = _node_of(context, subject)
    if node == NOBODY:
        return []
    graph = program.graph
    sides = (graph.into.get(node), graph.out.get(node), graph.alone.get(node))
    return [edges for edges in sides if edges is not None]


def _node_of(context: DetectionContext, subject: AlertSubject) -> int:
    actor, party = context.landed.parties
    if party is not None and subject.type is SubjectType.COUNTERPARTY and party.id == subject.id:
        return context.program.node_of(party)
    return NOBODY if actor is None else node_of_actor(actor.index)


def _window(span: int, keep: Keep | None = None) -> Support:
    """The subject's transfers of a time before the finding: the newest, or the newest for which ``keep`` is true."""

    def rest(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
        edges = _edges_at(context, subject)
        if keep is None:
            return within(context.program, edges, at - span, at, NAMED)
        places = within(context.program, edges, at - span, at)
        return kept(places, keep(context, places))

    return rest


def _side(span: int, *, payer: bool, into: bool) -> Support:
    """The transfers into, or out of, the payer or the payee of the transfer."""

    def rest(context: DetectionContext, _subject: AlertSubject, at: int) -> Places:
        nodes = context.transfer.nodes()
        graph = context.program.graph
        edges = (graph.into if into else graph.out).get(nodes[0 if payer else 1])
        return NO_PLACES if edges is None else within(context.program, [edges], at - span, at)

    return rest


def _both(*rests: Support) -> Support:
    def rest(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
        return joined(*(each(context, subject, at) for each in rests))

    return rest


def _of_strangers(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    """The day's transfers with counterparties that are new to the program on that day."""
    program, after = context.program, at - HOURS_24
    places, known = within(program, _edges_at(context, subject), after, at), program.counterparties.all
    parties = places[COUNTERPARTY].tolist()
    strangers = {party for party in {*parties} if party >= 0 and known[party].times.begins_after(after, at)}
    return kept(places, flags([party in strangers for party in parties])) if strangers else NO_PLACES


def _of_account(context: DetectionContext, _subject: AlertSubject, at: int) -> Places:
    """The transfers to and from the counterparties that carry the account."""
    program, party = context.program, context.counterparty
    if party is None:
        return NO_PLACES
    sharing = {party.index: party}
    if party.routing is not None and party.last4 is not None:
        sharing |= {other.index: other for other in program.counterparties.sharing(party.routing, party.last4)}
    nodes = {program.node_of(other) for other in sharing.values()}
    sides = (program.graph.into, program.graph.out)
    places = within(program, [side[node] for node in nodes for side in sides if node in side], at - DAYS_30, at)
    return kept(places, flags([party in sharing for party in places[COUNTERPARTY].tolist()]))


def _returned_since(
    context: DetectionContext, subject: AlertSubject, after: int, at: int, keep: Callable[[ReturnState], bool]
) -> Places:
    """The subject's newest transfers since ``after`` whose return counts and is kept."""
    places = within(context.program, _edges_at(context, subject), after, at)
    states = map(context.program.returned.get, places[ROW].tolist())
    return kept(
        places, flags([state is not None and state.counts and state.at <= at and keep(state) for state in states])
    )


def _returned(span: int, codes: frozenset[str] | None) -> Support:
    """The subject's transfers returned in a time before the finding, with one of the codes."""
    return lambda context, subject, at: _returned_since(
        context,
        subject,
        at - span - DAYS_60,
        at,
        lambda state: at - span < state.at and (codes is None or state.code in codes),
    )


def _frozen(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    """The newest entries with the subject that came back as R16, however long ago."""
    return _returned_since(context, subject, ALWAYS, at, lambda state: state.code == FROZEN_RETURN_CODE)


def _abused(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    """The entity's returns of 30 days, and the return with this counterparty that forbids the debit."""
    party = context.counterparty
    places = _returned(DAYS_30, None)(context, subject, at)
    if party is not None and context.vector.counterparty_stop_return_days is not None:
        of_party = AlertSubject(SubjectType.COUNTERPARTY, party.id)
        places = joined(places, _returned(DAYS_30, STOP_RETURN_CODES)(context, of_party, at))
    return places


def _gathered_by_middles(context: DetectionContext, _subject: AlertSubject, at: int) -> Places:
    """The payments to the payee, and the payments to its payers by third parties that paid several of them."""
    program = context.program
    graph, payee = program.graph, context.transfer.nodes()[1]
    into = graph.into.get(payee)
    if into is None:
        return NO_PLACES
    gathered = into.near(at - DAYS_7, at, but=NOBODY, as_of=at)
    spread: list[tuple[int, int, int]] = []
    for middle in dict.fromkeys(gathered.others):
        edges = graph.into.get(middle)
        if edges is not None:
            near = edges.near(at - DAYS_7, at, but=NOBODY, as_of=at)
            spread += [(row, origin, middle) for row, origin in zip(near.rows, near.others, strict=True)]
    reached = Counter(origin for origin, _ in {(origin, middle) for _, origin, middle in spread})
    rows = {row for row, origin, _ in spread if reached[origin] >= SCATTER_GATHER_MIDDLES}
    return places_of(program, rows.union(gathered.rows))


def _path(context: DetectionContext, _subject: AlertSubject, _at: int) -> Places:
    return places_of(context.program, (*context.assessment.layering, *context.assessment.round_trip))


def _attempts(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    """The attempts of the card in an hour that were declined or small; all of the hour for the program."""
    if subject.type is SubjectType.PROGRAM:
        return _of_program(HOUR_US, of_cards)(context, subject, at)
    edges = context.program.attempts.get(context.transfer.card())
    places = within(context.program, [] if edges is None else [edges], at - HOUR_US, at)
    return kept(places, declined(context, places) | are_below(places, SMALL_CARD_BELOW_CENTS))


def _of_program(span: int, keep: Keep) -> Support:
    """The program's newest transfers of a time, among the newest that it has."""
    return lambda context, _subject, at: newest_of_program(context.program, at - span, at, partial(keep, context))


def _micro_entries(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    if subject.type is not SubjectType.PROGRAM:
        return _window(HOURS_24, micro)(context, subject, at)
    return _of_program(HOURS_24, _moved_micro)(context, subject, at)


def _moved_micro(context: DetectionContext, places: Places) -> Flags:
    return moved(context.program, places) & micro(context, places)


def _debits(kind: CapKind) -> Support:
    """The program's newest ACH debits of the day or the month."""
    return lambda context, subject, at: _of_program(at + 1 - period_of(kind, at)[0], originated)(context, subject, at)


def _sent_today(context: DetectionContext, subject: AlertSubject, at: int) -> Places:
    """The outgoing transfers of the transfer's actor on the day."""
    places = within(context.program, _edges_at(context, subject), period_of(CapKind.ENTITY_DAILY, at)[0] - 1, at)
    return kept(places, _of_outgoing(context, places))


_IN_AND_OUT: Final = _window(HOURS_48, but_cards)
_GATHERED: Final = _side(DAYS_7, payer=True, into=True)
_PAID_OUT: Final = _side(DAYS_7, payer=True, into=False)
_RESTS: Final[Mapping[int | str, Support]] = {
    "structuring_pattern": _window(DAYS_7, in_zone),
    "repeated_amount": _window(HOURS_24, alike),
    "round_amount": _window(DAYS_30, in_thousands),
    "micro_entry_abuse": _micro_entries,
    "velocity_spike": _window(HOURS_24),
    "dormant_reactivation": _window(HOURS_24),
    "fan_in": _side(DAYS_7, payer=False, into=True),
    "fan_out": _PAID_OUT,
    "scatter_gather": _gathered_by_middles,
    "gather_scatter": _both(_GATHERED, _PAID_OUT),
    "rapid_in_out": _IN_AND_OUT,
    "funnel_mule": _both(_GATHERED, _IN_AND_OUT),
    "round_trip": _path,
    "layering_hops": _path,
    "new_counterparty_burst": _of_strangers,
    "counterparty_shared": _of_account,
    "return_code_abuse": _abused,
    "unauthorized_return": _returned(DAYS_60, UNAUTHORIZED_RETURN_CODES),
    "sanctions_return": _frozen,
    "ach_float": _window(_BANKING_DAYS_2, but_cards),
    "kyc_unverified_moving": _window(DAYS_7),
    "card_testing": _attempts,
    "card_decline_mix": _of_program(HOURS_24, fraud_declined),
    CapKind.ACH_DEBIT_DAILY.value: _debits(CapKind.ACH_DEBIT_DAILY),
    CapKind.ACH_DEBIT_MONTHLY.value: _debits(CapKind.ACH_DEBIT_MONTHLY),
    CapKind.ENTITY_DAILY.value: _sent_today,
    CapKind.ENTITY_VELOCITY_24H.value: _window(HOURS_24),
}
