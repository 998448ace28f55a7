"""The draft of an alert on a program, written from the snapshot that it rests on, in the order of other drafts.

Figures  every one is of the evidence, or of the alert itself (its id, its times); ids only, never names
Length   150-500 words: such an alert is never closed by the policy, and its draft escalates it
"""

from typing import Final

from clearhold.features.alerts.evidence_bodies import Draft, ProgramEvidence
from clearhold.features.alerts.narrative import ADVICE, ESCALATING, heading, listed, recommended, review_of, words
from clearhold.features.core.instants import format_instant
from clearhold.features.state.alert_state import AlertState

_SHOWN: Final = 10


def program_draft(alert: AlertState, e: ProgramEvidence, *, program_id: str) -> Draft:
    """The draft that a person may sign."""
    advice = recommended(alert.severity, None, hard=alert.hard)
    narrative = (
        f"Recommendation: {ADVICE[advice]}. {heading(alert)}, opened at {format_instant(alert.opened_at)} and routed "
        f"to a person ({words(e.route_reason)}). "
        f"Who: program {program_id}{_parties(e)}. "
        f"{_what_and_when(e)} "
        f"Where: across the program, on all rails and in all countries; declared rails {e.declared_rails or 'none'}, "
        f"declared countries {e.declared_countries or 'none'}. "
        f"{_why_alerted(e)} "
        f"Reviewed: all indicators of the snapshot, of which {e.measured} could be measured, the declaration and "
        f"{e.earlier_alerts} earlier alerts of this detector on the program. {before(e)} "
        f"{_why(alert, advice.value)}"
    )
    return Draft(narrative=narrative, recommendation=advice)


def before(e: ProgramEvidence) -> str:
    """Whether the indicator breached before: how often, and since when."""
    if not e.is_repeat:
        return "This is the program's first breach of this indicator."
    if e.first_breach_at is None:
        return "This detector alerted on the program before."
    times = "once" if e.earlier_breaches == 1 else f"{e.earlier_breaches} times"
    return f"The program breached this indicator {times} before, first at {e.first_breach_at}."


def _parties(e: ProgramEvidence) -> str:
    party = "" if e.counterparty_id is None else f"; counterparty {e.counterparty_id}"
    if not e.actor_ids:
        return party
    return f"{party}; its accounts and entities {', '.join(e.actor_ids[-_SHOWN:])}"


def _what_and_when(e: ProgramEvidence) -> str:
    transfers = (
        f"{e.rests_on_count} transfers support it; the evidence names the newest."
        if e.rests_on_count
        else "No single transfer explains it: the snapshot supports the alert."
    )
    since = (
        f"first found in this snapshot, at {e.last_at}"
        if e.hits == 1
        else f"found with other figures in {e.hits} snapshots between {e.first_at} and {e.last_at}"
    )
    return f"What and when: indicator {e.kri} in snapshot {e.snapshot_id} as of {e.as_of}, {since}. {transfers}"


def _why_alerted(e: ProgramEvidence) -> str:
    score = (
        f"The Program Risk Score was not measured (n = {e.program_score_n})"
        if e.program_score is None
        else f"The Program Risk Score is {e.program_score} (n = {e.program_score_n})"
    )
    return (
        f"Why it alerted: {e.finding} The indicator's status is {e.status} under the lines of {e.kri_version}. "
        f"Also measured: {listed(e.features.items()) or 'nothing'}. "
        f"Further thresholds: {listed(e.thresholds.items()) or 'none'}. {score}."
    )


def _why(alert: AlertState, advice: str) -> str:
    review = review_of(alert)
    due = "as soon as possible" if alert.due_at is None else f"by {format_instant(alert.due_at)}"
    return (
        f"Why {advice}: open question: {review.unexplained}. The figures above do not answer it. {ESCALATING} "
        f"Next step: {review.next_step}, and record the answer with the decision, due {due}. "
        "A documented answer that fits the declared activity, and an indicator back within its limit, support closing "
        "the alert; no answer, or an indicator that moves further from its limit, supports further action."
    )
