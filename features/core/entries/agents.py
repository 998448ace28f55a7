"""On-chain agents: an import from the scan index as log entries, and why an item is skipped.

Unit    instants in microseconds
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


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
