"""The bank's directory: what its API answered about an account, an entity or a counterparty, as a log entry.

Unit    instants in microseconds
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

ACCOUNT_PREFIX: Final = "bacc_"
"""The other side of a book transfer is an account, and the bank knows it as one."""


class DirectoryKind(StrEnum):
    ACCOUNT = "account"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"


class DirectoryResult(StrEnum):
    FOUND = "found"
    UNCHANGED = "unchanged"  # the object of the entry before, by its digest
    MISSING = "missing"  # the bank has nothing of that id
    UNUSABLE = "unusable"  # an answer that is no such object: no JSON, another id, too large


class PartyKey(NamedTuple):
    """A party as the directory knows it: the account, entity or counterparty of one program."""

    tenant_id: str
    program_id: str
    kind: DirectoryKind
    id: str


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One answer of the bank's API. ``data`` is the object, masked, and null unless it was found.

    ``digest`` is the SHA-256 of the masked object in canonical order; of the whole one it would be a hint at what was
    masked. ``fetched_at`` is the instant of the request: the answer is no older than that.
    """

    kind: DirectoryKind
    id: str
    result: DirectoryResult
    fetched_at: int
    digest: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


def kind_of_counterparty(party_id: str) -> DirectoryKind:
    """What the bank's API calls a transfer's other side."""
    return DirectoryKind.ACCOUNT if party_id.startswith(ACCOUNT_PREFIX) else DirectoryKind.COUNTERPARTY
