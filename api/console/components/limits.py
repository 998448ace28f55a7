"""A program's limits: each with its use, the changes that wait, and the form that requests one."""

import re
from collections.abc import Mapping
from typing import Any, Final

import htpy as h

from clearhold.api.console.components.figures import use_bar
from clearhold.api.console.components.wide import unseen, wide_table
from clearhold.api.console.components.words import NO_VALUE, count, moment, money, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.limits.service import Cap, Limit, Limits, PendingLimit
from clearhold.features.core.entries.actions import COUNTED_KINDS, CapKind
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.limits.caps import OF_ONE_ENTITY

NO_CAP: Final = "no limit"
_DOLLARS: Final = re.compile(r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.(?P<cents>[0-9]{2}))?", re.ASCII)
_WORDS: Final[Mapping[CapKind, str]] = {
    CapKind.ACH_DEBIT_DAILY: "ACH debits in a day (UTC)",
    CapKind.ACH_DEBIT_MONTHLY: "ACH debits in a calendar month (UTC)",
    CapKind.PER_TRANSACTION: "One outgoing transfer",
    CapKind.ENTITY_DAILY: "Outgoing transfers of one entity in a day (UTC)",
    CapKind.ENTITY_VELOCITY_24H: "Transfers of one entity in 24 hours",
}


def kind_words(kind: CapKind) -> str:
    return kind.value.replace("_", " ")


def cap_words(kind: CapKind, cap: Cap) -> str:
    """A cap, or its use, in its unit."""
    if cap is None:
        return NO_CAP
    return f"{int(cap):,}" if kind in COUNTED_KINDS else money(cap)


def limit_table(limits: Limits) -> h.Node:
    heads = ("Limit", "In force", "Used now", unseen("Share"), "Since", "By")
    return wide_table("Limits", heads, (_row(each) for each in limits.limits), figures=("In force", "Used now"))


def _row(limit: Limit) -> h.Element:
    cap = limit.cap_count if limit.kind in COUNTED_KINDS else limit.cap_cents
    used = "nothing moved" if limit.observed is None else cap_words(limit.kind, limit.observed)
    return h.tr[
        h.th(scope="row")[_WORDS[limit.kind]],
        h.td(".number")[cap_words(limit.kind, cap)],
        h.td(".number")[used, h.span(".small")[f" n = {limit.n:,}"]],
        h.td[_use(limit, cap)],
        h.td[moment(limit.since)],
        h.td[_by(limit)],
    ]


def entity_use(limits: Limits) -> h.Node:
    """The caps on one entity, with the use of the entity that they were read for."""
    own = [each for each in limits.limits if each.kind in OF_ONE_ENTITY]
    return h.section("#caps")[
        h.h2["Caps of the program on one entity"],
        h.ul(".plain")[(_entity_line(each) for each in own)],
        h.p(".small")[
            h.a(href=f"/console/programs/{limits.program_id}#limits")["All limits of the program"],
            ", and their changes.",
        ],
    ]


def _entity_line(limit: Limit) -> h.Element:
    cap = limit.cap_count if limit.kind in COUNTED_KINDS else limit.cap_cents
    used = "nothing moved" if limit.observed is None else f"{cap_words(limit.kind, limit.observed)} used now"
    known = f" of {cap_words(limit.kind, cap)}" if cap is not None else ", no cap is in force"
    number = f" (n = {limit.n:,}) " if limit.n else " "
    return h.li[h.b[_WORDS[limit.kind]], f": {used}{known}{number}", _use(limit, cap)]


def _use(limit: Limit, cap: Cap) -> h.Node:
    if cap is None or limit.observed is None:
        return None
    share = int(limit.observed) / max(1, int(cap))
    words = f"{share:.0%} used"
    return [use_bar(share, words), h.span(".small")[words]]


def _by(limit: Limit) -> h.Node:
    if limit.requested_by is None:
        return NO_VALUE
    return [outsider(limit.requested_by), ", approved by ", outsider(limit.approved_by)]


def pending_limits(limits: Limits) -> h.Node:
    if not limits.pending:
        return None
    return h.ul(".plain")[(_pending(each) for each in limits.pending)]


def _pending(change: PendingLimit) -> h.Element:
    cap = change.cap_count if change.kind in COUNTED_KINDS else change.cap_cents
    return h.li[
        h.a(href=f"/console/approvals#action-{change.action_id}")["Waits for a second person"],
        f": {_WORDS[change.kind]}, {cap_words(change.kind, cap)}. Requested by ",
        outsider(change.requested_by),
        " ",
        moment(change.created_at),
        [". ", outsider(change.note)] if change.note else None,
    ]


def limit_form(visit: Visit, action: str, refusal: str | None) -> h.Node:
    """The request of a change; another person approves it."""
    if visit.signed_in.is_read_only:
        return None
    typed = visit.form
    return h.details("#new-limit", open=refusal is not None)[
        h.summary["Request a change"],
        visit.form_of(
            action,
            h.p(".refusal", role="alert")[refusal] if refusal is not None else None,
            h.label[
                "Limit",
                h.select(name="kind")[
                    (h.option(value=kind.value, selected=typed.get("kind") == kind)[_WORDS[kind]] for kind in CapKind)
                ],
            ],
            h.label[
                "New limit, in USD or as a number of transfers; empty for none",
                h.input(name="cap", value=typed.get("cap", ""), inputmode="decimal", autocomplete="off"),
            ],
            h.label["Why", h.textarea(name="note", rows="2")[typed.get("note", "")]],
            h.button(".main", type="submit")["Request"],
            h.p(".small")["It takes effect once another person has approved it."],
        ),
    ]


def requested_limit(form: Mapping[str, str]) -> dict[str, Any]:
    """The typed change as the body of the interface's request; InvalidRequestError for an unreadable figure."""
    kind, text, note = form.get("kind", ""), form.get("cap", "").strip(), form.get("note", "").strip()
    body: dict[str, Any] = {"kind": kind} | ({"note": note} if note else {})
    is_count = kind in COUNTED_KINDS
    field = "capCount" if is_count else "capCents"
    if not text:
        return body | {field: None}
    if not is_count:
        return body | {field: str(typed_cents(text, "cap"))}
    match = _DOLLARS.fullmatch(text)
    if match is None or match["cents"] is not None:
        raise invalid("cap", "must be a whole number, as in 25", FieldCode.MALFORMED)
    return body | {field: int(match["whole"].replace(",", ""))}


def typed_cents(text: str, field: str) -> int:
    """A typed amount in cents; InvalidRequestError for an unreadable one."""
    match = _DOLLARS.fullmatch(text.strip())
    if match is None:
        raise invalid(field, "must be an amount, as in 25,000 or 25000.00", FieldCode.MALFORMED)
    return int(match["whole"].replace(",", "")) * 100 + int(match["cents"] or 0)


def limits_summary(limits: Limits) -> str:
    """``2 limits in force, 1 change waits``."""
    number = sum(1 for each in limits.limits if each.cap_cents is not None or each.cap_count is not None)
    waiting = len(limits.pending)
    return f"{count(number, 'limit')} in force, {count(waiting, 'change')} {'waits' if waiting == 1 else 'wait'}"
