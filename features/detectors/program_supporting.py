"""The support of a finding on a program: transfers, accounts or entities, and the counterparty that was paid most.

Window  the indicator's own, up to the snapshot
Errors  none: a finding without such support rests on its snapshot alone
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from clearhold.features.bank.return_codes import ADMINISTRATIVE_RETURN_CODES, UNAUTHORIZED_RETURN_CODES
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60, HOURS_24, month_of_day
from clearhold.features.detectors.program import ProgramFinding, ProgramSnapshot
from clearhold.features.detectors.subjects import NAMED, READ, Places, SupportingTransfers, newest_of_program
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.kri_windows import RCK
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferBrief


class Parts(NamedTuple):
    """``actor_ids`` are entities or accounts, the newest ``NAMED`` of them."""

    transfers: SupportingTransfers = SupportingTransfers((), 0)
    actor_ids: tuple[str, ...] = ()
    counterparty_id: str | None = None


def parts_of(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    """The support of the finding."""
    parts = _PARTS.get(finding.detector)
    return Parts() if parts is None else parts(snapshot, finding)


def _named(places: Places, total: int) -> SupportingTransfers:
    newest = sorted(places)[-NAMED:]
    return SupportingTransfers(tuple(row for _, row in newest), max(total, len(places)))


def _returned(keep: Callable[[str | None, str | None], bool]) -> Callable[[ProgramSnapshot, ProgramFinding], Parts]:
    """The newest returns of 60 days, of debits that the program sent; ``keep`` gets return code and SEC code."""

    def parts(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
        program, at, places = snapshot.program, snapshot.at, Places()
        for row in islice(reversed(program.returned), READ):
            state = program.returned[row]
            if state.counts and at - DAYS_60 < state.at <= at:
                transfer = StoredTransfer.read(program, row)
                sec_code = program.strings.text(transfer.record.sec_code)
                if transfer.is_originated() and transfer.record.moved and keep(state.code, sec_code):
                    places.add((transfer.record.at, row))
        reading = snapshot.kris[finding.kri]
        return Parts(_named(places, round((reading.value or 0) * reading.n)))

    return parts


def _moved(_program: ProgramState, record: TransferBrief) -> bool:
    return record.moved


def _of_a_day(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    places = newest_of_program(snapshot.program, snapshot.at - HOURS_24, snapshot.at, _moved)
    return Parts(_named(places, int(finding.figures["program.count24h"])))


def _of_the_month(snapshot: ProgramSnapshot, finding: ProgramFinding) -> Parts:
    start, _ = month_of_day(snapshot.at // DAY_US)
    places = newest_of_program(snapshot.program, start - 1, snapshot.at, _moved)
    return Parts(_named(places, int(finding.figures["program.countMonth"])))


def _to_the_most_paid(snapshot: ProgramSnapshot, _finding: ProgramFinding) -> Parts:
    """The transfers of 30 days to the counterparty that was paid most, and its id."""
    program = snapshot.program
    party = program.counterparties.all[program.kri_windows.now.most_paid_party()]
    edges = program.graph.into.get(party.node)
    places = Places() if edges is None else set(edges.newest_places(snapshot.at - DAYS_30, snapshot.at, NAMED))
    total = 0 if edges is None else edges.count_between(snapshot.at - DAYS_30, snapshot.at, as_of=snapshot.at)
    return Parts(_named(places, total), counterparty_id=None if party.unlisted else party.id)


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
