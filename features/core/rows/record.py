"""Rows of facts that become links in the chains of a tenant's record.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class ChainFactRow(msgspec.Struct, frozen=True, gc=False):
    """One fact for the record: the writer links it to its tenant's chain (``store/record``) as it commits.

    ``chain`` is dispositions or actions; ``body`` is the fact's canonical JSON (``features/core/canonical.py``).
    """

    tenant_id: str
    program_id: str
    chain: str
    id: str
    shard: int
    offset: int
    body: str
    created_at: int
