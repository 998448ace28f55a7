"""The transfers that stand for a party: the newest of each, and of an entity those whose scores fade last.

Unit    as of a log offset; at most ``Fading.kept`` an entity and one more a party, found once for all, into temporary
        tables
Errors  ``duckdb.InterruptException`` in the reading thread after ``interrupt``
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import duckdb

from clearhold.store.duck.account_owners import FIRST_OWNERS
from clearhold.store.tables.predicate import TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_VERSIONS: Final = f"""
    CREATE TEMP TABLE newest AS
    SELECT id, coalesce(entity_id, owner_id) AS entity_id, account_id, counterparty_id, score, bank_created_at,
        min("offset") OVER (PARTITION BY id) AS landed_at
    FROM transfers LEFT JOIN ({FIRST_OWNERS.format(matching="true")}) USING (tenant_id, program_id, account_id)
    WHERE tenant_id = ? AND program_id = ? AND "offset" <= ?
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1"""
_FIND: Final = """
    CREATE TEMP TABLE of_party AS
    SELECT kind, party_id, max_by(id, (bank_created_at, landed_at)) AS transfer_id, true AS is_newest FROM (
        SELECT 'actor' AS kind, coalesce(entity_id, account_id) AS party_id, id, bank_created_at, landed_at FROM newest
        UNION ALL SELECT 'counterparty', counterparty_id, id, bank_created_at, landed_at FROM newest
    ) WHERE party_id IS NOT NULL GROUP BY kind, party_id
    UNION ALL (
        SELECT 'actor', entity_id, id, false FROM newest WHERE entity_id IS NOT NULL AND score > 0
        QUALIFY row_number() OVER (
            PARTITION BY entity_id ORDER BY
            epoch_us(bank_created_at) // 86400000000 * ?::BIGINT + list_extract(?::BIGINT[], score) DESC,
            score DESC, landed_at
        ) <= ?
    )"""
_OF: Final = f"""
    SELECT transfer_id FROM of_party WHERE kind = ? AND party_id IN {TEXTS}
    GROUP BY transfer_id ORDER BY bool_or(is_newest) DESC, transfer_id"""


class Fading(NamedTuple):
    """The fading of scores, as ``features`` defines it."""

    lives: tuple[int, ...]  # of the scores 1 to 100: how long each lasts
    day: int  # one day in the unit of the lives
    kept: int  # how many scores of one entity are found


class PartyTransfers:
    """Of one program. Used by one thread, and closed."""

    def __init__(self, database: duckdb.DuckDBPyConnection, *, tenant_id: str, program_id: str, upto: int) -> None:
        self._cursor = database.cursor()
        self._parameters = [tenant_id, program_id, upto]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def find(self, fading: Fading) -> None:
        """Find them; call this first."""
        self._cursor.execute(_VERSIONS, self._parameters)
        self._cursor.execute(_FIND, [fading.day, list(fading.lives), fading.kept])

    def of_actors(self, actor_ids: Sequence[str]) -> tuple[str, ...]:
        """The newest transfer of each of these entities, or accounts of unknown owner; then the strongest ones."""
        return self._of("actor", actor_ids)

    def of_counterparties(self, party_ids: Sequence[str]) -> tuple[str, ...]:
        """The newest transfer of each."""
        return self._of("counterparty", party_ids)

    def _of(self, kind: str, ids: Sequence[str]) -> tuple[str, ...]:
        tuples = self._cursor.execute(_OF, [kind, listed(ids)]).fetchall()
        return tuple(transfer_id for (transfer_id,) in tuples)

    def interrupt(self) -> None:
        """Interrupt the query of the reading thread."""
        self._cursor.interrupt()
