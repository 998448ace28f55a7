"""The bank's rules as detectors ``rule:<id>`` of a transfer: the matching rules, and their findings.

Window  none: a rule opens at most one alert on a transfer
"""

from typing import Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.detectors.detector import (
    AlertSubject,
    DetectionContext,
    Detector,
    Finding,
    Grade,
    ReviewQuestion,
)
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.state.program import ProgramState

RULE_REVIEW: Final = ReviewQuestion(
    unexplained="whether the transfer is one that the bank's rule is meant for",
    next_step="compare the transfer with the purpose of the rule",
)


def matching_rules(program: ProgramState, vector: FeatureVector) -> tuple[RuleInForce, ...]:
    """The rules in force in the program that match the vector: active rules first, then rules in testing."""
    in_force = program.policies.rules()
    if not in_force.rules:
        return ()
    return tuple(in_force.rules[place] for place in in_force.matching(vector))


def rule_finding(context: DetectionContext, match: RuleInForce) -> Finding:
    """The finding of an active rule on the transfer that it matches."""
    rule = match.rule
    return Finding(
        detector=Detector(
            id=match.detector,
            opens_when="",
            triggers=(),
            features=match.columns,
            thresholds={},
            review=RULE_REVIEW,
        ),
        subject=AlertSubject(SubjectType.TRANSFER, context.transfer_id),
        grade=Grade(rule.severity, hard=False),
        reasons=(),
        sentence=f"The transfer meets the bank's rule {rule.id} ({match.version}): {match.conditions}.",
        at=context.at,
        after=context.at,
        until=context.at,
        figures={},
        rule=match,
        is_news=context.landed.is_new,
    )
