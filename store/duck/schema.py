"""The tables: one a row type, append-only, and ``<table>_latest`` views in which the newest version wins.

No primary keys, no indexes: both make every append slower the longer the history is. The newest row has the highest
``offset``, which grows within a program because a program lives in one shard.
"""

from functools import cache
from typing import Final

import msgspec

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.alerts import (
    ActionRow,
    AlertBodyRow,
    AlertRow,
    AlertTransferRow,
    BackfillRow,
    DispositionRow,
    EntryResultRow,
    LabelRow,
    PolicyRow,
    RuleMatchRow,
)
from clearhold.features.core.rows.events import (
    EventRow,
    PreflightMatchRow,
    PreflightRow,
    QuarantineRow,
    TransferRow,
    WebhookAttemptRow,
    WebhookDeliveryRow,
)
from clearhold.features.core.rows.parties import (
    AccountRow,
    AgentImportRow,
    AgentRow,
    CounterpartyRow,
    DirectoryRow,
    EntityRow,
    KriSnapshotRow,
    MetricsDayRow,
    ProgramRow,
    ScoreRow,
    ShadowScoreRow,
)
from clearhold.store.record.chain_file import RecordChainRow, RecordCheckpointRow
from clearhold.store.tables.columns import columns_of


class LogOffsetRow(msgspec.Struct, frozen=True, gc=False):
    """A shard's applied offset when a transaction committed, and the epoch of the owner that applied it; the highest of
    each counts.
    """

    shard: int
    offset: int
    epoch: int
    committed_at: int


TABLES: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("bank_events", EventRow),
    ("transfers", TransferRow),
    ("transfer_features", TransferFeaturesRow),
    ("scores", ScoreRow),
    ("shadow_scores", ShadowScoreRow),
    ("entities", EntityRow),
    ("counterparties", CounterpartyRow),
    ("accounts", AccountRow),
    ("directory", DirectoryRow),
    ("programs", ProgramRow),
    ("agents", AgentRow),
    ("agent_imports", AgentImportRow),
    ("preflights", PreflightRow),
    ("preflight_matches", PreflightMatchRow),
    ("alerts", AlertRow),
    ("alert_bodies", AlertBodyRow),
    ("alert_transfers", AlertTransferRow),
    ("dispositions", DispositionRow),
    ("decision_results", EntryResultRow),
    ("labels", LabelRow),
    ("actions", ActionRow),
    ("policies", PolicyRow),
    ("rule_matches", RuleMatchRow),
    ("kri_snapshots", KriSnapshotRow),
    ("metrics_days", MetricsDayRow),
    ("backfills", BackfillRow),
    ("quarantine", QuarantineRow),
    ("webhook_deliveries", WebhookDeliveryRow),
    ("webhook_attempts", WebhookAttemptRow),
    ("record_chain", RecordChainRow),
    ("record_checkpoints", RecordCheckpointRow),
    ("log_offsets", LogOffsetRow),
)

# Rows with equal values here are versions of one thing.
VERSIONED: Final = {
    "transfers": "tenant_id, program_id, id",
    "scores": "tenant_id, program_id, subject_type, subject_id",
    "entities": "tenant_id, program_id, id",
    "counterparties": "tenant_id, program_id, id",
    "accounts": "tenant_id, program_id, id",
    "directory": "tenant_id, program_id, kind, id",
    "programs": "tenant_id, id",
    "agents": "tenant_id, program_id, id",
    "agent_imports": "tenant_id, program_id, id",
    "alerts": "tenant_id, program_id, id",
    "decision_results": "tenant_id, program_id, id",
    "labels": "tenant_id, program_id, transfer_id",
    "actions": "tenant_id, program_id, id",
}


LABEL_ORDER: Final = """("offset", source = 'dispute')"""
"""The order of a transfer's labels, of which the last one counts. If one entry reports a return and decides a dispute,
the label of the dispute comes last.
"""


def newest_of(table: str) -> str:
    """The condition, after QUALIFY, for the newest version of each thing in one of the ``VERSIONED`` tables."""
    order = LABEL_ORDER if table == "labels" else '"offset"'
    return f"row_number() OVER (PARTITION BY {VERSIONED[table]} ORDER BY {order} DESC) = 1"


@cache
def ddl() -> tuple[str, ...]:
    """Every statement of the schema; each may run again on an existing file."""
    tables = tuple(_table(name, row_type) for name, row_type in TABLES)
    return (*tables, *map(_latest, VERSIONED))


def _table(name: str, row_type: type[msgspec.Struct]) -> str:
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(column.definition for column in columns_of(row_type))})"


def _latest(name: str) -> str:
    return f"CREATE OR REPLACE VIEW {name}_latest AS SELECT * FROM {name} QUALIFY {newest_of(name)}"  # noqa: S608 - names above
