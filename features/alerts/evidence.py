"""The evidence of an alert: enough to rebuild, without other sources, why it was opened and how it was routed.

Unit    cents are strings of digits, instants are texts; it holds ids and never names
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from clearhold.features.alerts.evidence_bodies import (
    AppealedAlert,
    AppealEvidence,
    Escalation,
    Evidence,
    Figure,
    LastingEvidence,
    MoneyPath,
    ProgramEvidence,
    rule_evidence,
)
from clearhold.features.catalogue.vector import FEATURE_VERSION, FEATURES, NAME_OF, FeatureVector
from clearhold.features.core.canonical import json_text
from clearhold.features.core.instants import format_instant
from clearhold.features.core.money import USD, money_in
from clearhold.features.core.vocabulary import SubjectType, words
from clearhold.features.detectors.detector import DetectionContext, Finding
from clearhold.features.detectors.places import SupportingTransfers
from clearhold.features.detectors.supporting import FOLLOW_MONEY
from clearhold.features.policy.in_force import InForce
from clearhold.features.policy.routing import RouteReason, Routing
from clearhold.features.state.alert_book import key_of_subject
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.transfer_table import ACTOR, RAW_OFFSET

_IN_CENTS: Final = frozenset(feature.column for feature in FEATURES if feature.unit.startswith("cents"))
ALWAYS_SHOWN: Final = (
    "amount_cents",
    "rail",
    "direction",
    "type",
    "counterparty_country",
    "entity_verification_status",
    "entity_screening_age_days",
    "entity_prior_transfers",
    "counterparty_n",
    "declared_rails",
    "declared_countries",
)
_ENCODED: Final = {field.name: field.encode_name for field in msgspec.structs.fields(Evidence)}


Refreshable = TypeVar("Refreshable", Evidence, ProgramEvidence)

lasting_of: Final = msgspec.json.Decoder(LastingEvidence, strict=False).decode


class FindingFacts(NamedTuple):
    """The facts behind a finding that later entries change."""

    resting: SupportingTransfers
    counterparty_id: str | None
    path: MoneyPath | None


def facts_of(context: DetectionContext, finding: Finding, resting: SupportingTransfers) -> FindingFacts:
    party = context.counterparty
    return FindingFacts(resting, None if party is None or party.unlisted else party.id, _path(context, finding))


def evidence_of(
    context: DetectionContext,
    finding: Finding,
    alert: AlertState,
    routing: Routing,
    policies: InForce,
    facts: FindingFacts,
) -> Evidence:
    """The evidence of an alert with this finding as its newest."""
    program, places = context.program, facts.resting.places
    assessment, score = context.assessment, context.assessment.score
    actor = context.actor
    own_reasons = {reason.id for reason in finding.reasons}
    transfer = context.transfer
    return Evidence(
        route_reason=routing.reason.value,
        auto_hold=routing.auto_hold,
        finding=finding.sentence,
        features=_features(context, finding),
        thresholds=shown_figures(finding.detector.thresholds),
        reasons=finding.reasons,
        score_reasons=() if alert.subject_type is SubjectType.PROGRAM else score.reasons,
        amount_cents=str(transfer.record.amount),
        currency=program.strings.text(transfer.record.currency) or USD,
        rests_on=tuple(map(str, places[RAW_OFFSET].tolist())),
        rests_on_count=facts.resting.total,
        actor_ids=tuple(program.actors[actor].id for actor in dict.fromkeys(places[ACTOR].tolist()) if actor >= 0),
        other_signals=tuple(sorted({reason.signal for reason in context.fired if reason.id not in own_reasons})),
        earlier_alerts=_earlier_alert_count(context, finding, alert),
        entity_id=None if actor is None or actor.is_account else actor.id,
        account_id=transfer.account_id(),
        counterparty_id=facts.counterparty_id,
        score=score.value,
        band=score.band.value,
        confidence=score.confidence,
        n=score.n,
        program_n=assessment.vector.program_n_90d,
        degraded=assessment.degraded,
        scorer_version=score.version,
        feature_version=FEATURE_VERSION,
        policy_version=policies.policy.version,
        clock_version=policies.clock_version,
        path=facts.path,
        rule=msgspec.UNSET if finding.rule is None else rule_evidence(finding.rule, context.vector),
        **totals_of(alert),
    )


def totals_of(alert: AlertState) -> dict[str, Any]:
    """The fields of ``Evidence`` that are sums over all findings of an alert."""
    on_transfer = alert.subject_type is SubjectType.TRANSFER
    return {
        "transfer_ids": alert.newest_transfers,
        "hits": alert.hits,
        "total_cents": str(alert.cents),
        "first_at": format_instant(alert.first_at),
        "last_at": format_instant(alert.last_at),
        "window_ends_at": None if on_transfer else format_instant(alert.ends_at),
        "from_history": alert.from_history,
    }


def refreshed(before: LastingEvidence, newest: Refreshable) -> Refreshable:
    """The evidence of the newest finding; route, score, earlier alerts and escalation stay those of the one before."""
    return msgspec.structs.replace(
        newest,
        route_reason=before.route_reason,
        auto_hold=before.auto_hold or newest.auto_hold,
        score_reasons=before.score_reasons,
        earlier_alerts=before.earlier_alerts,
        escalation=before.escalation,
    )


def with_totals(
    stored: str, alert: AlertState, escalation: Escalation | None, route_reason: RouteReason | None = None
) -> str:
    """The stored evidence with the present totals, and with the escalation or the new route if there is one."""
    evidence = msgspec.json.decode(stored)
    if alert.appeal_of is None:
        totals = {_ENCODED[name]: value for name, value in totals_of(alert).items()}
        evidence |= {name: value for name, value in totals.items() if name in evidence}
    if escalation is not None:
        evidence["escalation"] = msgspec.to_builtins(escalation)
    if route_reason is not None:
        evidence["routeReason"] = route_reason.value
    return json_text(evidence)


def appeal_evidence(old: AlertState, against: AppealedAlert, policies: InForce, *, auto_hold: bool) -> AppealEvidence:
    return AppealEvidence(
        route_reason=RouteReason.APPEAL.value,
        auto_hold=auto_hold,
        transfer_ids=old.transfers,
        policy_version=policies.policy.version,
        clock_version=policies.clock_version,
        appeal=against,
    )


def subject_key(finding: Finding) -> str:
    """The key that the alerts of one detector on one subject, and on one topic, share."""
    key = key_of_subject(finding.detector.id, finding.subject.type, finding.subject.id)
    return f"{key}:{finding.topic}" if finding.topic else key


def _earlier_alert_count(context: DetectionContext, finding: Finding, alert: AlertState) -> int:
    """How many alerts the detector opened on the subject before; on a transfer they are numbered from the second on."""
    key = subject_key(finding)
    if finding.subject.type is not SubjectType.TRANSFER:
        return context.program.alerts.alert_count(key)
    return 0 if alert.dedupe_key == key else int(alert.dedupe_key.removeprefix(f"{key}:")) - 1


def _features(context: DetectionContext, finding: Finding) -> dict[str, Figure]:
    """The features that every alert shows, then the detector's own, by the names of the interface."""
    names, read, in_cents = _columns(finding.detector.features)
    features: dict[str, Figure] = dict(zip(names, read(context.vector), strict=True))
    for name in in_cents:
        if features[name] is not None:
            features[name] = str(features[name])
    return features | shown_figures(finding.figures)


@lru_cache(maxsize=1_024)
def _columns(further: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[FeatureVector], tuple[Any, ...]], list[str]]:
    """The names of the features in evidence, the reader of their values from a vector, and the names in cents."""
    columns = tuple(dict.fromkeys((*ALWAYS_SHOWN, *further)))
    names = tuple(NAME_OF[column] for column in columns)
    return names, attrgetter(*columns), [NAME_OF[column] for column in columns if column in _IN_CENTS]


def shown_figures(figures: Mapping[str, int | str]) -> dict[str, int | str]:
    """Figures under their names; a name says when its figure is in cents."""
    return {name: str(value) if name.endswith("Cents") else value for name, value in figures.items()}


def _path(context: DetectionContext, finding: Finding) -> MoneyPath | None:
    """The path of the money, for the detectors that follow it."""
    assessment = context.assessment
    if finding.detector.id not in FOLLOW_MONEY or not (assessment.layering or assessment.round_trip):
        return None
    offsets_of = context.program.transfers.raw_offsets
    return MoneyPath(
        layering_hops=tuple(map(str, offsets_of(assessment.layering))),
        round_trip=tuple(map(str, offsets_of(assessment.round_trip))),
    )


def summary_of(finding: Finding, context: DetectionContext) -> str:
    """The finding in one line; it names the transfer's own currency when that is not the US dollar."""
    text = f"{words(finding.detector.id)} on {finding.subject.type} {finding.subject.id}: {finding.sentence}"
    record = context.transfer.record
    currency = context.program.strings.text(record.currency) or USD
    if currency == USD or finding.subject.type is SubjectType.PROGRAM:
        return text
    return f"{text} The transfer is of {money_in(currency, record.amount)}."
