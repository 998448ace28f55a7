"""Rules that come into force in a story, as those of a bank do."""

from typing import Any, Final

from clearhold.features.core.rules import Rule, RuleCondition
from clearhold.features.policy.bodies import RulesBody
from tests.support.policies import in_force_at
from tests.support.rules import a_condition, a_rule
from tests.support.stories import ShardStory

BIG_WIRE: Final = (a_condition("rail", "eq", "wire"), a_condition("amountCents", "gt", 5_000_00))


def an_active_rule(rule_id: str = "big-wires", *when: RuleCondition, **over: Any) -> Rule:
    """One that opens medium alerts on wires of over 5,000 dollars, unless told otherwise."""
    return a_rule(*(when or BIG_WIRE), **{"id": rule_id, "status": "active"} | over)


def a_testing_rule(rule_id: str = "big-wires", *when: RuleCondition, **over: Any) -> Rule:
    return an_active_rule(rule_id, *when, **{"status": "testing"} | over)


def rules_in_force(story: ShardStory, *rules: Rule, version: str = "rules-v1", at: int = 0) -> None:
    """Bring a version into force, ``shadow-v1`` for rules in testing; ``at`` counts microseconds from T0."""
    in_force_at(story, version, RulesBody(rules=rules), at)
