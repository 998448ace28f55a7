"""On-chain agents: how an import from the scan index is written to the log, and what becomes of its items.

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

    MALFORMED = "malformed"  # no such object: a field is missing, or is not what it has to be
    TOO_LARGE = "too_large"
    UNKNOWN_ASSET = "unknown_asset"  # not paid in US dollars, as far as that is known
    UNKNOWN_AGENT = "unknown_agent"  # names an agent that the index does not have
    NO_AGENT = "no_agent"  # names none, and was paid to a wallet of nobody or of several
    CONTRADICTED = "contradicted"  # against the agent's wallet, or against what is stored under its id


class AgentImportEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The beginning or the end of an import; its items are entries of their own in between.

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
