"""Rules that a bank writes: what they say, without what makes them right or evaluates them (``features/rules``).

A rule never changes a score. One that is active opens alerts ``rule:<id>``, which a person decides; one that is in
testing is counted beside the stream and opens nothing.

Unit    money in values is integer cents, as a number or as a string of digits
"""

from enum import StrEnum
from typing import Any

import msgspec

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.vocabulary import Severity


class RuleScope(StrEnum):
    """What a rule is about. Only rules about transfers fire."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    PROGRAM = "program"


class RuleAction(StrEnum):
    """``log`` only counts; the others open an alert of the rule's severity."""

    ALERT = "alert"
    HOLD = "hold"
    REVIEW = "review"
    LOG = "log"


class RuleStatus(StrEnum):
    DRAFT = "draft"
    TESTING = "testing"
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class RuleMode(StrEnum):
    """What a match leads to: an alert, or a count, of an active rule that logs or of one in testing."""

    ACTIVE = "active"
    LOG = "log"
    SHADOW = "shadow"


class RuleOp(StrEnum):
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    NOT_IN = "not_in"
    BETWEEN = "between"
    IS_NULL = "is_null"
    NOT_NULL = "not_null"


Scalar = str | int | float | bool | None
RuleValue = Scalar | tuple[Scalar, ...]


class RuleCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One comparison of a field; ``value`` is left out for ``is_null`` and ``not_null``."""

    field: str
    op: RuleOp
    value: RuleValue | msgspec.UnsetType = msgspec.UNSET


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """All conditions of ``when`` have to hold. ``program_id`` None: every program of the tenant."""

    id: str
    name: str
    scope: RuleScope = RuleScope.TRANSFER
    program_id: str | None = None
    when: tuple[RuleCondition, ...]
    action: RuleAction
    severity: Severity
    status: RuleStatus
    note: str | msgspec.UnsetType = msgspec.UNSET


def rule_hash(rule: Rule) -> str:
    """The digest of all that the rule says, but for its status: what a backtest and an activation are bound to."""
    content: dict[str, Any] = msgspec.to_builtins(rule)
    del content["status"]
    return digest_of(canonical(content))
