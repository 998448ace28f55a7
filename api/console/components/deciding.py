"""The decision on a stack: the choices, the narrative, the signature; and the results of one that was sent."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import htpy as h
import msgspec

from clearhold.api.alerts.many import AlertOutcome, AlertResult, DecidedAlerts
from clearhold.api.alerts.summaries import AlertSummary
from clearhold.api.console.components.comparison import sentences_of
from clearhold.api.console.components.requests import APPROVALS
from clearhold.api.console.components.rest import decision
from clearhold.api.console.components.stack_rows import name_of
from clearhold.api.console.components.words import count, hint, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.dispositions.routes import Disposition
from clearhold.api.stacks.schemas import Stack
from clearhold.features.alerts.decisions import ALLOWED, signer
from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.vocabulary import AlertDecision

FORM: Final = "decide"
WORDS: Final[Mapping[AlertDecision, tuple[str, str]]] = {
    AlertDecision.HOLD: ("Hold", "h"),
    AlertDecision.ESCALATE: ("Escalate", "e"),
    AlertDecision.CLOSE: ("Close", "c"),
    AlertDecision.RELEASE: ("Release", "r"),
    AlertDecision.NO_ACTION: ("No action", "n"),
}
LENGTHS: Final[Mapping[str, tuple[int, int]]] = {"close": (80, 250), "hold": (150, 500), "escalate": (150, 500)}
"""Words that the platform's own draft has, by its recommendation."""
NOT_CONFIRMED: Final = (
    "Not confirmed yet. The decision may be on its way to the record. Your text is below: sign again, and if it was "
    "recorded meanwhile, it is the same decision and not a second one."
)
UNREACHABLE: Final = (
    "There is no connection to the service. You can sign when it is back; your text is kept in this browser."
)
BY_OTHERS: Final = frozenset({ErrorCode.ALERT_CLOSED, ErrorCode.ALREADY_DECIDED, ErrorCode.ALERT_NOT_HELD})


class SentDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The text and choice of a person with their refusal, so that nothing typed is lost. It is about the narrative
    where ``of_narrative`` says so; ``attempt`` makes sending it again the same write.
    """

    decision: str
    narrative: str
    attempt: str | None = None
    refusal: str | None = None
    of_narrative: bool = False
    not_confirmed: bool = False
    unchecked: frozenset[str] = frozenset()
    comparison: h.Element | None = None


def decision_form(
    visit: Visit,
    stack: Stack,
    waiting: Sequence[AlertSummary],
    draft: Draft | None,
    sent: SentDecision | None,
    *,
    least: int,
    needs_second: Collection[AlertDecision],
    following: Stack | None,
) -> h.Element:
    path, name = f"/console/stacks/{stack.id}", visit.signed_in.session.name
    text = sent.narrative if sent is not None else draft.narrative if draft is not None else ""
    return visit.form_of(
        f"{path}/decide",
        h.h2[f"Decide {count(len(waiting), 'alert')}{' together' if len(waiting) > 1 else ''}"],
        h.p(".small")[f"Each alert gets its own signed line in the record. {_enough(needs_second)}"],
        _refusal(sent),
        h.fieldset(".choices")[
            h.legend(".hidden")["Decision"],
            (_choice(each, waiting, draft, sent, is_for_two=each in needs_second) for each in WORDS),
        ],
        _narrative(visit, path, text, draft, sent, least),
        h.button(
            "#sign.main",
            type="submit",
            data_chord="Control+Enter",
            aria_keyshortcuts="Control+Enter",
            aria_describedby="chosen",
        )[h.span["Sign as ", outsider(name)], hint("Ctrl", "Enter")],
        h.a(".button.second", href="#also")["Request an action", h.span(".small")["some need a second person"]],
        h.p("#sign-off.refusal", role="status", hidden=True)[UNREACHABLE],
        h.p(".small")["Then the next: ", h.span("#following")[_following(visit, following)]]
        if following is not None
        else None,
        h.input(type="hidden", name="next", value=following.id) if following is not None else None,
        h.button(type="submit", formaction=f"{path}/split", formnovalidate=True, class_="plain", data_split=True)[
            "Take the unchecked alerts out, as a stack"
        ]
        if len(waiting) > 1
        else None,
        attempt=None if sent is None else sent.attempt,
        **{"id": FORM, "data-draft": stack.id, "data-by": name} | ({} if sent is None else {"data-sent": "true"}),
    )


def _enough(needs_second: Collection[AlertDecision]) -> str:
    """Whether one signature is enough."""
    if not needs_second:
        return "Your signature is enough."
    words = [words.lower() for each, (words, _) in WORDS.items() if each in needs_second]
    return f"Of hard alerts, {', '.join(words[:-1])} and {words[-1]} wait for a second person."


def unsigned(visit: Visit, stack: Stack, decided: Iterable[Disposition]) -> h.Element:
    """The place of a text for a stack that others decided meanwhile; a script fills it with what the browser keeps."""
    name = visit.signed_in.session.name
    own = signer(visit.principal.operator)
    is_signed = any(each.decided_by == own for each in decided)
    return h.form(hidden=True, data_draft=stack.id, data_by=name, data_signed=stack.id if is_signed else None)[
        h.label(for_="unsigned")["Your text, which is not signed, to copy"],
        h.textarea("#unsigned", name="narrative", readonly=True, rows="8"),
    ]


def _narrative(
    visit: Visit, path: str, text: str, draft: Draft | None, sent: SentDecision | None, least: int
) -> h.Node:
    """The text field under its refusal, how long the text is, and the way to the comparison."""
    is_faulty = sent is not None and sent.of_narrative
    return (
        h.label(for_="narrative")["Narrative"],
        h.p("#narrative-refusal.refusal", role="alert")[sent.refusal] if sent is not None and is_faulty else None,
        h.textarea(
            "#narrative",
            name="narrative",
            rows="14",
            required=True,
            maxlength="8000",
            aria_describedby="narrative-refusal chosen length",
            aria_invalid="true" if is_faulty else None,
        )[f"\n{text}"],
        h.span("#chosen.hidden"),
        h.p("#length.small", data_least=str(least))[_length(text, least, draft)],
        h.p(".small")[
            "The draft is made from a template. ",
            h.button(
                visit.hx(post=f"{path}/compare", target="#compared", swap="innerHTML"),
                class_="link",
                type="submit",
                formaction=f"{path}/compare#comparison",
                formnovalidate=True,
                data_key="d",
                aria_keyshortcuts="d",
            )["Compare side by side"],
            hint("d"),
        ]
        if draft is not None
        else None,
    )


def _following(visit: Visit, stack: Stack) -> h.Node:
    return (_named(visit, stack), f", {count(stack.waiting, 'alert')}")


def _named(visit: Visit, stack: Stack) -> h.Element:
    """Who a stack is about: its name, of a program too, else the id."""
    programs = visit.services.programs.list(visit.principal, source=None)
    return outsider(name_of(stack, {each.id: each.name for each in programs}), stack.who.id)


def _refusal(sent: SentDecision | None) -> h.Node:
    if sent is None:
        return None
    if sent.not_confirmed:
        return h.div("#not-confirmed.refused", role="alert")[h.p[h.strong[NOT_CONFIRMED]]]
    if sent.refusal is not None and not sent.of_narrative:
        return h.div(".refused", role="alert")[h.p[sent.refusal]]
    return None


def _choice(
    choice: AlertDecision,
    waiting: Sequence[AlertSummary],
    draft: Draft | None,
    sent: SentDecision | None,
    *,
    is_for_two: bool,
) -> h.Element:
    """A choice that no waiting alert takes is disabled; hold is open to the first decision on a held alert too."""
    words, letter = WORDS[choice]
    takes = choice is AlertDecision.HOLD or any(choice in ALLOWED[each.status] for each in waiting)
    is_recommended = draft is not None and draft.recommendation.value == choice.value
    closed = "none is held" if choice is AlertDecision.RELEASE else "already so"
    two = "needs a second person" if is_for_two and takes else None
    small = ", ".join(filter(None, ("recommended" if is_recommended else None if takes else closed, two))) or None
    return h.label(class_="choice recommended" if is_recommended else "choice")[
        h.input(
            type="radio",
            name="decision",
            value=choice.value,
            required=True,
            disabled=not takes,
            checked=sent is not None and sent.decision == choice.value,
            data_key=letter,
            aria_keyshortcuts=letter,
        ),
        h.span(".words")[words, " ", h.span(".small")[small] if small is not None else None],
        hint(letter),
    ]


def _length(text: str, least: int, draft: Draft | None) -> h.Node:
    """How long it is, the least that the policy takes, and how long the platform's own draft would be."""
    usual = LENGTHS.get(draft.recommendation.value) if draft is not None else None
    return (
        h.span(data_words=True)[f"{len(text.split())} words, {len(sentences_of(text))} sentences"],
        f" · the policy takes {least} characters or more" if least else None,
        f" · drafts have {usual[0]} to {usual[1]} words" if usual is not None else None,
    )


def results(stack: Stack, answer: DecidedAlerts, narrative: str, by_others: Iterable[Disposition]) -> h.Element:
    """The result of each alert; nothing that was refused reads as done."""
    refused = [each for each in answer.results if each.result is AlertOutcome.REFUSED]
    others = list(by_others)
    parts = [
        f"{count(answer.decided, 'alert')} signed" if answer.decided else None,
        f"{answer.requested} waiting for a second person" if answer.requested else None,
        f"{answer.refused} not decided" if answer.refused else None,
    ]
    return h.section("#results.results", role="alert", data_signed=stack.id if not refused else None)[
        h.h2[f"{answer.decision.value.replace('_', ' ').capitalize()}: {', '.join(filter(None, parts))}"],
        h.p["A second person finds it on Today and under ", h.a(href=APPROVALS)["Approvals"], "."]
        if answer.requested
        else None,
        h.ul[(_result(each) for each in answer.results if each.result is not AlertOutcome.DECIDED)],
        (h.h3["Decided meanwhile"], [decision(each) for each in others]) if others else None,
        (
            h.label(for_="kept")["Your text, to copy"],
            h.textarea("#kept", readonly=True, rows="6")[f"\n{narrative}"],
        )
        if refused
        else None,
    ]


def _result(result: AlertResult) -> h.Element:
    words = "waits for a second person" if result.error is None else result.error.error
    return h.li[h.code[result.alert_id], " ", words]


def signed_strip(visit: Visit, signed: Sequence[Disposition], stack: Stack | None) -> h.Node:
    """Of the stack that was signed last: its links of the record, with a way to check them."""
    if not signed:
        return None
    links = sorted(each.seq for each in signed)
    numbers = f"link {links[0]}" if len(links) == 1 else f"{count(len(links), 'link')}, {links[0]} to {links[-1]}"
    verify, place = f"/console/verify?link={links[-1]}", f"verified-{links[-1]}"
    return h.p(".signed", role="status", data_signed=None if stack is None else stack.id)[
        h.strong[f"✓ Signed: {signed[0].decision.value.replace('_', ' ')}"],
        (" ", h.a(href=f"/console/stacks/{stack.id}")[_named(visit, stack)]) if stack else None,
        f" · {numbers} · ",
        h.code(title=signed[0].hash, aria_hidden="true")[signed[0].hash[:16]],
        " · ",
        h.a(
            visit.hx(get=verify, target=f"#{place}", swap="innerHTML"), href=verify, data_key="v", aria_keyshortcuts="v"
        )["verify"],
        hint("v"),
        h.span(id=place, aria_live="polite"),
        (" · No second person is needed. ", h.a(href=f"/console/stacks/{stack.id}#also")["Request an action on it"])
        if stack
        else None,
    ]
