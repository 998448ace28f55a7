"""The configuration of a tenant as files: their paths, and the values in them, made from the settings in force.

A file is a path and a value of JSON. ``rules/ID.yaml`` has one rule in force, ``policies/KIND.yaml`` a policy of the
whole tenant, ``programs/SLUG/KIND.yaml`` one of a program alone, or its limits, ``webhooks/NAME.yaml`` an endpoint.
Programs are named by their slugs, so that another installation can take the files. Version numbers, ids, times and
secrets are not in them: those belong to one installation.

Errors  none: a path that is not of a configuration is None
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.rules import Rule, RuleStatus
from clearhold.features.core.vocabulary import about
from clearhold.features.policy.bodies import (
    BODIES,
    CLOCK,
    KRI,
    LADDER,
    LIMITS,
    POLICY,
    RETENTION,
    SCORECARD,
    THRESHOLDS,
    Body,
    LimitsBody,
    ScorecardBody,
)
from clearhold.features.webhooks.payloads import EventType

SCHEMA: Final = "clearhold-config-v1"
MOST_FILES: Final = 2_000
ALWAYS_THERE: Final = (CLOCK, KRI, LADDER, POLICY, RETENTION, THRESHOLDS)
"""The kinds of policy that every tenant has in force."""
OF_PROGRAMS: Final = (CLOCK, KRI, LADDER, LIMITS, POLICY, SCORECARD, THRESHOLDS)
NO_LIMITS: Final = LimitsBody(
    ach_debit_daily_cents=None,
    ach_debit_monthly_cents=None,
    per_transaction_cents=None,
    entity_daily_cents=None,
    entity_velocity_24h_count=None,
)
MOST_SAME_ENDPOINTS: Final = 100
_PATH: Final = re.compile(r"(rules|policies|webhooks|programs/[a-z0-9-]{1,64})/([a-z0-9_-]{1,128})\.yaml", re.ASCII)
_NOT_OF_NAME: Final = re.compile(r"[^a-z0-9]+")
_NAME_LENGTH: Final = 60


class FileKind(StrEnum):
    RULE = "rule"
    POLICY = "policy"
    SCORECARD = "scorecard"
    LIMITS = "limits"
    WEBHOOK = "webhook"


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One setting."""

    path: Annotated[str, about("The file's path in the directory, such as rules/large-wire.yaml.")]
    value: Annotated[dict[str, Any], about("The content of the file, without its line on the schema.")]


class FilePlace(NamedTuple):
    """The kind of a file, its name without the suffix, and its program's slug, None for the whole tenant.

    For policies the name is the prefix of their versions.
    """

    kind: FileKind
    name: str
    slug: str | None


class EndpointSettings(NamedTuple):
    """An enabled webhook endpoint. ``ordinal`` counts endpoints of one program to one address, from 1 on."""

    url: str
    events: tuple[EventType, ...]
    slug: str | None
    description: str | None
    ordinal: int = 1


def place_of(path: str) -> FilePlace | None:
    """The meaning of a path.

    >>> place_of("programs/payroll/limits.yaml")
    FilePlace(kind=<FileKind.LIMITS: 'limits'>, name='limits', slug='payroll')
    >>> place_of("../rules/a.yaml")
    """
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    folder, name = match.groups()
    if folder == "rules":
        return FilePlace(FileKind.RULE, name, None)
    if folder == "webhooks":
        return FilePlace(FileKind.WEBHOOK, name, None)
    slug = None if folder == "policies" else folder.removeprefix("programs/")
    if name not in ((*ALWAYS_THERE, SCORECARD) if slug is None else OF_PROGRAMS):
        return None
    kinds = {SCORECARD: FileKind.SCORECARD, LIMITS: FileKind.LIMITS}
    return FilePlace(kinds.get(name, FileKind.POLICY), name, slug)


def path_of(prefix: str, slug: str | None) -> str:
    """The path of a policy."""
    return f"policies/{prefix}.yaml" if slug is None else f"programs/{slug}/{prefix}.yaml"


def rule_file(rule: Rule, slug: str | None) -> ConfigFile:
    """A rule in force; its program is named by its slug."""
    value = msgspec.to_builtins(rule)
    del value["status"], value["programId"]
    if slug is not None:
        value["program"] = slug
    return ConfigFile(path=f"rules/{rule.id}.yaml", value=_plain(value))


def rule_of(value: Mapping[str, Any], program_id: str | None) -> Rule:
    """The rule of a file without a fault, in force."""
    fields = {name: each for name, each in value.items() if name != "program"}
    return msgspec.convert({**fields, "programId": program_id, "status": RuleStatus.ACTIVE}, Rule)


def policy_file(prefix: str, body: Body, slug: str | None) -> ConfigFile | None:
    """A policy in force; None where no file says the same: no limits, the default card, a program that follows the
    tenant's card.
    """
    if body == NO_LIMITS:
        return None
    value = msgspec.to_builtins(body)
    value.pop("version", None)
    if isinstance(body, ScorecardBody):
        if body.follows_tenant or (body.card is None and slug is None):
            return None
        value = {"card": value["card"]}
    return ConfigFile(path=path_of(prefix, slug), value=_plain(value))


def body_of(prefix: str, value: Mapping[str, Any], version: str) -> Body:
    """The body of a file without a fault, for this version."""
    with_version = {**value, "version": version} if prefix == POLICY else value
    return msgspec.convert(with_version, BODIES[prefix])


def endpoint_file(endpoint: EndpointSettings) -> ConfigFile:
    value: dict[str, Any] = {"url": endpoint.url, "events": [event.value for event in endpoint.events]}
    if endpoint.slug is not None:
        value["program"] = endpoint.slug
    if endpoint.description is not None:
        value["description"] = endpoint.description
    name = endpoint_name(endpoint.url, endpoint.slug, endpoint.ordinal)
    return ConfigFile(path=f"webhooks/{name}.yaml", value=value)


def endpoint_of(value: Mapping[str, Any], ordinal: int = 1) -> EndpointSettings:
    """The endpoint of a file without a fault."""
    events = tuple(EventType(each) for each in dict.fromkeys(value.get("events", ())))
    return EndpointSettings(value["url"], events, value.get("program"), value.get("description"), ordinal)


def endpoint_name(url: str, slug: str | None, ordinal: int = 1) -> str:
    """The name of an endpoint's file, which follows from its address and its program."""
    readable = _NOT_OF_NAME.sub("-", url.partition("://")[2].lower()).strip("-")[:_NAME_LENGTH].rstrip("-")
    return f"{readable or 'endpoint'}-{digest_of(f'{url} {slug} {ordinal}'.encode())[:8]}"


def ordinal_in(name: str, value: Mapping[str, Any]) -> int | None:
    """The ordinal of the endpoint whose file has this name; None for a name that belongs to no such endpoint."""
    url, slug = value["url"], value.get("program")
    return next((each for each in range(1, MOST_SAME_ENDPOINTS + 1) if endpoint_name(url, slug, each) == name), None)


def normal_file(file: ConfigFile) -> ConfigFile | None:
    """A file without a fault, as an export after its application shows it; None where an export has no such file."""
    place = place_of(file.path)
    assert place is not None, "a file without a fault has a place"
    if place.kind is FileKind.RULE:
        return rule_file(rule_of(file.value, None), file.value.get("program"))
    if place.kind is FileKind.WEBHOOK:
        return endpoint_file(endpoint_of(file.value, ordinal_in(place.name, file.value) or 1))
    return policy_file(place.name, body_of(place.name, file.value, f"{place.name}-v1"), place.slug)


def normal_files(files: Iterable[ConfigFile]) -> tuple[ConfigFile, ...]:
    """Files without a fault as an export shows them, in the order of their paths."""
    normal = (normal_file(file) for file in files)
    return tuple(sorted((file for file in normal if file is not None), key=lambda file: file.path))


def config_sha256(tenant: str, files: Iterable[ConfigFile]) -> str:
    """The digest of a configuration: of the schema, the tenant's slug and all files."""
    ordered = sorted(files, key=lambda file: file.path)
    return digest_of(canonical({"schema": SCHEMA, "tenant": tenant, "files": ordered}))


def _plain(value: Any) -> Any:
    """A value with whole numbers as integers, so that 24 and 24.0 are one text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
