"""Rules, their versions and their backtests as the interface takes and shows them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.http.fields import CursorText, PageLimit, ProgramIds, Prose
from clearhold.api.http.validation import MOST_FAILURES, Failure
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.rules import (
    MOST_DAYS,
    MOST_SAMPLED,
    Rule,
    RuleAction,
    RuleCondition,
    RuleOp,
    RuleScope,
    RuleStatus,
)
from clearhold.features.core.vocabulary import Severity, about, minted
from clearhold.features.rules.language import RULE_FIELD_OF, FieldKind, faults_of, kind_of, ops_of, words_of

MAX_RULE_BYTES: Final = 16 * 1024
"""Up to two hundred rules are in a version, which every program of the tenant gets."""

LISTED_VERSIONS: Final = 100

TOO_LONG: Final = f"must be shorter: a rule is at most {MAX_RULE_BYTES} bytes"


class NewRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A new rule without a status: a draft. ``programId`` null is every program of the tenant."""

    id: Annotated[str, about("The author's name for the rule: lower-case letters and digits with inner - and _.")]
    name: str
    scope: RuleScope = RuleScope.TRANSFER
    program_id: Annotated[UUID | None, about("The program that it is for; null is every program of the tenant.")] = None
    when: tuple[RuleCondition, ...]
    action: RuleAction
    severity: Annotated[Severity, about("Of the alerts that it opens; those of high need the longest look.")]
    note: Annotated[str | msgspec.UnsetType, about("The author's note.")] = msgspec.UNSET


class WrittenRule(NewRule, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A stored rule with changes. It becomes a draft, whatever its ``status``."""

    status: Annotated[RuleStatus | msgspec.UnsetType, about("As read; it is ignored.")] = msgspec.UNSET


class RuleChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    note: Annotated[
        Prose | None,
        about("Why. It stands on the record with the activation or pause; of an archiving, in the log alone."),
    ] = None


class BacktestRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``full`` reads every transfer of the window; without it, the newest 1,000."""

    days: Annotated[int, msgspec.Meta(ge=1, le=MOST_DAYS), about("How many days back to look.")] = MOST_DAYS
    full: Annotated[
        bool, about(f"Whether every transfer of the window is read, and not the newest {MOST_SAMPLED} alone.")
    ] = False


class RulesQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    status: Annotated[tuple[RuleStatus, ...], msgspec.Meta(min_length=1, max_length=len(RuleStatus))] | None = None
    program_id: ProgramIds | None = None
    limit: PageLimit | None = None
    cursor: CursorText | None = None


class RulesVersionsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = LISTED_VERSIONS
    cursor: CursorText | None = None


class RuleField(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A field for conditions, with its operations."""

    field: str
    type: Annotated[FieldKind, about("What its values are.")]
    ops: Annotated[tuple[RuleOp, ...], about("The operations that it has.")]
    values: Annotated[
        tuple[str, ...], about("Every word that it can be compared with; empty where they are not a closed list.")
    ]


class RuleFields(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    fields: Annotated[tuple[RuleField, ...], about("The fields that conditions may name.")]
    ops: Annotated[tuple[RuleOp, ...], about("All operations.")]


class RulesVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The rules that were in force together, each with its activated text."""

    id: Annotated[str, minted("version")]
    version: Annotated[str, about("rules-v and a number, counted by tenant.")]
    rules: Annotated[tuple[Rule, ...], about("The rules in force, each as activated.")]
    created_at: str
    active: bool
    note: Annotated[str | msgspec.UnsetType, about("The words of the person who requested the change.")] = msgspec.UNSET


FIELDS: Final = RuleFields(
    fields=tuple(
        RuleField(field=feature.name, type=kind_of(feature), ops=ops_of(feature), values=words_of(feature))
        for feature in RULE_FIELD_OF.values()
    ),
    ops=tuple(RuleOp),
)


def rule_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """The first failing paths of a rule that fits its schema, as submitted."""
    try:
        rule = msgspec.convert({**plain, "status": RuleStatus.DRAFT}, Rule)
    except msgspec.ValidationError:  # listed by the schema
        return
    faults = tuple(islice(faults_of(rule), MOST_FAILURES))
    for fault in faults:
        yield Failure(fault.path, fault.sentence, fault.code)
    if not faults and len(msgspec.json.encode(rule)) > MAX_RULE_BYTES:
        yield Failure("when", TOO_LONG, FieldCode.TOO_LONG)


def to_rule(written: NewRule, program_id: str | None) -> Rule:
    """The rule as a draft for a program."""
    return Rule(**msgspec.structs.asdict(written) | {"program_id": program_id, "status": RuleStatus.DRAFT})
