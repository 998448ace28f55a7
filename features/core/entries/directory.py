"""Answers of other systems as log entries: of the bank's directory about an account, an entity or a counterparty; and
imports of on-chain agents from the scan index, and why an item is skipped.

Unit    instants in microseconds
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

ACCOUNT_PREFIX: Final = "bacc_"
"""The other side of a book transfer is an account, which the bank has as an account."""


class DirectoryKind(StrEnum):
    ACCOUNT = "account"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"


class DirectoryResult(StrEnum):
    FOUND = "found"
    UNCHANGED = "unchanged"  # the same object as in the previous entry, by digest
    MISSING = "missing"  # the bank has no object of that id
    UNUSABLE = "unusable"  # no JSON, another id, or too large


class PartyKey(NamedTuple):
    """The directory's key of a party: the account, entity or counterparty of one program."""

    tenant_id: str
    program_id: str
    kind: DirectoryKind
    id: str


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One answer of the bank's API. ``data`` is the masked object, null unless it exists.

    ``digest`` is the SHA-256 of the masked object in canonical order, because a digest of the whole object would hint
    at the masked text. ``fetched_at`` is the instant of the request: the answer is not older.
    """

    kind: DirectoryKind
    id: str
    result: DirectoryResult
    fetched_at: int
    digest: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


def kind_of_counterparty(party_id: str) -> DirectoryKind:
    """The bank API's kind of a transfer's other side."""
    return DirectoryKind.ACCOUNT if party_id.startswith(ACCOUNT_PREFIX) else DirectoryKind.COUNTERPARTY


class ImportStage(StrEnum):
    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


class SkipReason(StrEnum):
    """Why an item of the index was not imported."""

    MALFORMED = "malformed"  # a field is missing or malformed
    TOO_LARGE = "too_large"
    UNKNOWN_ASSET = "unknown_asset"  # not known to be paid in US dollars
    UNKNOWN_AGENT = "unknown_agent"  # names an agent that the index does not have
    NO_AGENT = "no_agent"  # names no agent, and its wallet belongs to no agent or to several
    CONTRADICTED = "contradicted"  # contradicts the agent's wallet, or the stored settlement of its id


class AgentImportEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The beginning or the end of an import; its items are separate entries in between.

    ``agents``, ``profiles`` and ``settlements_scanned`` were read from the index, and ``skipped`` were left out while
    reading. ``read_until_at`` is the instant of the newest settlement that was read.
    """

    id: str
    stage: ImportStage
    agents: int = 0
    profiles: int = 0
    settlements_scanned: int = 0
    skipped: Mapping[str, int] = {}
    read_until_at: int | None = None
    reason: str | None = None
