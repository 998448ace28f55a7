"""Rows of the rules that a bank writes. Field order is column order. Instants are microseconds since the epoch."""

import msgspec


class RuleMatchRow(msgspec.Struct, frozen=True, gc=False):
    """The first time that a rule which opens no alert matched a transfer: ``mode`` is ``log`` or ``shadow``.

    ``band`` is that of the score as of that entry, ``bank_created_at`` the transfer's own time.
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    rule_id: str
    rule_sha256: str
    version: str
    mode: str
    transfer_id: str
    band: str
    bank_created_at: int
    matched_at: int
