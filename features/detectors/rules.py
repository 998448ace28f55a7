"""The rules that the bank wrote, as detectors ``rule:<id>`` of a transfer: which of them match it, and what they find.

Window  none: a rule opens at most one alert on a transfer
"""

from typing import Final

import msgspec

from features.catalogue.vector import FeatureVector
from features.core.rules import Rule
from features.core.vocabulary import SubjectType
from features.detectors.detector import AlertSubject, DetectionContext, Detector, Finding, Grade, ReviewQuestion
from features.policy.rule_set import RuleInForce
from features.rules.fields import RULE_FIELD_OF
from features.rules.words import sentence_of
from features.state.program import ProgramState

SHOWN_CONDITIONS: Final = 5
"""Conditions of a rule that sentences name; the evidence has all of them with the values found."""

RULE_REVIEW: Final = ReviewQuestion(
    unexplained="whether the transfer is of the kind that the bank wrote the rule for",
    next_step="hold the transfer against the purpose of the rule",
)


def matching_rules(program: ProgramState, vector: FeatureVector) -> tuple[RuleInForce, ...]:
    """The rules in force in the program that the vector meets: first the active ones, then those in testing."""
    in_force = program.policies.rules(program.id)
    if not in_force.rules:
        return ()
    return tuple(in_force.rules[place] for place in in_force.matching(vector))


def rule_finding(context: DetectionContext, match: RuleInForce) -> Finding:
    """The finding of an active rule on the transfer that it matches."""
    rule = match.rule
    columns = dict.fromkeys(RULE_FIELD_OF[condition.field].column for condition in rule.when[:SHOWN_CONDITIONS])
    return Finding(
        detector=Detector(
            id=match.detector,
            opens_when="",
            triggers=(),
            features=tuple(columns),
            thresholds={},
            review=RULE_REVIEW,
        ),
        subject=AlertSubject(SubjectType.TRANSFER, context.transfer_id),
        grade=Grade(rule.severity, hard=False),
        reasons=(),
        sentence=f"The transfer meets the bank's rule {rule.id} ({match.version}): {_conditions_of(rule)}.",
        at=context.at,
        after=context.at,
        until=context.at,
        figures={},
        rule=match,
        is_news=context.landed.is_new,
    )


def _conditions_of(rule: Rule) -> str:
    if len(rule.when) <= SHOWN_CONDITIONS:
        return sentence_of(rule)
    shown = sentence_of(msgspec.structs.replace(rule, when=rule.when[:SHOWN_CONDITIONS]))
    return f"{shown}, and {len(rule.when) - SHOWN_CONDITIONS} more conditions"
