"""Which tables the lake has for analysts, and their columns: those of the database, under names for people.

A thing that changes has a row a version: the table of versions is named after it, as ``transfer_versions``, and the
view of what is current has the plain name. What is left out is left out for a reason that stands beside it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

import msgspec

from store.duck.schema import TABLES, VERSIONED
from store.redis_log.offsets import SEQ_BITS
from store.tables.columns import columns_of

LEFT_OUT: Final[Mapping[str, str]] = {
    "alert_bodies": "what dispositions are proved with; the alert itself is there",
    "decision_results": "answers to requests; what they led to is there",
    "backfills": "progress of the service's own work",
    "quarantine": "quotes entries that could not be read",
    "webhook_deliveries": "old ones are deleted, and their bodies are other rows again",
    "webhook_attempts": "as the deliveries",
    "record_chain": "the record has exports of its own, which prove themselves",
    "record_checkpoints": "as the chain",
    "log_offsets": "the service's own bookkeeping, which is deleted",
}
_NAMES: Final[Mapping[str, str]] = {
    "bank_events": "events",
    "transfers": "transfer_versions",
    "scores": "actor_score_versions",
    "entities": "entity_versions",
    "counterparties": "counterparty_versions",
    "accounts": "account_versions",
    "directory": "directory_fetches",
    "programs": "program_versions",
    "alerts": "alert_versions",
    "labels": "label_versions",
    "actions": "action_versions",
}
_CURRENT: Final[Mapping[str, str]] = {
    "transfers": "transfers",
    "scores": "actor_scores",
    "entities": "entities",
    "counterparties": "counterparties",
    "accounts": "accounts",
    "programs": "programs",
    "alerts": "alerts",
    "labels": "labels",
    "actions": "actions",
}

DAY: Final = f'CAST(make_timestamp(("offset" >> {SEQ_BITS}) * 1000) AS DATE)'
"""The UTC day on which the log took in the entry that a row follows from."""


class LakeColumn(NamedTuple):
    """A column of a part: ``expression`` makes it of a row of the database."""

    name: str
    sql_type: str
    nullable: bool
    expression: str


class LakeTable(NamedTuple):
    """``name`` is that of the folder and of its view; ``current`` the view of newest versions, by ``identity``."""

    name: str
    source: str
    row_type: type[msgspec.Struct]
    columns: tuple[LakeColumn, ...]
    current: str | None
    identity: str

    @property
    def select_list(self) -> str:
        """What makes the columns of a part."""
        return ", ".join(f'{column.expression} AS "{column.name}"' for column in self.columns)

    @property
    def names(self) -> str:
        return ", ".join(f'"{column.name}"' for column in self.columns)


# Of a pre-flight's body, its request stays behind: it holds text and numbers as the caller wrote them.
_OF_PREFLIGHT: Final = (
    ("score_version", "VARCHAR", "body ->> '$.answer.version'"),
    ("n", "BIGINT", "CAST(body ->> '$.answer.n' AS BIGINT)"),
    ("confidence", "DOUBLE", "CAST(body ->> '$.answer.confidence' AS DOUBLE)"),
    ("reasons", "VARCHAR", "body ->> '$.answer.reasons'"),
    ("limits_hit", "VARCHAR", "body ->> '$.answer.limitsHit'"),
    ("degraded_reasons", "VARCHAR", "body ->> '$.answer.degradedReasons'"),
    ("rail", "VARCHAR", "body ->> '$.transfer.rail'"),
    ("direction", "VARCHAR", "body ->> '$.transfer.direction'"),
    ("amount_cents", "BIGINT", "TRY_CAST(body ->> '$.transfer.amountCents' AS BIGINT)"),
    ("currency", "VARCHAR", "body ->> '$.transfer.currency'"),
    ("entity_id", "VARCHAR", "body ->> '$.resolved.entityId'"),
    ("counterparty_id", "VARCHAR", "body ->> '$.resolved.counterpartyId'"),
    ("counterparty_country", "VARCHAR", "body ->> '$.resolved.counterpartyCountry'"),
)
_IN_PLACE_OF: Final[Mapping[tuple[str, str], tuple[tuple[str, str, str], ...]]] = {
    ("preflights", "body"): _OF_PREFLIGHT,
    ("preflights", "idempotency_key"): (),
}


@cache
def lake_tables() -> tuple[LakeTable, ...]:
    """All tables of the lake that are copied from the database."""
    return tuple(
        LakeTable(
            name=_NAMES.get(source, source),
            source=source,
            row_type=row_type,
            columns=tuple(_columns(source, row_type)),
            current=_CURRENT.get(source),
            identity=VERSIONED.get(source, ""),
        )
        for source, row_type in TABLES
        if source not in LEFT_OUT
    )


def _columns(source: str, row_type: type[msgspec.Struct]) -> list[LakeColumn]:
    columns: list[LakeColumn] = []
    for each in columns_of(row_type):
        taken_apart = _IN_PLACE_OF.get((source, each.name))
        if taken_apart is None:
            columns.append(LakeColumn(each.name, each.sql_type, each.nullable, f'"{each.name}"'))
        else:
            columns += (LakeColumn(name, kind, True, expression) for name, kind, expression in taken_apart)  # noqa: FBT003 - nullable
    return columns
