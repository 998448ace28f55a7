"""Rows of the rules that a bank writes.

Field order is column order. Instants are microseconds since the epoch.
"""

import msgspec


class RuleMatchRow(msgspec.Struct, frozen=True, gc=False):
    """The first time that a rule matched a transfer in a mode of ``RuleMode``.

    ``alert_id`` is the rule's own alert where the match ``opened`` one, else an alert of another detector that covers
    the transfer as of the same entry, if there is one. ``band`` is that of the score as of that entry.
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
    alert_id: str | None
    opened: bool
    bank_created_at: int
    matched_at: int
