"""The desk of pre-flights: a proposed transfer, its answer in words, and the newest ones."""

from collections.abc import Mapping
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components.proposal import (
    PREFLIGHTS,
    answer,
    proposal_body,
    proposal_form,
    recent,
    typed_again,
)
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.preflight.schemas import PreflightRequest, PreflightsQuery, preflight_rules
from clearhold.features.core.errors import ErrorCode, NotFoundError, RiskError

PATH: Final = PREFLIGHTS
_REQUEST: Final = RequestSchema(PreflightRequest, rules=preflight_rules)
_NEWEST: Final = PreflightsQuery(limit=12)


async def show(visit: Visit) -> Answer:
    return await _page(visit, visit.query)


async def submit(visit: Visit) -> Answer:
    """Ask as the interface is asked; the answer has an address."""
    try:
        request, plain = _REQUEST.decode(msgspec.json.encode(proposal_body(visit.form)))
        answered = await visit.services.preflights.submit(
            visit.principal, request, plain, visit.effect_id(), arrived_at=visit.now
        )
    except RiskError as error:
        page = await _page(visit, visit.form, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return RedirectAnswer(f"{PREFLIGHTS}/{answered.preflight_id}")


async def show_answer(visit: Visit) -> Answer:
    """The answer with its explanation; the recorded reasons alone where the card cannot score any more."""
    services, principal, preflight_id = visit.services, visit.principal, visit.params["preflight_id"]
    detail = await services.preflight_reads.read(principal, preflight_id)
    try:
        explained = await services.explanations.preflight(principal, preflight_id)
    except NotFoundError as error:
        if error.code is not ErrorCode.SCORECARD_NOT_FOUND:
            raise
        explained = None
    return await _page(visit, typed_again(detail), answered=answer(detail, explained))


async def _page(
    visit: Visit, typed: Mapping[str, str], refused: str | None = None, *, answered: h.Node = None
) -> HtmlAnswer:
    programs = visit.services.programs.list(visit.principal, source=None)
    asks = (await visit.services.preflight_reads.page(visit.principal, _NEWEST)).data
    form = None if visit.signed_in.is_read_only else proposal_form(visit, programs, typed, refused)
    content = h.div(".preflight-desk")[
        h.header[
            h.h1["Pre-flight"],
            h.p["Ask before money moves: the answer has the score that the landed transfer would get."],
        ],
        form,
        h.div(".answers")[answered, recent(asks, {each.id: each.name for each in programs})],
    ]
    return HtmlAnswer("Pre-flight", content)
