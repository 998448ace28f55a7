"""Bodies of evidence: of an alert on transfers, of an alert on a program, and of an appeal; drafts.

Unit    cents are strings of digits, instants are texts; it holds ids and never names;
        a rule's name and note are the bank's and stay out
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.rules import RuleValue, Scalar
from clearhold.features.core.vocabulary import Reason, about
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.rules.language import RULE_FIELD_OF, FieldKind, kind_of

Figure = str | int | float | bool | None


class ConditionEvidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition that held, with the observed value; the operator may need no ``value`` to compare with."""

    field: str
    op: str
    value: RuleValue | msgspec.UnsetType
    observed: Scalar


class RuleEvidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``sha256`` is the digest of the whole rule, which its backtest and its activation cite too."""

    rule_id: str
    sha256: str
    version: str
    action: str
    conditions: tuple[ConditionEvidence, ...]


def rule_evidence(match: RuleInForce, vector: FeatureVector) -> RuleEvidence:
    """The rule with the values of the transfer's vector."""
    rule = match.rule
    return RuleEvidence(
        rule_id=rule.id,
        sha256=match.sha256,
        version=match.version,
        action=rule.action.value,
        conditions=tuple(
            ConditionEvidence(
                field=condition.field,
                op=condition.op.value,
                value=condition.value,
                observed=_observed(RULE_FIELD_OF[condition.field], vector),
            )
            for condition in rule.when
        ),
    )


def _observed(feature: Feature, vector: FeatureVector) -> Scalar:
    value: Scalar = getattr(vector, feature.column)
    return str(value) if value is not None and kind_of(feature) is FieldKind.MONEY else value


class Recommendation(StrEnum):
    CLOSE = "close"
    HOLD = "hold"
    ESCALATE = "escalate"


class Draft(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A proposed narrative. A template has no confidence and no model."""

    narrative: str
    recommendation: Recommendation
    confidence: Annotated[float | None, about("0 to 1; null for a draft made from a template.")] = None
    narrative_model: str | None = None


class MoneyPath(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers that money passed through, oldest first, as log offsets; the API shows their ids instead."""

    layering_hops: tuple[str, ...]
    round_trip: tuple[str, ...]


class Escalation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The time of an escalation, and who escalated: ``clock``, or the operator with the decision."""

    at: str
    by: str


class AppealedAlert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The alert that an appeal is against, and why."""

    alert_id: str
    status: str
    reason: str
    by: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Features, reasons, parties and amount are of the newest finding; sums are over all findings.

    ``rests_on`` are the transfers behind the newest finding, as log offsets; ``actor_ids`` are the entities and
    accounts that moved them. ``score_reasons`` are the reasons of the score at which the alert opened.
    """

    route_reason: str
    auto_hold: bool
    finding: str
    features: dict[str, Figure]
    thresholds: dict[str, str | int]
    reasons: tuple[Reason, ...]
    other_signals: tuple[str, ...]  # of the same transfer
    score_reasons: tuple[Reason, ...]
    amount_cents: str  # of the newest transfer, in its own currency
    currency: str
    transfer_ids: tuple[str, ...]
    rests_on: tuple[str, ...]
    rests_on_count: int
    actor_ids: tuple[str, ...]
    hits: int
    total_cents: str
    first_at: str
    last_at: str
    window_ends_at: str | None
    from_history: bool
    earlier_alerts: int
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    score: int | None
    band: str
    confidence: float | None
    n: int
    program_n: int | None
    degraded: bool
    scorer_version: str
    feature_version: str
    policy_version: str
    clock_version: str
    path: MoneyPath | None = None
    escalation: Escalation | None = None
    rule: RuleEvidence | msgspec.UnsetType = msgspec.UNSET  # of an alert that a rule of the bank opened


class ProgramEvidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The evidence of an alert on a program: the reading of one indicator, as of the newest snapshot that found it over
    its line with changed figures.

    ``hits`` counts those snapshots. ``rests_on`` are the transfers behind the reading, as log offsets, and
    ``actor_ids`` the entities or accounts. ``earlier_breaches`` are the breaches before the present one.
    """

    route_reason: str
    auto_hold: bool
    finding: str
    snapshot_id: str
    as_of: str
    kri: str
    value: float | None
    n: int
    unit: str
    threshold: float | None
    status: str
    kri_version: str
    features: dict[str, Figure]
    thresholds: dict[str, str | int]
    score_reasons: tuple[Reason, ...]  # of the Program Risk Score
    rests_on: tuple[str, ...]
    rests_on_count: int
    actor_ids: tuple[str, ...]
    counterparty_id: str | None
    declared_rails: str
    declared_countries: str
    hits: int
    first_at: str
    last_at: str
    window_ends_at: str
    is_repeat: bool
    earlier_breaches: int
    first_breach_at: str | None
    earlier_alerts: int
    measured: int  # indicators in the snapshot
    program_score: int | None
    program_score_n: int
    scorer_version: str
    policy_version: str
    clock_version: str
    escalation: Escalation | None = None


class AppealEvidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The evidence of an appeal: the alert that it is against."""

    route_reason: str
    auto_hold: bool
    transfer_ids: tuple[str, ...]
    policy_version: str
    clock_version: str
    appeal: AppealedAlert
    escalation: Escalation | None = None


class LastingEvidence(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of evidence that later findings do not change, and the transfers that the newest one rested on."""

    route_reason: str
    auto_hold: bool
    earlier_alerts: int
    score_reasons: tuple[Reason, ...] = ()
    escalation: Escalation | None = None
    rests_on: frozenset[int] = frozenset()
