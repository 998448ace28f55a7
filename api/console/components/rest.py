"""The rest of the evidence, closed until it is wanted: alerts of the stack, earlier alerts, features, the bank's
object, and the policy.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.alerts.schemas import AlertDetail
from clearhold.api.alerts.summaries import AlertSummary
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import SENTENCE_LETTERS, band_mark, count, moment, outsider, outsider_prose
from clearhold.api.dispositions.routes import Disposition
from clearhold.api.preflight.schemas import PreflightDetail
from clearhold.features.core.vocabulary import WAITING, AlertStatus
from clearhold.features.policy.bodies import PolicyBody

OPEN_ALERTS: Final = 8


def alerts(of_stack: Sequence[AlertSummary], form: str | None, unchecked: Collection[str] = ()) -> h.Element:
    """``form`` is the id of the decision's form, whose alerts are the checked ones; None where nothing is decided."""
    waiting = [each for each in of_stack if each.status in WAITING]
    others = [each for each in of_stack if each.status not in WAITING]
    lines = [_alert(each, form, is_checked=each.id not in unchecked) for each in waiting]
    return h.section("#alerts.alerts", tabindex="-1")[
        h.h2["Alerts of this stack"],
        h.p(".small")["An alert that is not checked keeps waiting, and can become another stack."]
        if form is not None and len(waiting) > 1
        else None,
        h.ul[lines[:OPEN_ALERTS]],
        h.details[h.summary[f"{count(len(lines) - OPEN_ALERTS, 'further alert')}"], h.ul[lines[OPEN_ALERTS:]]]
        if len(lines) > OPEN_ALERTS
        else None,
        h.details(open=not waiting)[
            h.summary[count(len(others), "decided alert")],
            h.ul[(_alert(each, None, is_checked=False) for each in others)],
        ]
        if others
        else None,
    ]


def _alert(alert: AlertSummary, form: str | None, *, is_checked: bool) -> h.Element:
    words = (
        band_mark(alert.band_at_alert, alert.score_at_alert),
        " ",
        h.span(".hard")["hard"] if alert.hard_signal else None,
        " ",
        outsider(alert.sentence, most=SENTENCE_LETTERS),
        h.span(".small")[
            f" {alert.detector.replace('_', ' ')} · {alert.severity.value} · {alert.status.value} · ",
            moment(alert.opened_at),
            " · from history" if alert.from_history else None,
        ],
    )
    if form is None:
        return h.li[words]
    box = h.input(
        type="checkbox",
        name="alertIds",
        value=alert.id,
        checked=is_checked,
        form=form,
        data_key="x",
        data_take_out=True,
    )
    return h.li[h.label(".take")[box, h.span[words]]]


def earlier(found_before: Sequence[AlertSummary]) -> h.Node:
    if not found_before:
        return None
    return h.details[
        h.summary[f"{count(len(found_before), 'earlier alert')} on the same subject, and how they ended"],
        h.ul(".alerts")[
            (
                h.li[
                    band_mark(each.band_at_alert, each.score_at_alert),
                    " ",
                    outsider_prose(each.sentence),
                    h.span(".small")[
                        " closed by the policy · "
                        if each.status is AlertStatus.AUTO_CLOSED
                        else " closed by a person · ",
                        moment(each.opened_at),
                    ],
                ]
                for each in found_before
            )
        ],
    ]


def appeal_of(worst: AlertDetail) -> h.Node:
    """Of an alert that an appeal opened: the reason, and the closed alert that it is about."""
    appealed = worst.alert.evidence.get("appeal")
    if not isinstance(appealed, Mapping):
        return None
    return h.section("#appeal.decided", tabindex="-1")[
        h.h2["Appeal"],
        h.div[outsider_prose(appealed.get("reason"))],
        h.p(".small")[
            "By ",
            outsider(appealed.get("by")),
            ", of ",
            h.a(href=f"/console/alerts/{appealed['alertId']}")["the alert"],
        ],
    ]


def decisions(signed: Sequence[Disposition]) -> h.Node:
    """Decisions on alerts of the stack, each with its link of the record."""
    if not signed:
        return None
    return h.section("#decisions.decided", tabindex="-1")[
        h.h2["Decided"], h.ul[(h.li[decision(each)] for each in signed[:20])]
    ]


def decision(signed: Disposition) -> h.Element:
    return h.article(".made")[
        h.p[
            h.strong[signed.decision.value.replace("_", " ").capitalize()],
            " by ",
            outsider(signed.decided_by),
            " ",
            moment(signed.created_at),
            h.span(".small")[f" · link {signed.seq} · ", h.code(title=signed.hash)[signed.hash[:16]]],
        ],
        h.details[h.summary["Narrative"], h.p(".prose")[outsider(signed.narrative, most=None)]],
    ]


def features(values: Mapping[str, Any], version: str) -> h.Node:
    measured = {name: value for name, value in values.items() if value is not None}
    if not measured:
        return None
    return h.details[
        h.summary[f"{count(len(measured), 'measured input')} ({version})"],
        wide_table(
            "Measured inputs",
            ("Input", "Value"),
            (h.tr[h.th(scope="row")[h.code[name]], h.td[_value(value)]] for name, value in measured.items()),
        ),
    ]


def _value(value: Any) -> h.Node:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else outsider_prose(str(value))


def bank_object(raw: Mapping[str, Any]) -> h.Element:
    written = msgspec.json.format(msgspec.json.encode(raw), indent=2).decode()
    return h.details[
        h.summary["The bank's object, as last delivered"],
        h.pre(".raw", tabindex="0", role="region", aria_label="The bank's object")[outsider(written, most=None)],
    ]


def preflight(matched: PreflightDetail | None, *, has_transfer: bool) -> h.Node:
    """Whether the transfer was proposed before it landed, and what the answer was."""
    if matched is None:
        return h.p(".small")["No pre-flight of this transfer is known."] if has_transfer else None
    facts = (
        ("Asked", moment(matched.created_at)),
        ("Answer", f"{matched.decision.value}{', degraded' if matched.degraded else ''}"),
        ("Score", band_mark(matched.band, matched.score)),
        ("Pre-flight", h.code[matched.preflight_id]),
    )
    return h.details[
        h.summary[f"The pre-flight of its transfer: {matched.decision.value}"],
        h.dl(".facts")[(h.div[h.dt[name], h.dd[value]] for name, value in facts)],
        h.ul(".plain")[(h.li[outsider_prose(each.sentence)] for each in matched.reasons)],
    ]


def policy(worst: AlertDetail, body: PolicyBody | None, least: int) -> h.Element:
    alert = worst.alert
    reason = str(alert.evidence.get("routeReason") or "not said").replace("_", " ")
    facts = (
        ("Policy", alert.policy_version or "none"),
        ("Sent to", f"{alert.route.value if alert.route else 'no person'}: {reason}"),
        (
            "Clock",
            f"{alert.sla_tier.value if alert.sla_tier else 'none'}, {alert.evidence.get('clockVersion', 'no version')}",
        ),
        ("Least length of a narrative", count(least, "character")),
        (
            "Hard alerts",
            "a second person agrees"
            if body is not None and body.hard_needs_second_person is True
            else "one person decides",
        ),
        ("Alert", alert.id),
    )
    return h.details[
        h.summary["Policy"],
        h.dl(".facts")[(h.div[h.dt[name], h.dd[text]] for name, text in facts)],
    ]
