"""Pages of recorded pre-flights, newest first, with the transfers that landed for them.

Errors  none
"""

import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import PreflightRow
from clearhold.store.duck.committed_rows import RowFilter, Timeline
from clearhold.store.tables import TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_MATCHED = f"""
    SELECT preflight_id, arg_min(transfer_id, "offset") FROM preflight_matches
    WHERE tenant_id = ? AND "offset" >= ? AND preflight_id IN {TEXTS} GROUP BY preflight_id"""


class PreflightFilter(RowFilter, frozen=True, kw_only=True):
    decisions: tuple[str, ...] | None = msgspec.field(default=None, name="decision")
    created_from: int | None = msgspec.field(default=None, name="from")
    created_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("decision", self.decisions)
        predicate.between("created_at", self.created_from, self.created_to)
        return predicate


class StoredPreflight(msgspec.Struct, frozen=True, kw_only=True):
    """``transfer_id`` is the transfer that landed for it, None without one."""

    row: PreflightRow
    transfer_id: str | None


class PreflightList(
    Timeline[PreflightRow, StoredPreflight], table="preflights", row_type=PreflightRow, at="created_at"
):
    def _stored(self, principal: Principal, rows: list[PreflightRow]) -> list[StoredPreflight]:
        since = min(row.offset for row in rows)  # a match comes after its pre-flight
        values = [principal.tenant_id, since, listed([row.id for row in rows])]
        matched = dict(self._read(_MATCHED, values))
        return [StoredPreflight(row=row, transfer_id=matched.get(row.id)) for row in rows]
