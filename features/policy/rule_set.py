"""The rules in force in a program, ready to be matched with each transfer: active rules and rules in testing.

A version is one body for all programs of a tenant. The body is stored once, and compiled once for all programs in which
the same rules count. Rules are decoded from their canonical form, so that the digest covers the rules that count.

Unit    a rule counts in its own program, or in all where it names none; one that is not about transfers matches none
"""

from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.rules import Rule, RuleAction, RuleMode
from clearhold.features.policy.bodies import ActiveVersion, RulesBody
from clearhold.features.policy.routing import RULE_PREFIX
from clearhold.features.rules.language import RULE_FIELD_OF, faults_of
from clearhold.features.rules.predicate import compiled, shown_conditions


class RuleInForce(msgspec.Struct, frozen=True):
    """A rule with the digest and the version that its matches cite, and what its alerts say of it.

    ``conditions`` are the first of them in words, as many as a sentence takes, and ``columns`` what those look at.
    """

    rule: Rule
    sha256: str
    version: str
    mode: RuleMode
    detector: str
    conditions: str
    columns: tuple[str, ...]

    @property
    def opens_alert(self) -> bool:
        return self.mode is RuleMode.ACTIVE


class RuleSet(msgspec.Struct, frozen=True, weakref=True, eq=False):
    """``matching`` gives the indexes in ``rules`` of the rules that a vector meets."""

    rules: tuple[RuleInForce, ...]
    matching: Callable[[FeatureVector], tuple[int, ...]]


_BODIES: Final[WeakValueDictionary[str, RulesBody]] = WeakValueDictionary()
_CHECKED: Final[WeakValueDictionary[str, RulesBody]] = WeakValueDictionary()
_SETS: Final[WeakValueDictionary[tuple[tuple[str, str, RuleMode], ...], RuleSet]] = WeakValueDictionary()


def shared_body(body: RulesBody) -> RulesBody:
    """The one body of this content, as its canonical form reads."""
    encoded = canonical(body)
    return _shared(encoded, digest_of(encoded))


def checked_body(body: RulesBody) -> RulesBody:
    """The body of a version that comes into force, as ``shared_body`` gives it; each content is checked once.

    Raises ``ValueError`` with the first rule that cannot be evaluated, and its place; bodies of snapshots are new here.
    """
    encoded = canonical(body)
    digest = digest_of(encoded)
    checked = _CHECKED.get(digest)
    if checked is None:
        for rule in body.rules:
            for fault in faults_of(rule):
                raise ValueError(f"rule {rule.id}, {fault.path}: {fault.sentence}")
        checked = _CHECKED[digest] = _shared(encoded, digest)
    return checked


def _shared(encoded: bytes, digest: str) -> RulesBody:
    known = _BODIES.get(digest)
    if known is None:
        known = _BODIES[digest] = msgspec.json.decode(encoded, type=RulesBody)
    return known


def rule_set(active: ActiveVersion | None, testing: ActiveVersion | None, program_id: str) -> RuleSet:
    """The rules of both versions that count in the program."""
    counting = (
        *_counting(active, program_id, is_testing=False),
        *_counting(testing, program_id, is_testing=True),
    )
    key = tuple((version, sha256, mode) for _, sha256, version, mode in counting)
    known = _SETS.get(key)
    if known is None:
        rules = tuple(_in_force(*each) for each in counting)
        known = _SETS[key] = RuleSet(rules, compiled([each.rule for each in rules]))
    return known


def _counting(
    version: ActiveVersion | None, program_id: str, *, is_testing: bool
) -> Iterator[tuple[Rule, str, str, RuleMode]]:
    if version is None:
        return
    assert isinstance(version.body, RulesBody)
    for rule, sha256 in zip(version.body.rules, version.body.hashes, strict=True):
        if rule.program_id in {None, program_id}:
            yield rule, sha256, version.version, _mode_of(rule, is_testing=is_testing)


def _mode_of(rule: Rule, *, is_testing: bool) -> RuleMode:
    if is_testing:
        return RuleMode.SHADOW
    return RuleMode.LOG if rule.action is RuleAction.LOG else RuleMode.ACTIVE


def _in_force(rule: Rule, sha256: str, version: str, mode: RuleMode) -> RuleInForce:
    """The parts that all matches of a rule share, built once."""
    sentence, count = shown_conditions(rule)
    rest = len(rule.when) - count
    return RuleInForce(
        rule=rule,
        sha256=sha256,
        version=version,
        mode=mode,
        detector=f"{RULE_PREFIX}{rule.id}",
        conditions=sentence + (f", and {rest} more" if rest else ""),
        columns=tuple(dict.fromkeys(RULE_FIELD_OF[each.field].column for each in rule.when[:count])),
    )
