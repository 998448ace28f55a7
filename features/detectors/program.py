"""Detectors of a whole program, run on each of its snapshots: an indicator over the policy's line.

An indicator is in breach strictly over its line; some detectors already fire at the line, and two have further
conditions, so that a program that moves little is not alerted for moving twice as much.

Errors  none: an unmeasured indicator opens no alert
Source  named at each detector; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from clearhold.features.bank.statuses import ADMINISTRATIVE_RETURN_CODES, UNAUTHORIZED_RETURN_CODES
from clearhold.features.catalogue.kris import KriName, KriStatus, KriValue
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60, HOURS_24, HOURS_48, month_of_day
from clearhold.features.core.money import counted, money
from clearhold.features.detectors.detector import (
    HIGH,
    MEDIUM,
    Figures,
    Grade,
    IndicatorLine,
)
from clearhold.features.detectors.places import (
    NAMED,
    SupportingTransfers,
    moved,
    newest_of_program,
    places_of,
    supporting,
    within,
)
from clearhold.features.detectors.table import (
    FREEZES,
    OVERDRAFT,
    PROGRAM_DETECTORS,
    RUN_RATE_FROM_DAYS,
    VELOCITY,
    VELOCITY_FLOOR_CENTS,
    VELOCITY_FLOOR_DAYS,
    VOLUME,
    VOLUME_HIGH_PERCENT,
)
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.kri_windows import RCK
from clearhold.features.state.program import ProgramState
from clearhold.features.state.read_transfers import MOST_READ
from clearhold.features.state.transfer_table import NO_PLACES, Places

_VELOCITY_DAYS: Final = 30


class ProgramSnapshot(NamedTuple):
    """A snapshot for detectors: the state of the program at that instant, and its indicators."""

    program: ProgramState
    id: str
    at: int
    kris: Mapping[KriName, KriValue]


class ProgramFinding(NamedTuple):
    """An indicator of the program over its line. ``until`` is the end of its alert's window."""

    detector: str
    kri: KriName
    sentence: str
    figures: Figures
    grade: Grade
    until: int


def program_findings(snapshot: ProgramSnapshot) -> list[ProgramFinding]:
    """The indicators over their lines in a snapshot; usually none."""
    findings = [_over(snapshot, each.id, each.line) for each in PROGRAM_DETECTORS if each.line is not None]
    findings += (_daily_volume(snapshot), _monthly_volume(snapshot), _account_events(snapshot))
    return [finding for finding in findings if finding is not None]


def _over(snapshot: ProgramSnapshot, detector: str, line: IndicatorLine) -> ProgramFinding | None:
    reading = snapshot.kris.get(line.kri)
    if reading is None or reading.value is None or reading.threshold is None or reading.status is KriStatus.UNMEASURED:
        return None
    if not line.is_over(reading.value, reading.threshold):
        return None
    sentence = line.sentence(reading.value, reading.n, reading.threshold)
    if isinstance(reading.note, str):
        sentence = f"{sentence} {reading.note}"
    return ProgramFinding(detector, line.kri, sentence, {}, line.grade, snapshot.at + DAYS_30)


def _daily_volume(snapshot: ProgramSnapshot) -> ProgramFinding | None:
    """The last 24 hours against the usual day of 30 days, of a program that moves money on many of them."""
    program, at = snapshot.program, snapshot.at
    reading = snapshot.kris.get(KriName.VOLUME_VELOCITY)
    if reading is None or reading.value is None or reading.threshold is None or reading.value < reading.threshold:
        return None
    count, cents = program.baseline.amounts.measure(at - HOURS_24, at)
    if cents < VELOCITY_FLOOR_CENTS:
        return None
    active_days = _active_days(program, at - HOURS_24)
    if active_days < VELOCITY_FLOOR_DAYS:
        return None
    return ProgramFinding(
        VELOCITY,
        KriName.VOLUME_VELOCITY,
        f"{money(cents)} in {counted(count, 'transfer')} in 24 hours, {reading.value:.4g} times a usual day of the "
        "last 30.",
        {"program.sum24hCents": cents, "program.count24h": count, "program.activeDays30d": active_days},
        MEDIUM,
        at + HOURS_48,  # one busy day is in the sums of 24 hours that end on two
    )


def _active_days(program: ProgramState, upto: int) -> int:
    """The days with a transfer among the 30 days that end at an instant."""
    amounts = program.baseline.amounts
    return sum(1 for day in range(_VELOCITY_DAYS) if amounts.count(upto - (day + 1) * DAY_US, upto - day * DAY_US))


def _monthly_volume(snapshot: ProgramSnapshot) -> ProgramFinding | None:
    """The month to date against the declaration, and after day 7 the month's projection at its present rate."""
    program, at = snapshot.program, snapshot.at
    reading = snapshot.kris.get(KriName.DECLARED_VOLUME_USE)
    declared = program.declared_at(at).monthly_volume_cents
    if reading is None or reading.value is None or reading.threshold is None or not declared:
        return None
    start, end = month_of_day(at // DAY_US)
    elapsed = at + 1 - start
    count, cents = program.baseline.amounts.measure(start - 1, at)
    is_projected = elapsed > RUN_RATE_FROM_DAYS * DAY_US
    projected = cents * (end - start) // elapsed if is_projected else cents
    is_high = projected * 100 >= VOLUME_HIGH_PERCENT * declared
    if reading.value < reading.threshold and not is_high:
        return None
    projection: Figures = {"program.projectedMonthCents": projected} if is_projected else {}
    at_this_rate = f" At this rate the month reaches {money(projected)}." if is_projected else ""
    return ProgramFinding(
        VOLUME,
        KriName.DECLARED_VOLUME_USE,
        f"{money(cents)} in {counted(count, 'transfer')} this month; the program declared {money(declared)}."
        f"{at_this_rate}",
        {
            "program.monthToDateCents": cents,
            **projection,
            "program.countMonth": count,
            "program.declaredMonthlyVolumeCents": declared,
        },
        HIGH if is_high else MEDIUM,
        end,
    )


def _account_events(snapshot: ProgramSnapshot) -> ProgramFinding | None:
    """Any freeze, or the number of overdrafted accounts at their line."""
    overdrafts = snapshot.kris.get(KriName.OVERDRAFT_EVENTS)
    freezes = snapshot.kris.get(KriName.FREEZE_EVENTS)
    if overdrafts is None or freezes is None or overdrafts.threshold is None:
        return None
    overdrafted, frozen = int(overdrafts.value or 0), int(freezes.value or 0)
    if frozen < FREEZES and (not overdrafted or overdrafted < overdrafts.threshold):
        return None
    return ProgramFinding(
        OVERDRAFT,
        KriName.FREEZE_EVENTS if frozen else KriName.OVERDRAFT_EVENTS,
        f"{frozen} frozen and {overdrafted} overdrawn of {overdrafts.n} accounts in 30 days; the limits are 1 and "
        f"{overdrafts.threshold:.6g}.",
        {"program.freezes30d": frozen, "program.overdraftedAccounts30d": overdrafted},
        MEDIUM,
        snapshot.at + DAYS_30,
    )


class Parts(NamedTuple):
    """``actor_ids`` are entities or accounts, the newest ``NAMED`` of them."""

    transfers: SupportingTransfers = supporting(NO_PLACES, 0)
    actor_ids: tuple[str, ...] = ()
    counterparty_id: str | None = None


def parts_of(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    """The support of the finding."""
    parts = _PARTS.get(finding.detector)
    return Parts() if parts is None else parts(snapshot, finding)


def _returned(keep: Callable[[str | None, str | None], bool]) -> Callable[[ProgramSnapshot, ProgramFinding], Parts]:
    """The newest returns of 60 days, of debits that the program sent; ``keep`` gets return code and SEC code."""

    def parts(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
        program, at, rows = snapshot.program, snapshot.at, list[int]()
        for row in islice(reversed(program.returned), MOST_READ):
            state = program.returned[row]
            if state.counts and at - DAYS_60 < state.at <= at:
                transfer = StoredTransfer.read(program, row)
                sec_code = program.strings.text(transfer.record.sec_code)
                if transfer.is_originated() and transfer.record.moved and keep(state.code, sec_code):
                    rows.append(row)
        reading = snapshot.kris[finding.kri]
        return Parts(supporting(places_of(program, rows), round((reading.value or 0) * reading.n)))

    return parts


def _newest_moved(snapshot: ProgramSnapshot, after: int) -> Places:
    program = snapshot.program
    return newest_of_program(program, after, snapshot.at, lambda places: moved(program, places))


def _of_a_day(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    places = _newest_moved(snapshot, snapshot.at - HOURS_24)
    return Parts(supporting(places, int(finding.figures["program.count24h"])))


def _of_the_month(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    start, _ = month_of_day(snapshot.at // DAY_US)
    places = _newest_moved(snapshot, start - 1)
    return Parts(supporting(places, int(finding.figures["program.countMonth"])))


def _to_the_most_paid(snapshot: ProgramSnapshot, _finding: ProgramFinding) -> Parts:
    """The transfers of 30 days to the counterparty that was paid most, and its id."""
    program = snapshot.program
    party = program.counterparties.all[program.kri_windows.now.most_paid_party()]
    edges = program.graph.into.get(party.node)
    places = within(program, [] if edges is None else [edges], snapshot.at - DAYS_30, snapshot.at, NAMED)
    total = 0 if edges is None else edges.count_between(snapshot.at - DAYS_30, snapshot.at, as_of=snapshot.at)
    return Parts(supporting(places, total), counterparty_id=None if party.unlisted else party.id)


def _accounts(snapshot: ProgramSnapshot, _finding: ProgramFinding) -> Parts:
    return Parts(actor_ids=tuple(snapshot.program.kri_facts.troubled_accounts(snapshot.at))[-NAMED:])


def _denied(snapshot: ProgramSnapshot, _finding: ProgramFinding) -> Parts:
    program = snapshot.program
    return Parts(actor_ids=tuple(program.actors[actor].id for actor in program.kri_facts.denied(snapshot.at))[-NAMED:])


_PARTS: Final[Mapping[str, Callable[[ProgramSnapshot, ProgramFinding], Parts]]] = {
    "unauthorized_return_rate": _returned(lambda code, _: code in UNAUTHORIZED_RETURN_CODES),
    "administrative_return_rate": _returned(lambda code, _: code in ADMINISTRATIVE_RETURN_CODES),
    "overall_return_rate": _returned(lambda _, sec_code: sec_code != RCK),
    "program_velocity": _of_a_day,
    "volume_vs_declared": _of_the_month,
    "concentration": _to_the_most_paid,
    "overdraft_or_freeze": _accounts,
    "verification_denial": _denied,
}
