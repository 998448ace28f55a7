"""Lost entries of the log that an operator decided to go on without: a fact for the record.

Unit    instants in microseconds; ``after`` and ``upto`` are ``milliseconds-sequence``, as Redis names places of the log
"""

import msgspec


class LossEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Entries of ``stream`` (of a shard or a tenant) with ``after`` < place <= ``upto`` are missing."""

    id: str
    tenant_id: str
    stream: str
    after: str
    upto: str
    accepted_at: int


class LossBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The loss as a link of the tenant's record."""

    id: str
    tenant_id: str
    kind: str
    stream: str
    after: str
    upto: str
    accepted_at: str
