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

SHOWN_WORDS: Final = 50
"""About so many words of a rule's conditions stand in sentences; the evidence has all of them with the values found."""

RULE_REVIEW: Final = ReviewQuestion(
    unexplained="whether the transfer is of the kind that the bank wrote the rule for",
    next_step="compare the transfer with the purpose of the rule",
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
    named = _named(rule)
    rest = len(rule.when) - len(named.when)
    conditions = sentence_of(named) + (f", and {rest} more" if rest else "")
    columns = dict.fromkeys(RULE_FIELD_OF[condition.field].column for condition in named.when)
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
        sentence=f"The transfer meets the bank's rule {rule.id} ({match.version}): {conditions}.",
        at=context.at,
        after=context.at,
        until=context.at,
        figures={},
        rule=match,
        is_news=context.landed.is_new,
    )


def _named(rule: Rule) -> Rule:
    """The rule with the conditions alone that sentences name: the first of them, as many as fit."""
    for count in range(1, len(rule.when) + 1):
        named = msgspec.structs.replace(rule, when=rule.when[:count])
        if len(sentence_of(named).split()) > SHOWN_WORDS:
            return msgspec.structs.replace(rule, when=rule.when[: max(1, count - 1)])
    return rule
