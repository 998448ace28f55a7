"""The transfers of one party or account: a hundred a page, a filter in the address, and all of a filter as a file."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlencode

import htpy as h

from clearhold.api.console.components.days import day_bounds
from clearhold.api.console.components.limits import typed_cents
from clearhold.api.console.components.party_facts import transfer_table
from clearhold.api.console.components.settings import refusal
from clearhold.api.console.visit import Answer, ExportAnswer, HtmlAnswer, Visit
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import ExportFormat
from clearhold.api.transfers.service import (
    ExportQuery,
    TransferPage,
    TransfersQuery,
    TransferSummary,
    amounts_in_order,
)
from clearhold.features.core.errors import ErrorCode, InvalidRequestError, NotFoundError
from clearhold.features.core.vocabulary import Band, Direction, Rail
from clearhold.store.duck.party_timeline import TimelineSubject

PATH: Final = "/console/things/{kind:str}/{id:str}/transfers"
FILE: Final = f"{PATH}/file"
PAGE: Final = "100"
TRANSFER_FIELDS: Final[Mapping[str, str]] = {
    TimelineSubject.ENTITY: "entityId",
    TimelineSubject.COUNTERPARTY: "counterpartyId",
    TimelineSubject.ACCOUNT: "accountId",
}
"""The filter of transfers by kind of thing."""
_WORDS: Final = ("programId", "rail", "direction", "status", "band")
_AMOUNTS: Final[Mapping[str, str]] = {"least": "amountFrom", "most": "amountTo"}
_DAYS: Final = ("from", "to")
_LIST: Final = RequestSchema(TransfersQuery, rules=amounts_in_order)
_ALL: Final = RequestSchema(ExportQuery, rules=amounts_in_order)


async def show(visit: Visit) -> Answer:
    paging = [("limit", PAGE), *((name, visit.query[name]) for name in ("cursor",) if name in visit.query)]
    try:
        page = await visit.services.transfers.page(visit.principal, _LIST.read_query([*_filters(visit), *paging]))
    except InvalidRequestError as error:
        return _page(visit, None, error)
    return _page(visit, page, None)


async def file(visit: Visit) -> Answer:
    """All transfers of the filter, in the format of the address."""
    try:
        query = _ALL.read_query([*_filters(visit), ("format", visit.query.get("format", ExportFormat.CSV.value))])
        batches = await visit.services.transfers.export(visit.principal, query)
    except InvalidRequestError as error:
        return _page(visit, None, error)
    return ExportAnswer("transfers", batches, TransferSummary, query.format)


def transfers_path(kind: str, id_: str, program_id: str | None) -> str:
    query = f"?{urlencode({'programId': program_id})}" if program_id else ""
    return f"/console/things/{kind}/{quote(id_, safe='')}/transfers{query}"


def _filters(visit: Visit) -> list[tuple[str, str]]:
    """The filter of the address as that of the interface: amounts in cents, days as instants."""
    field = TRANSFER_FIELDS.get(visit.params["kind"])
    if field is None:
        raise NotFoundError("Of such a thing there is no list of transfers.", ErrorCode.PATH_NOT_FOUND)
    typed = _typed(visit)
    words = [(name, typed[name]) for name in _WORDS if name in typed]
    cents = [
        (name, str(typed_cents(typed[typed_name], typed_name)))
        for typed_name, name in _AMOUNTS.items()
        if typed_name in typed
    ]
    return [(field, visit.params["id"]), *words, *cents, *day_bounds(typed)]


def _typed(visit: Visit) -> dict[str, str]:
    """The fields of the filter that are not empty."""
    names = (*_WORDS, *_AMOUNTS, *_DAYS)
    return {name: text for name in names if (text := visit.query.get(name, "").strip())}


def _page(visit: Visit, page: TransferPage | None, refused: InvalidRequestError | None) -> HtmlAnswer:
    kind, id_ = visit.params["kind"], visit.params["id"]
    typed = _typed(visit)
    program = {"programId": typed["programId"]} if "programId" in typed else {}
    thing = f"/console/things/{kind}/{quote(id_, safe='')}" + (f"?{urlencode(program)}" if program else "")
    content = h.div(".thing")[
        h.header[h.p(".small")[h.a(href=thing)[kind]], h.h1["Transfers of ", h.code[id_]]],
        _form(typed, transfers_path(kind, id_, None), program),
        refusal(None if refused is None else str(refused)),
        None if page is None else _list(visit, page, typed),
    ]
    status = HTTPStatus.OK if refused is None else HTTPStatus.BAD_REQUEST
    return HtmlAnswer(f"Transfers of {id_}", content, status=status)


def _list(visit: Visit, page: TransferPage, typed: Mapping[str, str]) -> h.Node:
    every = transfers_path(visit.params["kind"], visit.params["id"], None)
    if not page.data and "cursor" not in visit.query:
        return h.p["No transfer fits this filter." if set(typed) - {"programId"} else "It has no transfers."]
    return [
        h.p(".files")[
            f"{len(page.data)} on this page, the newest first. All of this filter as a file: ",
            h.a(href=f"{every}/file?{urlencode({**typed, 'format': ExportFormat.CSV.value})}", download=True)["CSV"],
            " ",
            h.a(href=f"{every}/file?{urlencode({**typed, 'format': ExportFormat.NDJSON.value})}", download=True)[
                "NDJSON"
            ],
        ],
        transfer_table(page.data, "Transfers"),
        h.p(".pages")[
            h.a(href=f"?{urlencode(typed)}")["Newest"] if "cursor" in visit.query else None,
            " ",
            h.a(href="?" + urlencode(dict(typed) | {"cursor": page.next_cursor}))["Older"]
            if page.next_cursor is not None
            else None,
        ],
    ]


def _form(typed: Mapping[str, str], every: str, program: Mapping[str, str]) -> h.Element:
    """The filter; it sends a GET, and empty fields say nothing."""
    return h.form(".filter", method="get", action=every)[
        (h.input(type="hidden", name=name, value=value) for name, value in program.items()),
        _choice(typed, "rail", "Rail", Rail),
        _choice(typed, "direction", "Direction", Direction),
        _choice(typed, "band", "Band", Band),
        _field(typed, "status", "Status (bank's word)", placeholder="SETTLED"),
        _field(typed, "least", "Least amount", inputmode="decimal", placeholder="0.00"),
        _field(typed, "most", "Most amount", inputmode="decimal"),
        _field(typed, "from", "From day (UTC)", type="date"),
        _field(typed, "to", "To day", type="date"),
        h.div(".apply")[
            h.button(".main", type="submit")["Show"],
            h.a(".button", href=f"{every}?{urlencode(program)}" if program else every)["Clear"],
        ],
    ]


def _field(typed: Mapping[str, str], name: str, label: str, **attributes: str) -> h.Element:
    return h.label[label, h.input(attributes, name=name, value=typed.get(name, ""), autocomplete="off")]


def _choice(typed: Mapping[str, str], name: str, label: str, kinds: type[StrEnum]) -> h.Element:
    """One word of a closed list. Several in the address stay as one option."""
    words: Sequence[str] = [each.value for each in kinds]
    chosen = typed.get(name, "")
    several = [chosen] if chosen and chosen not in words else []
    return h.label[
        label,
        h.select(name=name)[
            h.option(value="")["any"],
            (
                h.option(value=each, selected=each == chosen)[each.replace("_", " ").replace(",", ", ")]
                for each in (*several, *words)
            ),
        ],
    ]
