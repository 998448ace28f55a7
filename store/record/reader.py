"""The record as lines for export: cited lines first, then the links, in bounded memory.

Policies and alerts are exported only if an exported link cites their digest, so every line of a whole export is bound
by a hash. A range of time is a run of links without holes: from the first link of the range to the last, by seq.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import duckdb
import msgspec

from clearhold.features.core.canonical import KIND_OF_CHAIN, Chain, LineKind, digest_of, record_line
from clearhold.features.core.principal import Principal
from clearhold.store.record.chain import bare_links_of
from clearhold.store.tables.predicate import TEXTS, listed

Policies = Callable[[str], Iterable[bytes]]
"""The canonical bodies of all policies of a tenant, by its id."""

_SPAN: Final = """
    SELECT min(seq), max(seq) FROM record_chain
    WHERE (? IS NULL OR created_at >= make_timestamp(?)) AND (? IS NULL OR created_at < make_timestamp(?))
        AND tenant_id = ? AND chain = ?
"""
_IN_SPANS: Final = """
    tenant_id = ?
    AND ((chain = 'dispositions' AND seq >= ? AND seq < ?) OR (chain = 'actions' AND seq >= ? AND seq < ?))
"""
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_CITED_POLICIES: Final = f"""
    SELECT DISTINCT unnest([
        json_extract_string(body, '$.policySha256'), json_extract_string(body, '$.bodySha256'),
        json_extract_string(body, '$.change.bodySha256')
    ]) FROM record_chain WHERE {_IN_SPANS}
"""
_CITED_ALERTS: Final = f"""
    SELECT "offset", sha256 FROM alert_bodies WHERE tenant_id = ? AND sha256 IN (
        SELECT json_extract_string(body, '$.alertSha256') FROM record_chain WHERE {_IN_SPANS}
    ) ORDER BY "offset", sha256
"""
_BODIES: Final = f"""
    SELECT sha256, body FROM alert_bodies
    WHERE tenant_id = ? AND "offset" BETWEEN ? AND ? AND sha256 IN {TEXTS}
"""

_Span = tuple[int, int]


class RecordFilter(msgspec.Struct, frozen=True, kw_only=True):
    """``kinds`` None is all; instants are half-open, microseconds."""

    kinds: frozenset[LineKind] | None = None
    created_from: int | None = None
    created_to: int | None = None

    def wants(self, kind: LineKind) -> bool:
        return self.kinds is None or kind in self.kinds


class RecordReader:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, policies: Policies) -> None:
        self._connection, self._policies = connection, policies

    def export(self, principal: Principal, wanted: RecordFilter, batch: int) -> Iterator[list[bytes]]:
        """Lines without their ends, ``batch`` at a time, of the chains' state at the first batch."""
        principal.require_tenant_wide()
        tenant_id = principal.tenant_id
        with self._connection.cursor() as cursor:
            spans = {chain: _span(cursor, tenant_id, chain, wanted) for chain in Chain}
            where = [tenant_id, *spans[Chain.DISPOSITIONS], *spans[Chain.ACTIONS]]
            if wanted.wants(LineKind.POLICY):
                yield self._cited_policies(cursor, tenant_id, where)
            if wanted.wants(LineKind.ALERT):
                yield from self._cited_alerts(cursor, tenant_id, where, batch)
            for chain, (first, end) in spans.items():
                kind = KIND_OF_CHAIN[chain]
                if wanted.wants(kind):
                    for links in bare_links_of(cursor, (tenant_id, chain.value), first, end, at_once=batch):
                        yield [
                            record_line(kind, body.encode(), (chain.value, seq, prev_hash, hash_))
                            for seq, body, prev_hash, hash_ in links
                        ]

    def _cited_policies(self, cursor: duckdb.DuckDBPyConnection, tenant_id: str, where: list[object]) -> list[bytes]:
        cited = {digest for (digest,) in cursor.execute(_CITED_POLICIES, where).fetchall()}
        bodies = sorted(body for body in self._policies(tenant_id) if digest_of(body) in cited)
        return [record_line(LineKind.POLICY, body) for body in bodies]

    def _cited_alerts(
        self, cursor: duckdb.DuckDBPyConnection, tenant_id: str, where: list[object], batch: int
    ) -> Iterator[list[bytes]]:
        """Sort only keys; the bodies, which never change, are read batch by batch."""
        with self._connection.cursor() as keys:
            keys.execute(_CITED_ALERTS, [tenant_id, *where])
            while page := keys.fetchmany(batch):
                digests = [digest for _, digest in page]
                parameters = [tenant_id, page[0][0], page[-1][0], listed(digests)]
                bodies = dict(cursor.execute(_BODIES, parameters).fetchall())
                yield [record_line(LineKind.ALERT, bodies[digest].encode()) for digest in digests]


def _span(cursor: duckdb.DuckDBPyConnection, tenant_id: str, chain: Chain, wanted: RecordFilter) -> _Span:
    """The first seq in the range and the one after the last; (0, 0) for an empty range."""
    since, until = wanted.created_from, wanted.created_to
    first, last = cursor.execute(_SPAN, [since, since, until, until, tenant_id, chain.value]).fetchall()[0]
    return (0, 0) if first is None else (first, last + 1)
