"""The workspace: one stack with its evidence in the middle and the decision on the right."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.also import also, appeal_form, label_form
from clearhold.api.console.components.deciding import FORM, SentDecision, decision_form, signed_strip, unsigned
from clearhold.api.console.components.history import HISTORY, history
from clearhold.api.console.components.money_flow import leaves, money_flow, state_of
from clearhold.api.console.components.notes import notes
from clearhold.api.console.components.presence import opened_slot, presence_slot
from clearhold.api.console.components.rest import (
    alerts,
    appeal_of,
    bank_object,
    decisions,
    earlier,
    features,
    policy,
    preflight,
)
from clearhold.api.console.components.usual import usual
from clearhold.api.console.components.why import why
from clearhold.api.console.components.words import (
    NAME_LETTERS,
    band_mark,
    count,
    hint,
    moment,
    money,
    outsider,
    outsider_prose,
    span,
    time_left,
)
from clearhold.api.console.pages.graph import address_around, around_link
from clearhold.api.console.pages.queue import beside_queue
from clearhold.api.console.pages.stack_events import events_link
from clearhold.api.console.pages.workspace_view import WorkspaceView, about_of, timeline_of, view_of
from clearhold.api.console.visit import MAIN, NO_HEADERS, Answer, HtmlAnswer, Visit
from clearhold.api.dispositions.routes import Disposition, DispositionsQuery
from clearhold.api.record.service import VerifyQuery
from clearhold.features.core.errors import NotFoundError, RiskError
from clearhold.features.core.instants import MINUTE_US, format_instant, written_instant
from clearhold.features.core.vocabulary import AlertStatus, SubjectType

MOST_SIGNED: Final = 100
NOT_SIGNED: Final = "No decision is on the record."
_VERIFY: Final = VerifyQuery()
_MS: Final = 1_000


async def show(visit: Visit) -> Answer:
    stack_id = visit.params["stack_id"].lower()
    if visit.target == HISTORY:
        page = await timeline_of(visit, await about_of(visit, stack_id))
        return HtmlAnswer("What happened", history(visit, visit.path, page))
    view = await view_of(visit, stack_id)
    return await page_of(visit, view, None)


async def page_of(
    visit: Visit,
    view: WorkspaceView,
    sent: SentDecision | None,
    *,
    status: int = 200,
    above: h.Node = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> HtmlAnswer:
    """The whole page. ``sent`` is what a person sent that is not signed, ``above`` the results of it."""
    workspace = h.div(".workspace")[
        h.article(".evidence", aria_label="Evidence")[
            await _signed_before(visit),
            opened_slot(view.stack),
            _head(visit, view),
            appeal_of(view.worst),
            why(view.explained, view.stack.sentence, view.worst.reasons),
            money_flow(
                _center(view),
                view.transfers,
                view.names,
                path=view.path,
                held_ids=_transfers_of_holds(view),
                below=around_link(visit, address_around("alert", view.worst.alert.id, view.stack.program_id)),
            ),
            history(visit, f"/console/stacks/{view.stack.id}", view.timeline),
            usual(view.around, {each.id for each in view.transfers}, _features(view), now=visit.now),
            alerts(
                view.alerts, FORM if _decides(visit, view) else None, frozenset() if sent is None else sent.unchecked
            ),
            decisions(view.decided),
            _rest(visit, view),
        ],
        h.aside(".decision", aria_label="Decision")[
            above,
            _decision(visit, view, sent),
            h.div("#compared")[sent.comparison if sent is not None else None],
            also(visit, view) if not visit.signed_in.is_read_only else None,
            notes(visit, view),
            label_form(visit, view) if not visit.signed_in.is_read_only else None,
            appeal_form(visit, view) if not visit.signed_in.is_read_only else None,
            presence_slot(view.stack) if not visit.signed_in.is_read_only else None,
        ],
    ]
    content = workspace if visit.target not in {None, MAIN} else beside_queue(view.stack.id, workspace)
    return HtmlAnswer(_title(view), content, status=status, headers=headers)


def _decides(visit: Visit, view: WorkspaceView) -> bool:
    return bool(view.waiting) and not visit.signed_in.is_read_only


def _decision(visit: Visit, view: WorkspaceView, sent: SentDecision | None) -> h.Node:
    if visit.signed_in.is_read_only:
        return h.p(".note")["This session reads and does not decide."]
    if not view.waiting:
        return (
            h.div(".note")[
                h.p["Nothing of this stack waits for a decision."],
                h.p[h.a(href=f"/console/stacks/{view.following.id}")["The next stack"]] if view.following else None,
            ],
            unsigned(visit, view.stack, view.decided),
        )
    draft = view.worst.draft
    return decision_form(
        visit,
        view.stack,
        view.waiting,
        draft,
        sent,
        least=view.least_chars,
        needs_second=view.needs_second,
        following=view.following,
    )


async def _signed_before(visit: Visit) -> h.Node:
    """The decision that led here: its links of the record."""
    alert_id = visit.query.get("signed")
    if not alert_id:
        return None
    services, principal = visit.services, visit.principal
    try:
        dispositions = await services.alerts.dispositions(principal, alert_id)
        if not dispositions:
            return None
        newest = dispositions[-1]
        alert = (await services.alerts.read(principal, alert_id)).alert
        stack = None if alert.stack_id is None else (await services.stacks.read(principal, alert.stack_id)).stack
    except NotFoundError:
        return None
    return signed_strip(visit, await _of_one_signature(visit, newest), stack)


async def signed(visit: Visit) -> Answer:
    """The links of the record of a decision that was signed."""
    strip = await _signed_before(visit)
    return HtmlAnswer("Signed", strip or h.p[NOT_SIGNED])


async def _of_one_signature(visit: Visit, newest: Disposition) -> list[Disposition]:
    """The dispositions of one signature are of one person and instant."""
    at = written_instant(newest.created_at)
    query = DispositionsQuery(
        decided_by=(newest.decided_by,),
        from_=newest.created_at,
        to=format_instant(at + _MS),
        limit=MOST_SIGNED,
    )
    page = await visit.services.dispositions.page(visit.principal, query)
    same = [each for each in page.data if each.narrative == newest.narrative and each.decision == newest.decision]
    return same or [newest]


async def verify(visit: Visit) -> Answer:
    """Whether the record is whole, and whether a link is in it."""
    try:
        visit.principal.require_tenant_wide()
        report = await visit.services.record.verify(visit.principal, _VERIFY)
    except RiskError as error:
        return HtmlAnswer("Record", h.span(".differs")[str(error)])
    if report.ok:
        words = (
            f" ✓ The record is whole: {count(report.checked, 'link')} and {count(report.rows.checked, 'row')} checked."
        )
        return HtmlAnswer("Record", h.span(".same")[words])
    broken = report.first_break_at
    where = "a row differs from the record" if broken is None else f"the first break is at link {broken.seq}"
    return HtmlAnswer("Record", h.span(".differs", role="alert")[f" ✗ The record is not whole: {where}."])


def _head(visit: Visit, view: WorkspaceView) -> h.Element:
    stack, explained = view.stack, view.explained
    score = None if explained is None else explained.stored
    versions = filter(None, (None if score is None else score.version, view.worst.alert.policy_version))
    confidence = None if score is None or score.confidence is None else f"confidence {score.confidence:.2f}"
    is_late = stack.due_at is not None and written_instant(stack.due_at) < visit.now
    words = [
        f"n = {score.n}" if score is not None else None,
        confidence,
        *versions,
        f"due in {time_left(stack.due_at, visit.now)}" if stack.due_at and not is_late else None,
    ]
    return h.header(".head")[
        h.p(".marks")[
            band_mark(stack.band, stack.score),
            h.span(".hard")["hard"] if stack.hard_signal else None,
            h.span(".mark")["simulated"] if stack.simulated is True else None,
            h.span(".mark")["from history"] if all(each.from_history for each in view.alerts) else None,
            h.span(".late")[time_left(stack.due_at, visit.now)] if is_late else None,
            h.span[" · ".join(filter(None, words))],
        ],
        h.div(".titled")[visit.heading(".title")[_who(view)], " ", h.code[stack.who.id]],
        outsider_prose(view.stack.who.name, most=NAME_LETTERS)
        if len(view.stack.who.name or "") > NAME_LETTERS
        else None,
        h.p[_sentence(view)],
        h.nav(".jump", aria_label="On this page")[
            h.a(href="#cleared", data_key="w", aria_keyshortcuts="w")["How it would have cleared", hint("w")]
            if view.explained is not None
            else None,
            h.a(".to-decision", href="#decide")["To the decision"] if _decides(visit, view) else None,
            h.a(href="#also")["Request an action"] if not visit.signed_in.is_read_only else None,
        ],
    ]


def _title(view: WorkspaceView) -> str:
    if view.stack.who.type is SubjectType.PROGRAM:
        return view.program.name
    return view.stack.who.name or view.stack.who.id


def _who(view: WorkspaceView) -> h.Node:
    """A stack by account has its owner's name where the owner is known."""
    if view.stack.who.name:
        return outsider(view.stack.who.name)
    if view.stack.who.type is SubjectType.PROGRAM:
        return outsider(view.program.name)
    account = view.account
    if account is None:
        return outsider(None, f"{view.stack.who.type.value}, name not known")
    last4 = f"account ending {account.account_last4}" if account.account_last4 else "account"
    return (outsider(account.owner_name, "owner not known"), f" · {last4}")


def _sentence(view: WorkspaceView) -> h.Node:
    stack = view.stack
    first, last = (written_instant(each) for each in (stack.first_opened_at, stack.last_opened_at))
    alerts_of = f"{count(stack.size, 'alert')} of {count(len(stack.detectors), 'detector')}"
    within = f" within {span(max(last - first, MINUTE_US))}" if stack.size > 1 else ""
    dollars = sum(int(each.amount_cents) for each in view.transfers if each.currency == "USD")
    transfers = f"{count(len(view.transfers), 'transfer')}, {money(dollars)}" if view.transfers else None
    parts = [f"{alerts_of}{within}", transfers, *_money_now(view)]
    return (" · ".join(filter(None, parts)), " · program ", outsider(view.program.name))


def _money_now(view: WorkspaceView) -> Iterable[str]:
    """Where the money of outgoing transfers is now: held, returned, never moved, left."""
    of_held = _transfers_of_holds(view)
    sums: Counter[str] = Counter()
    for each in view.transfers:
        if leaves(each) and each.currency == "USD":
            state = state_of(each, of_held)
            sums[state if state in _STATES else "sent"] += int(each.amount_cents)
    if view.stack.held_cents != "0":
        sums["held"] = int(view.stack.held_cents)
    if sums["held"] and not sums["sent"]:
        yield f"{money(sums['held'])} held, nothing has left"
        return
    for state in (*_STATES, "sent"):
        if sums[state]:
            yield f"{money(sums[state])} {state}"


_STATES: Final = ("held", "returned", "never moved")


def _transfers_of_holds(view: WorkspaceView) -> frozenset[str]:
    """Transfers of held alerts; the hold ends with the alert's."""
    return frozenset(each for alert in view.alerts if alert.status is AlertStatus.HELD for each in alert.transfer_ids)


def _center(view: WorkspaceView) -> str:
    return view.stack.who.name or (view.account.owner_name if view.account is not None else None) or view.about.id


def _features(view: WorkspaceView) -> dict[str, object]:
    transfer = view.worst.transfer
    return {} if transfer is None or transfer.score_inputs is None else transfer.score_inputs.features


def _rest(visit: Visit, view: WorkspaceView) -> h.Element:
    transfer = view.worst.transfer
    inputs = None if transfer is None else transfer.score_inputs
    return h.section("#rest.rest", tabindex="-1")[
        h.h2["The rest"],
        earlier(view.earlier),
        features(inputs.features, inputs.feature_version) if inputs is not None else None,
        bank_object(transfer.raw) if transfer is not None else None,
        events_link(visit, view.stack.id),
        preflight(view.preflight, has_transfer=transfer is not None),
        policy(view.worst, view.policy, view.least_chars),
        h.div(".small")["Opened ", moment(view.worst.alert.opened_at), ", ", outsider_prose(view.worst.alert.summary)],
    ]
