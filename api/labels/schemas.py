"""Labels as the interface takes and shows them: whether a transfer turned out `bad` or `ok`."""

from typing import Annotated, Final, Literal

import msgspec

from clearhold.api.http.fields import BankId, BankIds, CursorText, Moment, PageLimit, ProgramId, ProgramIds, Prose
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import LabelSource, LabelValue, about, minted

_TRANSFER_ID: Final = about("The bank's id of the transfer.")


class NewLabel(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have a transfer of that id.

    ``source`` is the author of the label; only the bank writes the label of a return.
    """

    transfer_id: Annotated[BankId, _TRANSFER_ID]
    label: LabelValue
    reason: Prose
    program_id: Annotated[
        ProgramId | None, about("The transfer's program; required where several have this transfer id.")
    ] = None
    source: Literal["person", "dispute", "law_enforcement"] = "person"


class LabelsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    transfer_id: BankIds | None = None
    program_id: ProgramIds | None = None
    label: Annotated[tuple[LabelValue, ...], msgspec.Meta(min_length=1, max_length=len(LabelValue))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Label(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The newest label of a transfer is the one that counts."""

    id: Annotated[str, minted("label")]
    transfer_id: Annotated[str, _TRANSFER_ID]
    program_id: str
    label: LabelValue
    reason: str
    source: LabelSource
    recorded_by: Annotated[str, about("Who recorded it.")]
    created_at: str
    simulated: Simulated = msgspec.UNSET


class LabelPage(ListPage[Label], frozen=True, kw_only=True, rename="camel"):
    pass
