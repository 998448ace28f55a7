"""Policies that came into force in programs: the bodies that links cite, and versions of single programs."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from clearhold.store.duck.committed_rows import CommittedRows

_BODIES: Final = "SELECT DISTINCT body FROM policies WHERE tenant_id = ?"
_BODY: Final = "SELECT body FROM policies WHERE program_id = ? AND version = ? LIMIT 1"
_OF_PROGRAMS: Final = """
    WITH versions AS (
        SELECT program_id, version, split_part(version, '-', 1) AS prefix, any_value(body) AS body,
               epoch_us(min(in_force_at)) AS since, min("offset") AS "offset"
        FROM policies
        WHERE tenant_id = ? AND of_program AND list_contains(?, split_part(version, '-', 1))
        GROUP BY ALL
    )
    SELECT program_id, version, body, since,
           row_number() OVER (PARTITION BY program_id, prefix ORDER BY "offset" DESC) = 1 AS active
    FROM versions
"""


_NEWEST: Final = """
    SELECT scored.program_id, policy.version, policy.body
    FROM (SELECT DISTINCT program_id FROM transfer_features WHERE tenant_id = ?) AS scored
    LEFT JOIN (
        FROM (
            FROM policies WHERE tenant_id = ? AND split_part(version, '-', 1) = ?
            QUALIFY row_number() OVER (PARTITION BY program_id, of_program ORDER BY "offset" DESC) = 1
        ) WHERE json_extract_string(body, '$.followsTenant') IS DISTINCT FROM 'true'
        QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY of_program DESC) = 1
    ) AS policy USING (program_id)
    ORDER BY scored.program_id
"""


class NewestVersion(msgspec.Struct, frozen=True):
    """A program's newest version of a prefix; version and body are None without one."""

    program_id: str
    version: str | None
    body: str | None


class ProgramVersion(msgspec.Struct, frozen=True):
    """A version for one program alone. ``active`` when it is the newest of its prefix."""

    program_id: str
    version: str
    body: str
    since: int
    active: bool


class PolicyTable(CommittedRows):
    """Safe from several threads: it reads on its own cursor."""

    def bodies(self, tenant_id: str) -> list[bytes]:
        """The canonical body of every version that came into force in any program of the tenant."""
        return [body.encode() for (body,) in self._read(_BODIES, [tenant_id])]

    def body(self, program_id: str, version: str) -> dict[str, Any] | None:
        """The body of a version that came into force in a program, or None."""
        row = self._first(_BODY, [program_id, version])
        return None if row is None else msgspec.json.decode(row[0], type=dict[str, Any])

    def newest(self, tenant_id: str, prefix: str) -> list[NewestVersion]:
        """The version of a prefix in force in each program with scorings; the program's version stands above the
        tenant's, unless it makes the program follow the tenant.
        """
        rows = self._read(_NEWEST, [tenant_id, tenant_id, prefix])
        return [NewestVersion(*row) for row in rows]

    def of_programs(self, tenant_id: str, prefixes: Sequence[str]) -> list[ProgramVersion]:
        """The versions of these prefixes that came into force in single programs."""
        rows = self._read(_OF_PROGRAMS, [tenant_id, list(prefixes)])
        return [ProgramVersion(*row) for row in rows]
