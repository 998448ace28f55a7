"""Configurations as the interface takes and shows them."""

from typing import Annotated, Final

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.http.fields import Prose
from clearhold.api.policies.dry_run import PolicyDryRun
from clearhold.features.configuration.changes import FileChange
from clearhold.features.configuration.files import MOST_FILES, ConfigFile
from clearhold.features.core.vocabulary import about

_SCHEMA: Final = about("The version of the files' schema.")
_TENANT: Final = about("The tenant's slug.")
_BASE: Final = about("Digest of the configuration in force that the plan was made against.")
_FILES: Final = about("All files, each a setting.")
Files = Annotated[tuple[ConfigFile, ...], msgspec.Meta(max_length=MOST_FILES)]


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration in force, in the order of the files' paths."""

    schema: Annotated[str, _SCHEMA]
    tenant: Annotated[str, _TENANT]
    sha256: Annotated[str, about("The digest of schema, tenant and files: canonical JSON (RFC 8785), SHA-256.")]
    files: Annotated[tuple[ConfigFile, ...], _FILES]


class NewConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A whole configuration: a setting without its file is removed."""

    schema: Annotated[str, _SCHEMA]
    tenant: Annotated[str, _TENANT]
    files: Annotated[Files, _FILES]


class ConfigApplication(NewConfig, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    base_sha256: Annotated[str, _BASE]
    note: Annotated[Prose | None, about("Why. It is in the record with the application.")] = None


class BacktestFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Matches of a rule among the newest transfers of the last 90 days."""

    scanned: int
    sampled: Annotated[bool, about("Whether there are more transfers in those days than were read.")]
    matched: Annotated[int, about("Transfers that it matches.")]
    would_alert: Annotated[int, about("Matches that would have opened an alert.")]
    would_hold: Annotated[int, about("Matches of a rule whose action is hold.")]
    overlap_with_existing_alerts: Annotated[int, about("Matches that had an alert already.")]


class PlannedChange(FileChange, frozen=True, kw_only=True, rename="camel"):
    backtest: Annotated[BacktestFigures | None, about("Of a rule that is added or changed; else null.")]
    dry_run: Annotated[
        PolicyDryRun | None, about("In a plan, of the first ten routing policies that are added or changed; else null.")
    ] = None


class ConfigPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The changes from the configuration in force to this one."""

    tenant: Annotated[str, _TENANT]
    base_sha256: Annotated[str, _BASE]
    config_sha256: Annotated[str, about("Digest of this configuration, as an export would have it afterwards.")]
    needs_second_person: Annotated[bool, about("Whether it waits for the approval of another person.")]
    changes: Annotated[tuple[PlannedChange, ...], about("The changed files, in the order of their paths.")]


class AppliedConfig(ConfigPlan, frozen=True, kw_only=True, rename="camel"):
    action: Annotated[Action | None, about("The action that applies it; null when there is nothing to change.")]
