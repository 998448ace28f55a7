"""The evidence on the rule behind an alert: its id and version, and the value that each condition observed.

Unit    cents are strings of digits, as everywhere in evidence; the rule's name and note are the bank's and stay out
"""

import msgspec

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.rules import RuleValue, Scalar
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.rules.fields import RULE_FIELD_OF, FieldKind, kind_of


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
