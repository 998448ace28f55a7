"""The rules in force in a program, ready to be held against each transfer: those that are active and those in testing.

A version comes as one body for all programs of a tenant. The body is kept once, and compiled once, for all programs in
which the same of its rules count. Rules are read back from their canonical form, so that what counts is what a digest
covers.

Unit    a rule counts in its own program, or in all where it names none; one that is not about transfers matches none
"""

from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from features.catalogue.vector import FeatureVector
from features.core.canonical import canonical, digest_of
from features.core.rules import Rule, RuleAction, RuleMode, rule_hash
from features.policy.bodies import ActiveVersion, RulesBody
from features.policy.routing import RULE_PREFIX
from features.rules.language import faults_of
from features.rules.predicate import compiled

NO_RULES: Final = RulesBody(rules=())


class RuleInForce(msgspec.Struct, frozen=True):
    """A rule with the digest and the version that its matches cite."""

    rule: Rule
    sha256: str
    version: str
    mode: RuleMode

    @property
    def detector(self) -> str:
        return f"{RULE_PREFIX}{self.rule.id}"

    @property
    def opens_alert(self) -> bool:
        return self.mode is RuleMode.ACTIVE


class RuleSet(msgspec.Struct, frozen=True, weakref=True, eq=False):
    """``matching`` gives the places in ``rules`` of those that a vector meets."""

    rules: tuple[RuleInForce, ...]
    matching: Callable[[FeatureVector], tuple[int, ...]]


NO_RULE_SET: Final = RuleSet((), lambda _vector: ())
_BODIES: Final[WeakValueDictionary[str, RulesBody]] = WeakValueDictionary()
_SETS: Final[WeakValueDictionary[tuple[tuple[str, str, RuleMode], ...], RuleSet]] = WeakValueDictionary()


def shared_body(body: RulesBody) -> RulesBody:
    """The one body of this content, as its canonical form reads."""
    return _shared(canonical(body))


def checked_body(body: RulesBody) -> RulesBody:
    """The same of a version that is new here; ``ValueError`` names the first rule that cannot be evaluated, and where.

    One that another program has in force was checked there.
    """
    encoded = canonical(body)
    if digest_of(encoded) not in _BODIES:
        for rule in body.rules:
            for fault in faults_of(rule):
                raise ValueError(f"rule {rule.id}, {fault.path}: {fault.sentence}")
    return _shared(encoded)


def _shared(encoded: bytes) -> RulesBody:
    digest = digest_of(encoded)
    known = _BODIES.get(digest)
    if known is None:
        known = _BODIES[digest] = msgspec.json.decode(encoded, type=RulesBody)
    return known


def rule_set(active: ActiveVersion | None, testing: ActiveVersion | None, program_id: str) -> RuleSet:
    """The rules of both versions that count in the program."""
    rules = (
        *_counting(active, program_id, is_testing=False),
        *_counting(testing, program_id, is_testing=True),
    )
    if not rules:
        return NO_RULE_SET
    key = tuple((each.version, each.sha256, each.mode) for each in rules)
    known = _SETS.get(key)
    if known is None:
        known = _SETS[key] = RuleSet(rules, compiled([each.rule for each in rules]))
    return known


def _counting(version: ActiveVersion | None, program_id: str, *, is_testing: bool) -> Iterator[RuleInForce]:
    if version is None:
        return
    assert isinstance(version.body, RulesBody)
    for rule in version.body.rules:
        if rule.program_id in {None, program_id}:
            yield RuleInForce(rule, rule_hash(rule), version.version, _mode_of(rule, is_testing=is_testing))


def _mode_of(rule: Rule, *, is_testing: bool) -> RuleMode:
    if is_testing:
        return RuleMode.SHADOW
    return RuleMode.LOG if rule.action is RuleAction.LOG else RuleMode.ACTIVE
