"""The parties whose fetch from the bank's directory is due, by the rows of parties and of earlier fetches.

Cost    one pass over the ids of the parties' tables and of ``directory``, never over transfers; call it from a thread
"""

from collections.abc import Collection, Iterable
from typing import Final

from clearhold.features.core.canonical import SANDBOX_ID
from clearhold.features.core.entries.directory import ACCOUNT_PREFIX, DirectoryKind, PartyKey
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.predicate import TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_NEWEST: Final = """
    SELECT tenant_id, program_id, kind, id, max(fetched_at) AS last_at, arg_max(digest, "offset") AS digest
    FROM directory WHERE {matching} GROUP BY tenant_id, program_id, kind, id"""
# A party may have many rows: the union groups them.
_DUE: Final = f"""
    WITH tenants AS MATERIALIZED {TEXTS},
    parties AS (
        SELECT tenant_id, program_id, 'account' AS kind, id FROM accounts WHERE tenant_id IN (FROM tenants)
        UNION SELECT tenant_id, program_id, 'entity', id FROM entities WHERE tenant_id IN (FROM tenants)
        UNION SELECT tenant_id, program_id, if(starts_with(id, ?), 'account', 'counterparty'), id
        FROM counterparties WHERE tenant_id IN (FROM tenants)),
    newest AS ({_NEWEST.format(matching="tenant_id IN (FROM tenants)")})
    SELECT parties.tenant_id, parties.program_id, parties.kind, parties.id, newest.digest
    FROM parties LEFT JOIN newest USING (tenant_id, program_id, kind, id)
    WHERE (newest.last_at IS NULL OR newest.last_at <= make_timestamp(?)) AND NOT regexp_matches(parties.id, ?)
    ORDER BY newest.last_at NULLS FIRST, parties.tenant_id, parties.program_id, parties.kind, parties.id LIMIT ?"""
_KNOWN: Final = f"SELECT DISTINCT tenant_id, program_id, kind, id FROM directory WHERE id IN {TEXTS}"

DueParty = tuple[PartyKey, str | None]
"""A party and the digest of its stored object, or None."""


class DirectoryTable(CommittedRows):
    """Safe from any thread: each call has its own cursor."""

    def due(self, tenant_ids: Collection[str], *, fetched_until: int, limit: int) -> list[DueParty]:
        """The parties never fetched, then those fetched last at that instant or before, the oldest first.

        Without those of the sandbox, which no bank knows.
        """
        if not tenant_ids:
            return []
        values = [listed([*tenant_ids]), ACCOUNT_PREFIX, fetched_until, SANDBOX_ID, limit]
        tuples = self._read(_DUE, values)
        return [(_key(*names), digest) for *names, digest in tuples]

    def never_fetched(self, keys: Iterable[PartyKey]) -> list[PartyKey]:
        """The keys without a recorded fetch, in order."""
        wanted = [*keys]
        if not wanted:
            return []
        tuples = self._read(_KNOWN, [listed([key.id for key in wanted])])
        known = {_key(*names) for names in tuples}
        return [key for key in wanted if key not in known]


def _key(tenant_id: str, program_id: str, kind: str, party_id: str) -> PartyKey:
    return PartyKey(tenant_id, program_id, DirectoryKind(kind), party_id)
