"""The log's names in Redis, and the fields of an entry. A body is stored unchanged, byte for byte."""

from typing import Final

IDENTITY: Final = "log:identity"
TENANTS: Final = "log:tenants"
TRIMMED: Final = "log:trimmed"
"""A hash: the offset up to which each shard was trimmed, where its entries in Redis begin."""

FIELD_KIND: Final = b"k"
FIELD_PROGRAM: Final = b"p"
FIELD_APPENDED_AT: Final = b"t"
FIELD_BODY: Final = b"b"


def shard_key(shard: int) -> str:
    return f"log:{shard}"


def owner_key(shard: int) -> str:
    """A hash: the epoch of the shard's owner, and its address."""
    return f"owner:{shard}"


def control_key(tenant_id: str) -> str:
    return f"log:tenant:{tenant_id}"
