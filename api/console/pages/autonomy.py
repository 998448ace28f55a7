"""The request of another step of autonomy on a program: narrower at once, wider with a second person."""

from http import HTTPStatus
from typing import Final

import htpy as h
import msgspec

from clearhold.api.autonomy.routes import TierRequest
from clearhold.api.console.components.autonomy import STEPS
from clearhold.api.console.components.settings import refusal
from clearhold.api.console.components.words import outsider
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.entries.actions import TIERS, AutonomyTier
from clearhold.features.core.errors import NotFoundError, RiskError
from clearhold.features.policy.program_autonomy import ProgramAutonomy

PATH: Final = "/console/programs/{program_id:str}/autonomy"
_REQUEST: Final = RequestSchema(TierRequest)


async def show(visit: Visit) -> Answer:
    return await _page(visit, None)


async def change(visit: Visit) -> Answer:
    program_id = visit.params["program_id"]
    sent = {name: visit.form.get(name) for name in ("tier", "note")}
    try:
        request, _ = _REQUEST.decode(msgspec.json.encode(sent))
        changed = await visit.services.autonomy.change(visit.principal, program_id, request, visit.effect_id())
    except NotFoundError:
        raise
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    done = "changed" if isinstance(changed, ProgramAutonomy) else "requested"
    return RedirectAnswer(f"/console/programs/{program_id}?{done}=autonomy#autonomy")


async def _page(visit: Visit, refused: str | None) -> HtmlAnswer:
    services, principal, program_id = visit.services, visit.principal, visit.params["program_id"]
    program = services.programs.read(principal, program_id)
    autonomy = await services.autonomy.read(principal, program_id)
    back = f"/console/programs/{program.id}"
    content = h.div(".thing")[
        h.header[
            h.p(".small")[h.a(href=f"{back}#autonomy")[outsider(program.name)]],
            h.h1["What the platform closes alone"],
        ],
        h.p["This session reads and does not change it."]
        if visit.signed_in.is_read_only
        else visit.form_of(
            f"{back}/autonomy",
            refusal(refused),
            h.fieldset[h.legend["The step"], (_step(visit, autonomy, tier) for tier in TIERS)],
            h.label(for_="note")["Why, for the record and for the second person"],
            h.textarea("#note", name="note", rows="3", required=True, maxlength="8000")[visit.form.get("note", "")],
            h.p[h.button(".main", type="submit")["Change the step"]],
            keep=f"{program.id}.autonomy",
            **{"class": "steps-form"},
        ),
    ]
    return HtmlAnswer("What the platform closes alone", content, status=HTTPStatus.OK)


def _step(visit: Visit, autonomy: ProgramAutonomy, tier: AutonomyTier) -> h.Element:
    """A step with who has to agree to it."""
    place, present = TIERS.index(tier), TIERS.index(autonomy.tier)
    who = "in force; again for withdrawn detectors, with a second person" if place == present else ""
    who = who or ("at once, by one person" if place < present else "needs a second person")
    return h.label(".tick")[
        h.input(
            type="radio", name="tier", value=tier.value, required=True, checked=visit.form.get("tier") == tier.value
        ),
        h.span[h.b[tier.value], f": {STEPS[tier]} ", h.span(".small")[who]],
    ]
