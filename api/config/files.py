"""The check of a configuration's files: every fault with its file and its field. The command line uses it without a
service, before it sends anything.

A file has the schema and the rules of the route that writes the same setting.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from clearhold.api.http.fields import CentsText
from clearhold.api.http.validation import MOST_FAILURES, Failure, failures_of, validator_of
from clearhold.api.policies.routes import policy_failures
from clearhold.api.rules.schemas import rule_failures
from clearhold.api.scorecards.service import card_failures
from clearhold.api.webhooks.schemas import Description, Events, UrlText
from clearhold.features.configuration.files import (
    MOST_FILES,
    SCHEMA,
    FileKind,
    FilePlace,
    endpoint_name,
    ordinal_in,
    place_of,
)
from clearhold.features.core.entries.actions import MOST_CAP
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.rules import RuleAction, RuleCondition, RuleScope
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.core.vocabulary import Severity, about
from clearhold.features.policy.bodies import POLICY, prefix_of

Slug = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_PROGRAM: Final = about("The slug of its program; left out: every program of the tenant.")


class RuleContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A rule in force, with its program's slug in place of its id."""

    id: Annotated[str, about("The rule's id, which is the name of its file too.")]
    name: str
    scope: RuleScope = RuleScope.TRANSFER
    program: Annotated[Slug | msgspec.UnsetType, _PROGRAM] = msgspec.UNSET
    when: tuple[RuleCondition, ...]
    action: RuleAction
    severity: Severity
    note: str | msgspec.UnsetType = msgspec.UNSET


class EndpointContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An enabled webhook endpoint without its secret."""

    url: UrlText
    events: Events = ()
    program: Annotated[Slug | msgspec.UnsetType, _PROGRAM] = msgspec.UNSET
    description: Description | msgspec.UnsetType = msgspec.UNSET


class LimitsContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The limits of a program, in cents or as a count; null is no limit."""

    ach_debit_daily_cents: CentsText | None
    ach_debit_monthly_cents: CentsText | None
    per_transaction_cents: CentsText | None
    entity_daily_cents: CentsText | None
    entity_velocity_24h_count: Annotated[CentsText | None, about("A count, as a string of digits.")]


class CardContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A scorecard in force; null is the default card, in one program."""

    card: Scorecard | None


_CONTENTS: Final[Mapping[FileKind, type[msgspec.Struct]]] = {
    FileKind.RULE: RuleContent,
    FileKind.WEBHOOK: EndpointContent,
    FileKind.LIMITS: LimitsContent,
    FileKind.SCORECARD: CardContent,
}
_SCHEMAS: Final = {kind: msgspec.json.schema(content) for kind, content in _CONTENTS.items()}
_VALIDATORS: Final = {kind: validator_of(schema) for kind, schema in _SCHEMAS.items()}
_NOT_OF_CONFIG: Final = (
    "is not a file of a configuration: rules/ID.yaml, policies/KIND.yaml, programs/SLUG/KIND.yaml or webhooks/NAME.yaml"
)


class ConfigFault(NamedTuple):
    """A fault of a file, with the path of its field; empty for the file as a whole."""

    path: str
    failure: Failure


def config_faults(files: Iterable[tuple[str, Any]]) -> Iterator[ConfigFault]:
    """Every fault of files that a reader of the files alone can see; each is a path and a value of JSON."""
    seen: set[str] = set()
    for path, value in files:
        place = place_of(path)
        if place is None:
            yield ConfigFault(path, Failure("", _NOT_OF_CONFIG, FieldCode.NOT_ONE_OF))
        elif path in seen:
            yield ConfigFault(path, Failure("", "is there twice", FieldCode.REPEATED))
        elif not isinstance(value, dict):
            yield ConfigFault(path, Failure("", "must have fields", FieldCode.WRONG_TYPE))
        else:
            yield from (ConfigFault(path, failure) for failure in _failures(place, value))
        seen.add(path)


def slugs_in(files: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str]]:
    """Each named program of files without a fault: the file, the field (empty for the folder), the slug."""
    for path, value in files:
        place = place_of(path)
        if place is not None and place.slug is not None:
            yield path, "", place.slug
        elif place is not None and place.kind in {FileKind.RULE, FileKind.WEBHOOK} and "program" in value:
            yield path, "program", value["program"]


def _failures(place: FilePlace, value: dict[str, Any]) -> Iterator[Failure]:
    if place.kind is FileKind.POLICY:
        version = f"{place.name}-v1"
        if "version" in value:
            yield Failure("version", "must not be given: versions are numbered when they come into force")
            return
        body = {**value, "version": version} if prefix_of(version) == POLICY else value
        for failure in policy_failures({"version": version, "body": body}):
            yield failure._replace(path=failure.path.removeprefix("body").removeprefix("."))
        return
    schema = list(failures_of(value, _VALIDATORS[place.kind], schema=_SCHEMAS[place.kind], noun="property"))
    yield from schema or _RULES[place.kind](place, value)


def _of_rule(place: FilePlace, value: dict[str, Any]) -> Iterator[Failure]:
    if value["id"] != place.name:
        yield Failure("id", "must be the name of the file, without .yaml", FieldCode.CONFLICTING)
    yield from rule_failures({name: each for name, each in value.items() if name != "program"})


def _of_webhook(place: FilePlace, value: dict[str, Any]) -> Iterator[Failure]:
    if ordinal_in(place.name, value) is None:
        name = endpoint_name(value["url"], value.get("program"))
        yield Failure("url", f"belongs in a file named {name}.yaml", FieldCode.CONFLICTING)


def _of_limits(_: FilePlace, value: dict[str, Any]) -> Iterator[Failure]:
    for name, cap in value.items():
        if cap is not None and int(cap) > MOST_CAP:
            yield Failure(name, f"must be at most {MOST_CAP}", FieldCode.TOO_LARGE)


def _of_card(place: FilePlace, value: dict[str, Any]) -> Iterator[Failure]:
    if value["card"] is not None:
        yield from card_failures(value)
    elif place.slug is None:
        yield Failure("card", "must not be null: without the file, the default card scores", FieldCode.CONFLICTING)


_RULES: Final[Mapping[FileKind, Callable[[FilePlace, dict[str, Any]], Iterator[Failure]]]] = {
    FileKind.RULE: _of_rule,
    FileKind.WEBHOOK: _of_webhook,
    FileKind.LIMITS: _of_limits,
    FileKind.SCORECARD: _of_card,
}


def request_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of a configuration that fits the outer schema, as submitted."""
    schema = plain.get("schema")
    if isinstance(schema, str) and schema != SCHEMA:
        yield Failure("schema", f"must be {SCHEMA}", FieldCode.NOT_ONE_OF)
    files = plain.get("files")
    if not isinstance(files, list) or len(files) > MOST_FILES:  # listed by the schema
        return
    if not all(isinstance(each, dict) and isinstance(each.get("path"), str) for each in files):
        return
    named = [(each["path"], each.get("value")) for each in files]
    places: dict[str, int] = {}
    for index, (path, _) in enumerate(named):
        places[path] = index  # a repeated path is named at its last place
    for fault in islice(config_faults(named), MOST_FAILURES):
        inner = f".value.{fault.failure.path}" if fault.failure.path else ".path"
        yield fault.failure._replace(path=f"files[{places[fault.path]}]{inner}")
