"""Draft narratives: an alert written from its evidence, in the order in which an examiner reads.

Parts    decision, who, what and when, where, why it alerted, review, why this decision
Figures  every one is of the evidence, or of the alert itself (its id, its times); ids only, never names
Length   80-250 words for close, 150-500 for hold and escalate
Wording  "consistent with", never "is"; nothing is said of reports to authorities, filed or not
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from clearhold.features.alerts.evidence import ALWAYS_SHOWN
from clearhold.features.alerts.evidence_bodies import Draft, Evidence, Figure, Recommendation
from clearhold.features.catalogue.vector import NAME_OF
from clearhold.features.core.instants import format_instant
from clearhold.features.core.money import USD, counted, money, money_in
from clearhold.features.core.rules import RuleAction
from clearhold.features.core.vocabulary import Band, Severity, words
from clearhold.features.detectors.detector import Detector
from clearhold.features.detectors.finding import RULE
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.routing import RULE_PREFIX
from clearhold.features.state.alert_state import AlertState

SHOWN_TRANSFERS: Final = 20
SHOWN_WHEN_CLOSED: Final = 3
SHOWN_SIGNALS: Final = 20
SHOWN_SIGNALS_WHEN_CLOSED: Final = 1


_UNKNOWN: Final = Detector(
    id="",
    opens_when="",
    unexplained="what the transfers are for",
    next_step="ask the program for the purpose of the transfers",
)
_HOLDING: Final = "The money should stay where it is until this is answered."
ESCALATING: Final = "A person with more authority should decide."
ADVICE: Final = {
    Recommendation.CLOSE: "close",
    Recommendation.HOLD: "hold for review",
    Recommendation.ESCALATE: "escalate for review",
}
_IN_OTHER_PARTS: Final = frozenset(NAME_OF[column] for column in ALWAYS_SHOWN)


def recommended(severity: Severity, band: Band | None, *, hard: bool) -> Recommendation:
    """Hold in the hold band; escalate hard or high alerts; close low or clear ones; else escalate."""
    if band is Band.HOLD:
        return Recommendation.HOLD
    if hard or severity is Severity.HIGH:
        return Recommendation.ESCALATE
    if severity is Severity.LOW or band is Band.CLEAR:
        return Recommendation.CLOSE
    return Recommendation.ESCALATE


def draft_of(alert: AlertState, evidence: Evidence, *, program_id: str) -> Draft:
    """The draft that a person may sign."""
    action = None if evidence.rule is msgspec.UNSET else evidence.rule.action
    advice = advice_of(alert, Band(evidence.band), action)
    head = (
        f"Recommendation: {ADVICE[advice]}. {heading(alert)}, opened at {format_instant(alert.opened_at)} "
        f"and routed to a person ({words(evidence.route_reason)})."
    )
    return Draft(narrative=_narrative(head, alert, evidence, program_id, advice), recommendation=advice)


def advice_of(alert: AlertState, band: Band, action: str | None) -> Recommendation:
    """Hold where a rule of the bank with this action says so; else by severity and band."""
    if action == RuleAction.HOLD.value:
        return Recommendation.HOLD
    highest = Band.HOLD if alert.in_hold else band  # of the alert's transfers
    return recommended(alert.severity, None if alert.band is None else highest, hard=alert.hard)


def policy_close(alert: AlertState, evidence: Evidence, *, program_id: str) -> Draft:
    """The narrative that the policy signs when it closes an alert without a person."""
    signed = f"Closed by policy:{alert.policy_version} at {format_instant(alert.opened_at)}"
    head = f"{signed} ({words(evidence.route_reason)}). {heading(alert)}."
    advice = Recommendation.CLOSE
    return Draft(narrative=_narrative(head, alert, evidence, program_id, advice), recommendation=advice)


def heading(alert: AlertState) -> str:
    hardness = "hard" if alert.hard else "not hard"
    return f"Alert {alert.id} of detector {words(alert.detector)}, severity {alert.severity}, {hardness}"


def _narrative(head: str, alert: AlertState, evidence: Evidence, program_id: str, advice: Recommendation) -> str:
    closes = advice is Recommendation.CLOSE
    parts = (
        head,
        _who(alert, evidence, program_id),
        _what_and_when(evidence, SHOWN_WHEN_CLOSED if closes else SHOWN_TRANSFERS),
        _where(evidence),
        _why_alerted(evidence, SHOWN_SIGNALS_WHEN_CLOSED if closes else SHOWN_SIGNALS),
        _looked_at(evidence),
        _why_close(alert, evidence) if closes else _why_not(alert, evidence, advice),
    )
    return " ".join(parts)


def _who(alert: AlertState, e: Evidence, program_id: str) -> str:
    status = e.features["entity.verificationStatus"]
    age = e.features["entity.screeningAgeDays"]
    screened = "screening not delivered" if age is None else f"last screened {age} days earlier"
    parties = (
        (e.entity_id, "entity", f" (verification {status or 'not delivered'}, {screened})"),
        (e.account_id, "account", ""),
        (e.counterparty_id, "counterparty", f" ({e.features['counterparty.n']} earlier transfers with it)"),
    )
    named = ", ".join(f"{kind} {party}{detail}" for party, kind, detail in parties if party is not None)
    return f"Who: {alert.subject_type} {alert.subject_id} of program {program_id}; {named or 'no party delivered'}."


def _what_and_when(e: Evidence, most: int) -> str:
    """A wallet that was listed after it paid rests on a transfer that is named by ``rests_on`` alone."""
    ids = ", ".join(e.transfer_ids[-most:])
    named = f"transfer {ids}" if ids else "a transfer"
    newest = f"{_amount(e)} {e.features['direction']} by {e.features['rail']}"
    kind = e.features["type"]
    newest = newest if kind is None else f"{newest} ({kind})"
    if e.hits == 1:
        return f"What and when: {named}, {newest}, at {e.last_at}.{_rests_on(e)}"
    total = money(int(e.total_cents))
    return (
        f"What and when: {e.hits} transfers worth {total} between {e.first_at} and {e.last_at}; "
        f"the newest are {ids}; the last is {newest}.{_rests_on(e)}"
    )


def _amount(e: Evidence) -> str:
    """The newest transfer's amount in its own currency, and in US dollars where the currency differs."""
    if e.currency == USD:
        return money(int(e.amount_cents))
    cents = e.features["amountCents"]
    in_dollars = "no amount in US dollars" if cents is None else _figure_text("amountCents", cents)
    return f"{money_in(e.currency, int(e.amount_cents))} ({in_dollars})"


def _rests_on(e: Evidence) -> str:
    """The number of transfers that support the finding, where it is more than one."""
    return f" {e.rests_on_count} transfers support the finding." if e.rests_on_count > 1 else ""


def _where(e: Evidence) -> str:
    country = e.features["counterpartyCountry"]
    rails, countries = e.features["declared.rails"], e.features["declared.countries"]
    declared = f"declared rails {rails or 'none'}, declared countries {countries or 'none'}."
    return f"Where: {'country not delivered' if country is None else f'country {country}'}; {declared}"


def _why_alerted(e: Evidence, most: int) -> str:
    own = [name for name in e.features if name not in _IN_OTHER_PARTS]
    measured = listed((name, e.features[name]) for name in own)
    lines = listed(e.thresholds.items())
    score = (
        f"The score was not measured (n = {e.n})"
        if e.score is None
        else f"The score is {e.score}, band {e.band}, with confidence {e.confidence} (n = {e.n})"
    )
    without_lines = "none, the fact itself is enough" if e.rule is msgspec.UNSET else "those of the rule"
    others = ", ".join(map(words, e.other_signals[:most])) or "none"
    if len(e.other_signals) > most:
        others += " and others"
    return (
        f"Why it alerted: {e.finding} Measured: {measured or 'nothing further'}. "
        f"Thresholds: {lines or without_lines}. {score}; other signals: {others}."
    )


def _looked_at(e: Evidence) -> str:
    base = "no program baseline" if e.program_n is None else f"a baseline of {e.program_n} program transfers"
    inputs = "some inputs were missing or stale" if e.degraded else "no input was missing"
    return (
        f"Reviewed: {e.features['entity.priorTransfers']} earlier transfers of the entity, {base}, the declaration and "
        f"{counted(e.earlier_alerts, 'earlier alert')}; {inputs}."
    )


def detector_of(alert: AlertState) -> Detector:
    """The detector with the open question and the next step of the alert."""
    return RULE if alert.detector.startswith(RULE_PREFIX) else DETECTOR_OF.get(alert.detector, _UNKNOWN)


def _why_close(alert: AlertState, e: Evidence) -> str:
    detector = detector_of(alert)
    score = "was not measured" if e.score is None else f"of {e.score} is in band {e.band}"
    clear = ", which is consistent with ordinary activity" if e.band == Band.CLEAR.value else ""
    return (
        f"Why close: severity {alert.severity}, not hard, and the score {score}{clear}. "
        f"Open question: {detector.unexplained}; alone it does not justify a hold. "
        "A hard signal, a higher band or a return would change that."
    )


def _why_not(alert: AlertState, e: Evidence, advice: Recommendation) -> str:
    detector = detector_of(alert)
    reason = _HOLDING if advice is Recommendation.HOLD else ESCALATING
    due = "as soon as possible" if alert.due_at is None else f"by {format_instant(alert.due_at)}"
    auto_held = " The alert is already held, because one of its transfers is in the hold band." if e.auto_hold else ""
    return (
        f"Why {advice.value}: open question: {detector.unexplained}. The figures above do not answer it. "
        f"{_before(e)}. {reason}{auto_held} "
        f"Next step: {detector.next_step}, and record the answer with the decision, due {due}. "
        "A documented answer that fits the declared activity supports closing the alert; "
        "no answer, or one that does not fit these transfers, supports further action."
    )


def _before(e: Evidence) -> str:
    if not e.earlier_alerts:
        return "This is the detector's first alert on the subject"
    return f"The detector opened {counted(e.earlier_alerts, 'earlier alert')} on the subject"


def listed(figures: Iterable[tuple[str, Figure]]) -> str:
    return ", ".join([f"{name} {_figure_text(name, value)}" for name, value in figures])


def _figure_text(name: str, value: Figure) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return money(int(value)) if isinstance(value, str) and "Cents" in name else str(value)
