"""What an alert rests on: kept with it, so that a stranger can rebuild why it was opened and how it was routed.

Unit    cents are strings of digits, instants are texts; names are never in it, ids only
"""

from typing import Any, Final

import msgspec

from features.catalogue.features import FEATURES, NAME_OF
from features.catalogue.vector import FEATURE_VERSION
from features.core.instants import format_instant
from features.core.reason import Reason
from features.core.vocabulary import SubjectType
from features.detectors.detector import DetectionContext, Finding
from features.landing.stored_transfer import StoredTransfer
from features.policy.in_force import InForce
from features.policy.routing import RouteReason, Routing
from features.state.alert_book import Alert, key_of_subject

Figure = str | int | float | bool | None


class Path(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers on which money went, oldest first, each as the log offset that last delivered it.

    The interface shows their ids instead; the record keeps the offsets.
    """

    layering_hops: tuple[str, ...]
    round_trip: tuple[str, ...]


class Escalation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """That it was escalated, and by whom: ``clock``, or who decided so."""

    at: str
    by: str


class Appealed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an appeal is against, and why."""

    alert_id: str
    status: str
    reason: str
    by: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Features, reasons and parties are those of the newest hit that was written down; sums are over all hits."""

    route_reason: str
    auto_hold: bool
    finding: str
    features: dict[str, Figure]
    thresholds: dict[str, str | int]
    reasons: tuple[Reason, ...]
    other_signals: tuple[str, ...]  # of the same transfer
    transfer_ids: tuple[str, ...]
    hits: int
    total_cents: str
    first_at: str
    last_at: str
    window_ends_at: str | None
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
    path: Path | None = None
    escalation: Escalation | None = None


class AppealEvidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The evidence of an appeal is the alert that it is against."""

    route_reason: str
    auto_hold: bool
    transfer_ids: tuple[str, ...]
    policy_version: str
    clock_version: str
    appeal: Appealed
    escalation: Escalation | None = None


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
_DECODER: Final = msgspec.json.Decoder(Evidence)
_ENCODE: Final = msgspec.json.Encoder().encode


def evidence_of(
    context: DetectionContext, finding: Finding, alert: Alert, routed: Routing, policies: InForce
) -> Evidence:
    """The evidence of an alert with this hit as its newest."""
    assessment, score = context.assessment, context.assessment.score
    actor, party = context.landed.parties
    fed = {reason.id for reason in finding.reasons}
    return Evidence(
        route_reason=routed.reason.value,
        auto_hold=routed.auto_hold,
        finding=finding.sentence,
        features=_features(context, finding),
        thresholds={
            name: _figure(value, in_cents=_names_cents(name)) for name, value in finding.detector.thresholds.items()
        },
        reasons=finding.reasons,
        other_signals=tuple(sorted({reason.signal for reason in context.fired if reason.id not in fed})),
        earlier_alerts=_earlier(context, finding, alert),
        entity_id=None if actor is None or actor.is_account else actor.id,
        account_id=_account_id(context),
        counterparty_id=None if party is None or party.unlisted else party.id,
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
        path=_path(context),
        **counted(alert),
    )


def counted(alert: Alert) -> dict[str, Any]:
    """What the hits so far come to."""
    on_transfer = alert.subject_type == SubjectType.TRANSFER
    return {
        "transfer_ids": alert.newest,
        "hits": alert.hits,
        "total_cents": str(alert.cents),
        "first_at": format_instant(alert.first_at),
        "last_at": format_instant(alert.last_at),
        "window_ends_at": None if on_transfer else format_instant(alert.ends_at),
    }


def refreshed(kept: str, newest: Evidence) -> Evidence:
    """The evidence of the newest hit, with what stays of the evidence before it."""
    before = _DECODER.decode(kept)
    return msgspec.structs.replace(
        newest,
        route_reason=before.route_reason,
        auto_hold=before.auto_hold or newest.auto_hold,
        earlier_alerts=before.earlier_alerts,
        escalation=before.escalation,
    )


def brought_up_to_date(kept: str, alert: Alert, escalation: Escalation | None) -> str:
    """Evidence as it was written down, with the hits since then and an escalation."""
    evidence = msgspec.json.decode(kept)
    if alert.appeal_of is None:
        evidence |= {_ENCODED[name]: value for name, value in counted(alert).items()}
    if escalation is not None:
        evidence["escalation"] = msgspec.to_builtins(escalation)
    return text_of(evidence)


def appeal_evidence(old: Alert, against: Appealed, policies: InForce) -> AppealEvidence:
    return AppealEvidence(
        route_reason=RouteReason.APPEAL.value,
        auto_hold=False,
        transfer_ids=() if old.transfer_id is None else (old.transfer_id,),
        policy_version=policies.policy.version,
        clock_version=policies.clock_version,
        appeal=against,
    )


def text_of(evidence: object) -> str:
    return _ENCODE(evidence).decode()


def subject_key(finding: Finding) -> str:
    """What hits of one detector on one subject share."""
    return key_of_subject(finding.detector.id, finding.subject.type, finding.subject.id)


def _earlier(context: DetectionContext, finding: Finding, alert: Alert) -> int:
    """How many alerts the detector had opened on the subject; those on a transfer are numbered from the second on."""
    key = subject_key(finding)
    if finding.subject.type is not SubjectType.TRANSFER:
        return context.program.alerts.earlier(key)
    return 0 if alert.dedupe_key == key else int(alert.dedupe_key.removeprefix(f"{key}:")) - 1


def _features(context: DetectionContext, finding: Finding) -> dict[str, Figure]:
    """What every alert shows, then the detector's own, by the names of the interface."""
    columns = dict.fromkeys((*ALWAYS_SHOWN, *finding.detector.features))
    shown = {
        NAME_OF[column]: _figure(getattr(context.vector, column), in_cents=column in _IN_CENTS) for column in columns
    }
    return shown | {name: _figure(value, in_cents=_names_cents(name)) for name, value in finding.figures.items()}


def _figure(value: Any, *, in_cents: bool) -> Any:
    return str(value) if in_cents and value is not None else value


def _names_cents(name: str) -> bool:
    return name.endswith("Cents")


def _account_id(context: DetectionContext) -> str | None:
    return StoredTransfer.read(context.program, context.landed.row_index).account_id()


def _path(context: DetectionContext) -> Path | None:
    assessment = context.assessment
    if not assessment.layering and not assessment.round_trip:
        return None
    offset_of = context.program.transfers.raw_offset
    return Path(
        layering_hops=tuple(str(offset_of(row)) for row in assessment.layering),
        round_trip=tuple(str(offset_of(row)) for row in assessment.round_trip),
    )
