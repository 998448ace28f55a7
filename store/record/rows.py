"""The rows of the record: facts, the links that they become, and the signed checkpoints over the links."""

from typing import Final

import msgspec

from clearhold.features.core.rows.record import ChainFactRow

FACT_TYPE: Final = ChainFactRow
"""The one row type without a table: ``ChainWriter`` turns a fact into a stored ``RecordChainRow``."""


class RecordChainRow(msgspec.Struct, frozen=True, gc=False):
    """One link: a fact at its place in a chain of its tenant; ``seq`` counts from 0."""

    tenant_id: str
    chain: str
    seq: int
    id: str
    program_id: str
    shard: int
    offset: int
    body: str
    prev_hash: str | None
    hash: str
    created_at: int


class RecordCheckpointRow(msgspec.Struct, frozen=True, gc=False):
    """A signed checkpoint: the root over the first ``size`` links of a chain, in base64, and the signed note."""

    tenant_id: str
    chain: str
    size: int
    root: str
    note: str
    created_at: int
