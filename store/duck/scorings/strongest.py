"""The stored transfer scores of each entity that fade last, and each party's newest transfer, as of a log offset.

Unit    at most ``Fading.kept`` an entity and one more a party, found once for all, into temporary tables
Errors  ``duckdb.InterruptException`` in the reading thread after ``interrupt``
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import duckdb
import msgspec

from clearhold.features.core.reason import Reason
from clearhold.store.duck.account_owners import FIRST_OWNERS
from clearhold.store.tables.predicate import TEXTS, listed

_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])

_VERSIONS: Final = f"""
    CREATE TEMP TABLE newest AS
    SELECT id, coalesce(entity_id, owner_id) AS entity_id, account_id, counterparty_id, score, scored_offset,
        bank_created_at, min("offset") OVER (PARTITION BY id) AS landed_at
    FROM transfers LEFT JOIN ({FIRST_OWNERS.format(matching="true")}) USING (tenant_id, program_id, account_id)
    WHERE tenant_id = ? AND program_id = ? AND "offset" <= ?
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1"""  # noqa: S608 - put together from constants
_NEWEST: Final = """
    CREATE TEMP TABLE last_of_party AS
    SELECT kind, party_id, max_by(id, (bank_created_at, landed_at)) AS transfer_id FROM (
        SELECT 'actor' AS kind, coalesce(entity_id, account_id) AS party_id, id, bank_created_at, landed_at FROM newest
        UNION ALL SELECT 'counterparty', counterparty_id, id, bank_created_at, landed_at FROM newest
    ) WHERE party_id IS NOT NULL GROUP BY kind, party_id"""
_FIND: Final = """
    CREATE TEMP TABLE strongest AS
    WITH strongest AS (
        SELECT entity_id, id AS transfer_id, scored_offset FROM newest WHERE entity_id IS NOT NULL AND score > 0
        QUALIFY row_number() OVER (
            PARTITION BY entity_id ORDER BY
            epoch_us(bank_created_at) // 86400000000 * ?::BIGINT + list_extract(?::BIGINT[], score) DESC,
            score DESC, landed_at
        ) <= ?
    )
    SELECT entity_id, transfer_id, score, reasons FROM strongest JOIN transfer_features AS made
    USING (transfer_id) WHERE made."offset" = scored_offset AND tenant_id = ? AND program_id = ?"""
_OF_ENTITIES: Final = f"""
    SELECT transfer_id, score, reasons FROM strongest WHERE entity_id IN {TEXTS} ORDER BY transfer_id"""  # noqa: S608
_LAST_OF: Final = f"""
    SELECT DISTINCT transfer_id FROM last_of_party WHERE kind = ? AND party_id IN {TEXTS} ORDER BY transfer_id"""  # noqa: S608


class Fading(NamedTuple):
    """The fading of scores, as ``features`` defines it."""

    lives: tuple[int, ...]  # of the scores 1 to 100: how long each lasts
    day: int  # one day in the unit of the lives
    kept: int  # how many scores count for one entity


class StoredScore(NamedTuple):
    """A transfer's stored score."""

    transfer_id: str
    score: int
    reasons: tuple[Reason, ...]


class StrongestScorings:
    """Of one program. Used by one thread, and closed."""

    def __init__(self, database: duckdb.DuckDBPyConnection, *, tenant_id: str, program_id: str, upto: int) -> None:
        self._cursor = database.cursor()
        self._of_program, self._upto = [tenant_id, program_id], upto

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def find(self, fading: Fading) -> None:
        """Find them; call this first."""
        self._cursor.execute(_VERSIONS, [*self._of_program, self._upto])
        self._cursor.execute(_NEWEST)
        self._cursor.execute(_FIND, [fading.day, list(fading.lives), fading.kept, *self._of_program])

    def of(self, entity_ids: Sequence[str]) -> tuple[StoredScore, ...]:
        """The strongest scorings of these entities."""
        tuples = self._cursor.execute(_OF_ENTITIES, [listed(entity_ids)]).fetchall()
        return tuple(
            StoredScore(transfer_id, score, _REASONS.decode(reasons)) for transfer_id, score, reasons in tuples
        )

    def last_of_actors(self, actor_ids: Sequence[str]) -> tuple[str, ...]:
        """The newest transfer of each of these entities, or accounts of unknown owner."""
        return self._last_of("actor", actor_ids)

    def last_of_counterparties(self, party_ids: Sequence[str]) -> tuple[str, ...]:
        return self._last_of("counterparty", party_ids)

    def _last_of(self, kind: str, ids: Sequence[str]) -> tuple[str, ...]:
        tuples = self._cursor.execute(_LAST_OF, [kind, listed(ids)]).fetchall()
        return tuple(transfer_id for (transfer_id,) in tuples)

    def interrupt(self) -> None:
        """Interrupt the query of the reading thread."""
        self._cursor.interrupt()
