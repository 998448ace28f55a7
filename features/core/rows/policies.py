"""Rows of policies. Field order is column order. Instants are microseconds since the epoch."""

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
