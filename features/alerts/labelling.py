"""Labels by returns: an unauthorized return labels its transfer bad, and one that no longer stands labels it ok again.

A return stands until it is dishonoured. The label is lifted only while no person has labelled the transfer.
"""

from features.alerts.rows import derived_from
from features.bank.return_codes import UNAUTHORIZED_RETURN_CODES
from features.core.log_entry import EntryPosition
from features.core.rows.alerts import LabelRow
from features.core.vocabulary import LabelSource, LabelValue
from features.landing.landing import LandingResult
from features.state.program import ProgramState
from features.state.transfer_table import ReturnState


def stands_unauthorized(returned: ReturnState) -> bool:
    return returned.code in UNAUTHORIZED_RETURN_CODES and returned.counts


def label_by_return(program: ProgramState, landed: LandingResult) -> LabelValue | None:
    """The label that this delivery gives: bad for a return, ok when it is lifted, or None. The book remembers it."""
    labelled, returned = program.alerts.labelled_by_return, program.returned.get(landed.row_index)
    if landed.row_index not in labelled:
        if returned is None or not stands_unauthorized(returned):
            return None
        labelled.add(landed.row_index)
        return LabelValue.BAD
    if returned is None or returned.counts:
        return None
    labelled.remove(landed.row_index)
    return None if landed.row_index in program.alerts.labelled_by_person else LabelValue.OK


def return_label_row(
    program: ProgramState, landed: LandingResult, label: LabelValue, position: EntryPosition
) -> LabelRow:
    """The label as a row, with the return code that gave or lifted it."""
    transfer = landed.row
    assert transfer is not None, "a transfer with a return was stored"
    code = transfer.return_code
    is_bad = label is LabelValue.BAD
    return LabelRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        id=derived_from(transfer.id, f"{program.id}/{position.offset}"),
        shard=position.shard,
        offset=position.offset,
        transfer_id=transfer.id,
        label=label.value,
        reason=f"Returned as {code}." if is_bad else f"The return as {code} was dishonoured.",
        source=LabelSource.RETURN.value,
        recorded_by="bank",
        created_at=position.event_at,
    )
