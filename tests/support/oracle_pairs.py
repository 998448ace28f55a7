"""The oracle's acquaintances: every meeting is kept in a list, and every field counts it anew."""

from typing import Any, Final

from features.core.instants import DAY_US
from tests.support.oracle_facts import Known, Meeting, Program
from tests.support.oracle_graph import edge_of
from tests.support.oracle_others import Other

WINDOW_US: Final = 90 * DAY_US
RARE_AT_MOST: Final = 3

Fields = dict[str, Any]


def pair_fields(program: Program, subject: Known, others: list[Other], at: int) -> Fields:
    recent = [other for other in others if other.own > at - WINDOW_US]
    rare = [meeting for meeting in program.rare_meetings if at - WINDOW_US < meeting.own <= at]
    fields: Fields = {
        "program_transfers_90d": len(recent),
        "program_rare_pairs_90d": sum(1 for meeting in rare if meeting.transfer_id != subject.reading.id),
        "pair_first_time": None,
        "payer_new_payees_90d": None,
        "payee_new_payers_90d": None,
    }
    edge = edge_of(subject, at)
    if edge.source is None or edge.target is None:
        return fields
    met = [meeting for meeting in program.meetings if meeting.own <= at]
    own = [meeting for meeting in met if (meeting.source, meeting.target) == (edge.source, edge.target)]
    fields["pair_first_time"] = all(meeting.transfer_id == subject.reading.id for meeting in own)
    if min((other.own for other in others), default=at) <= at - WINDOW_US:
        is_new = not own and subject.moved.last
        lately = [meeting for meeting in met if meeting.own > at - WINDOW_US]
        fields["payer_new_payees_90d"] = sum(1 for each in lately if each.source == edge.source) + is_new
        fields["payee_new_payers_90d"] = sum(1 for each in lately if each.target == edge.target) + is_new
    return fields


def take_note(program: Program, subject: Known, fields: Fields, at: int) -> None:
    """What a transfer that moved when it was first seen leaves behind."""
    if not subject.moved.last:
        return
    edge = edge_of(subject, at)
    meeting = Meeting(edge.source, edge.target, at, subject.reading.id)
    counts = (fields["payer_new_payees_90d"], fields["payee_new_payers_90d"])
    if fields["pair_first_time"] and None not in counts and max(counts) <= RARE_AT_MOST:
        program.rare_meetings.append(meeting)
    is_new = all((each.source, each.target) != (edge.source, edge.target) for each in program.meetings)
    if is_new and None not in (edge.source, edge.target):
        program.meetings.append(meeting)
