"""Labels: whether a transfer turned out bad or ok. Requested here, and recorded by the flow, which knows the transfers.

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, and for a transfer id that several programs have; UnavailableError when it is not recorded in time
"""

from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
import structlog

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import BankId, BankIds, CursorText, Moment, PageLimit, ProgramId, ProgramIds, Prose
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_operation, write_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, ListReader, filter_of, place_by, place_key, to_answer
from clearhold.api.transfers.service import find_transfer
from clearhold.features.core.entries.commands import LabelEntry
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue, about, minted
from clearhold.store.duck.alerts import LabelFilter, Labels
from clearhold.store.duck.transfers import Transfers

_TAG: Final = "labels"
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


log = structlog.get_logger()


class LabelService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs, self._commands = resources.programs, resources.command_log
        self._labels, self._transfers = Labels(database), Transfers(database)
        self._list = ListReader(
            self._labels.list_page, lambda _, rows: [*map(self._marked, rows)], place_by("created_at"), place_key
        )

    async def record(self, principal: Principal, request: NewLabel, effect_id: str | None) -> Label:
        """The label; a repeated ``effect_id`` returns the first one."""
        result = await self._commands.carried_out(principal, effect_id)
        if result is None:
            find = partial(find_transfer, self._programs, self._transfers, principal, request.transfer_id)
            program_id = (await in_reader(find, request.program_id)).row.program_id
            label = partial(
                LabelEntry,
                transfer_id=request.transfer_id,
                label=request.label,
                reason=request.reason,
                source=LabelSource(request.source),
                recorded_by=principal.operator,
            )
            result = await self._commands.submit(principal, EntryKind.LABEL, program_id, label, effect_id=effect_id)
        row = await in_reader(self._labels.find, principal, result.id)
        assert row is not None, "a label that was made has a row"
        log.info("label_recorded", label_id=row.id, transfer_id=row.transfer_id, operator=principal.operator)
        return self._marked(row)

    async def page(self, principal: Principal, query: LabelsQuery) -> LabelPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = filter_of(LabelFilter, query, self._programs.filter_by(principal, query.program_id))
        return LabelPage.of(*await self._list.page(principal, wanted, query))

    def _marked(self, row: LabelRow) -> Label:
        return self._programs.marked(to_answer(row, Label), row.program_id)


LABEL: Final[dict[str, Any]] = examples_of(__file__)["label"]
NEW_LABEL: Final = {name: LABEL[name] for name in ("transferId", "label", "reason", "programId")}
_RECORD: Final = Operation(
    id="recordLabel",
    tag=_TAG,
    summary="Labels a transfer `bad` or `ok` once its outcome is known. The newest label of a transfer counts. "
    "400 if several programs have a transfer of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.LABELS,
    answers={201: Label},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.TRANSFER_NOT_FOUND, ErrorCode.NOT_CONFIRMED),
    body=RequestSchema(NewLabel),
    example=NEW_LABEL,
    answer_example=LABEL,
)
_LIST: Final = list_operation(
    "listLabels",
    tag=_TAG,
    summary="Labels, newest first, including labels that a later one of the same transfer replaced.",
    scope=KeyScope.LABELS,
    page=LabelPage,
    query=LabelsQuery,
    example=LABEL,
)


AREA: Final = Area(
    routes=(
        write_route("/api/labels", _RECORD, _TAG, LabelService.record),
        answer_route("/api/labels", _LIST, _TAG, LabelService.page),
    ),
    provide={_TAG: LabelService},
)
