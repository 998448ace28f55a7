"""Reading recorded pre-flights and the transfers that landed for them.

Errors  none of its own; a pre-flight that is not there is None
"""

from typing import Final

import duckdb
import msgspec

from features.core.preflight import PreflightRecord
from features.core.principal import Principal

# An append that was not confirmed may have left a record beside the one that was answered, which is the newer.
_FIND: Final = 'SELECT body FROM preflights WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1'
_MATCHED: Final = "SELECT transfer_id FROM preflight_matches WHERE tenant_id = ? AND preflight_id = ? LIMIT 1"
# The id of a repeatable pre-flight follows from its key (version 5), any other is random (version 4).
_REPEATABLE: Final = "SELECT id FROM preflights WHERE substr(id, 15, 1) = '5'"
_RECORD: Final = msgspec.json.Decoder(PreflightRecord)


class Preflights:
    """Reads what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        """ForbiddenError when the tenant has it on a program out of the principal's reach."""
        body = self._text(_FIND, principal.tenant_id, preflight_id)
        if body is None:
            return None
        record = _RECORD.decode(body)
        principal.require_program(record.answer.program_id)
        return record

    def matched_transfer_id(self, principal: Principal, preflight_id: str) -> str | None:
        """The transfer that landed for it, if one has."""
        return self._text(_MATCHED, principal.tenant_id, preflight_id)

    def _text(self, sql: str, tenant_id: str, preflight_id: str) -> str | None:
        with self._connection.cursor() as cursor:
            row = cursor.execute(sql, [tenant_id, preflight_id]).fetchone()
        return None if row is None else str(row[0])


def idempotent_ids(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The ids of all pre-flights that were asked under an idempotency key of either kind; read once, at start."""
    with connection.cursor() as cursor:
        return [preflight_id for (preflight_id,) in cursor.execute(_REPEATABLE).fetchall()]
