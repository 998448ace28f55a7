"""Rules that a bank writes, as data; ``features/rules`` checks and evaluates them.

A rule never changes a score. An active rule opens alerts ``rule:<id>``, which a person decides; a rule in testing is
counted beside the stream and opens nothing.

Unit    money in values is integer cents, as a number or as a string of digits
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.vocabulary import Severity
from clearhold.features.core.words import about


class RuleScope(StrEnum):
    """The subject of a rule. Only rules about transfers fire."""

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
    """The effect of a match: an alert, or a count, of an active rule that logs or of a rule in testing."""

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
    op: Annotated[RuleOp, about("How the field is compared with the value.")]
    value: Annotated[
        RuleValue | msgspec.UnsetType,
        about(
            "A single value; a list for in and not_in, two bounds that both count for between; left out for "
            "is_null and not_null. Money is integer cents, as a number or a string of digits."
        ),
    ] = msgspec.UNSET


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """All conditions of ``when`` must hold. ``program_id`` None: every program of the tenant."""

    id: Annotated[str, about("The author's name for the rule: lower-case letters and digits with inner - and _.")]
    name: str
    scope: RuleScope = RuleScope.TRANSFER
    program_id: Annotated[str | None, about("The program that it is for; null is every program of the tenant.")] = None
    when: tuple[RuleCondition, ...]
    action: RuleAction
    severity: Annotated[Severity, about("Of the alerts that it opens; those of high need the longest look.")]
    status: Annotated[
        RuleStatus,
        about(
            "draft has no effect; testing is counted in live shadow; active is in force; paused and archived are not."
        ),
    ]
    note: Annotated[str | msgspec.UnsetType, about("The author's note.")] = msgspec.UNSET


def rule_hash(rule: Rule) -> str:
    """The digest of the whole rule except its status, which a backtest and an activation refer to."""
    content: dict[str, Any] = msgspec.to_builtins(rule)
    del content["status"]
    return digest_of(canonical(content))
