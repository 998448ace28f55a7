"""The bank's directory: its API's answer about an account, an entity or a counterparty, as a log entry.

Unit    instants in microseconds
"""

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
