"""The workspace: one stack with its evidence, why it scored so, and the decision on it."""

from typing import Final

import htpy as h
import msgspec

from clearhold.api.alerts.schemas import AlertDetail
from clearhold.api.console.components.words import band_mark, count, key, moment, money, outsider, time_left
from clearhold.api.console.pages.queue import PATH as QUEUE
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.explain.service import TransferExplained
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.stacks.schemas import Stack, StackDecisionRequest, StackDetail
from clearhold.api.transfers.service import TransferQuery
from clearhold.features.core.errors import NotFoundError
from clearhold.features.core.vocabulary import WAITING, AlertDecision
from clearhold.features.measurement.explanation import NO_AMOUNT, FamilyExplained

_DECISION: Final = RequestSchema(StackDecisionRequest)
_WORDS: Final = {
    AlertDecision.HOLD: ("Hold", "h"),
    AlertDecision.ESCALATE: ("Escalate", "e"),
    AlertDecision.CLOSE: ("Close", "c"),
    AlertDecision.RELEASE: ("Release", "r"),
    AlertDecision.NO_ACTION: ("No action", "n"),
}


class WorkspaceView(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows. ``worst`` is the alert that stands for the stack."""

    stack: Stack
    detail: StackDetail
    worst: AlertDetail
    explained: TransferExplained | None
    program: str


async def show(visit: Visit) -> Answer:
    view = await _view(visit, visit.params["stack_id"])
    return HtmlAnswer(view.stack.who.name or view.stack.who.id, _page(visit, view))


async def decide(visit: Visit) -> Answer:
    """Sign the decision on the alerts that the page showed; alerts that joined since are left."""
    sent = {
        "decision": visit.form.get("decision"),
        "narrative": visit.form.get("narrative"),
        "alertIds": [each for each in visit.form.get("alertIds", "").split(",") if each],
    }
    request, _ = _DECISION.decode(msgspec.json.encode(sent))
    await visit.services.stacks.decide(visit.principal, visit.params["stack_id"], request, visit.effect_id())
    return RedirectAnswer(QUEUE)


async def _view(visit: Visit, stack_id: str) -> WorkspaceView:
    services, principal = visit.services, visit.principal
    detail = await services.stacks.read(principal, stack_id)
    worst = await services.alerts.read(principal, detail.alerts[0].id)
    explained = await _explained(visit, worst)
    program = services.programs.read(principal, detail.stack.program_id)
    return WorkspaceView(stack=detail.stack, detail=detail, worst=worst, explained=explained, program=program.name)


async def _explained(visit: Visit, worst: AlertDetail) -> TransferExplained | None:
    """The score of the alert's transfer, explained; None without a scored transfer."""
    if worst.transfer is None:
        return None
    query = TransferQuery(program_id=worst.alert.program_id)
    try:
        return await visit.services.explanations.transfer(visit.principal, worst.transfer.id, query)
    except NotFoundError:
        return None


def _page(visit: Visit, view: WorkspaceView) -> h.Element:
    return h.div(".workspace")[
        h.article(".evidence")[_head(visit, view), _why(view), _alerts(view)],
        h.aside(".decision", aria_label="Decision")[_decision(visit, view)],
    ]


def _head(visit: Visit, view: WorkspaceView) -> h.Element:
    stack = view.stack
    return h.header[
        h.p(".marks")[
            band_mark(stack.band, stack.score),
            h.span(".mark")["simulated"] if stack.simulated is True else None,
            f" due in {time_left(stack.due_at, visit.now)}",
        ],
        h.h1[outsider(stack.who.name, "name not known"), " ", h.code[stack.who.id]],
        h.p[
            count(stack.waiting, "alert"),
            f" of {count(len(stack.detectors), 'detector')} · ",
            f"{money(stack.held_cents)} held · ",
            "program ",
            outsider(view.program),
        ],
    ]


def _why(view: WorkspaceView) -> h.Element:
    explained = view.explained
    if explained is None:
        return h.section[h.h2["Why"], h.p[view.stack.sentence]]
    most = max((each.points for each in explained.families), default=0) or 1
    return h.section(".why")[
        h.h2[f"Why {explained.score if explained.score is not None else 'unscored'}"],
        h.ul(".families")[(_family(each, most) for each in explained.families)],
        h.div(".clears")[
            h.h3["Without this it would be lower"],
            h.ul[(h.li[each.sentence] for each in explained.would_be_lower)],
            h.p[NO_AMOUNT if explained.nearest_amount is None else explained.nearest_amount.sentence],
            h.p[
                f"Recomputed from the stored inputs: {explained.recomputed.score}, the same."
                if explained.is_same
                else f"Recomputed, and different: {explained.difference}"
            ],
        ],
    ]


def _family(family: FamilyExplained, most: int) -> h.Element:
    bar = h.svg(".bar", viewBox="0 0 100 8", aria_hidden="true", preserveAspectRatio="none")[
        h.Element("rect")(width=str(round(100 * max(0, family.counts) / most)), height="8")
    ]
    return h.li[
        h.span(".points")[f"{family.counts:+d}"],
        bar,
        h.details(open=True)[
            h.summary[family.family or "alone", f" · cap {family.cap}" if family.cap is not None else None],
            h.ul[
                (
                    h.li[h.span(".hard")["hard "] if each.hard else None, each.sentence, " ", h.code[each.id]]
                    for each in family.reasons
                )
            ],
        ],
    ]


def _alerts(view: WorkspaceView) -> h.Element:
    return h.section[
        h.h2["Alerts"],
        h.ul(".alerts")[
            (
                h.li[
                    band_mark(each.band_at_alert, each.score_at_alert), " ", each.sentence, " ", moment(each.opened_at)
                ]
                for each in view.detail.alerts
            )
        ],
    ]


def _decision(visit: Visit, view: WorkspaceView) -> h.Element:
    waiting = [each.id for each in view.detail.alerts if each.status in WAITING]
    draft = view.worst.draft
    recommended = None if draft is None else draft.recommendation.value
    return visit.form_of(
        f"/console/stacks/{view.stack.id}/decide",
        h.h2[f"Decide {count(len(waiting), 'alert')} together"],
        h.input(type="hidden", name="alertIds", value=",".join(waiting)),
        h.fieldset[
            h.legend["Decision"],
            (
                h.label(".choice")[
                    h.input(type="radio", name="decision", value=decision.value, required=True, data_key=letter),
                    words,
                    h.span(".small")[" recommended"] if decision.value == recommended else None,
                    key(letter),
                ]
                for decision, (words, letter) in _WORDS.items()
            ),
        ],
        h.label(for_="narrative")["Narrative"],
        h.textarea("#narrative", name="narrative", rows="12", required=True, maxlength="8000")[
            "" if draft is None else draft.narrative
        ],
        h.button(".main", type="submit")[f"Sign as {visit.signed_in.session.name}"],
    )
