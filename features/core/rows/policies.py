"""Rows of policies and of the matches of rules.

Field order is column order. Instants are microseconds since the epoch.
"""

import msgspec


class PolicyRow(msgspec.Struct, frozen=True, gc=False):
    """A version that came into force in one program; links of the record cite its body by ``sha256``.

    ``program_id`` is the tenant's id in the state of the tenant. ``body`` is canonical JSON.
    """

    tenant_id: str
    program_id: str
    version: str
    shard: int
    offset: int
    of_program: bool
    action_id: str
    sha256: str
    body: str
    in_force_at: int


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
