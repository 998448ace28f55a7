"""Bodies of policies as they came into force, which links of the record cite by digest."""

from typing import Final

import duckdb

_BODIES: Final = "SELECT DISTINCT body FROM policies WHERE tenant_id = ?"


class PolicyBodies:
    """Reads on a cursor of its own; safe to use from several threads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def of_tenant(self, tenant_id: str) -> list[bytes]:
        """The canonical body of every version that came into force in any program of the tenant."""
        with self._connection.cursor() as cursor:
            return [body.encode() for (body,) in cursor.execute(_BODIES, [tenant_id]).fetchall()]
