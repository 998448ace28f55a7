"""The names the log has in Redis, and the fields of an entry. A body is stored as it came, byte for byte."""

from typing import Final

IDENTITY: Final = "log:identity"
TENANTS: Final = "log:tenants"
TRIMMED: Final = "log:trimmed"
"""A hash: up to which offset each shard was trimmed, so that what stands in Redis is known to begin there."""

FIELD_KIND: Final = b"k"
FIELD_PROGRAM: Final = b"p"
FIELD_APPENDED_AT: Final = b"t"
FIELD_BODY: Final = b"b"


def shard_key(shard: int) -> str:
    return f"log:{shard}"


def owner_key(shard: int) -> str:
    """A hash: the epoch of the shard's owner, and the address at which it answers."""
    return f"owner:{shard}"


def control_key(tenant_id: str) -> str:
    return f"log:tenant:{tenant_id}"
