"""The tables in the export of a subject, the conditions for the subject's rows, and the omitted tables with reasons.

A row is the subject's when it belongs to one of its things: itself, its accounts, its transfers, and their
consequences. The things are looked up first, into the temporary tables of ``store/subjects/things.py``; the conditions
here use them. A test holds that every table of the database is here, included or omitted.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from clearhold.store.duck.schema import TABLES

# ruff: noqa: S608 - conditions are built from constants
ROWID: Final = "rowid"
"""The key of tables that only grow: a row keeps its place (decision 0056)."""

BANK_OBJECTS: Final = "bank_objects"
"""Not a table of the database: the bank's objects, from the log."""

_THINGS: Final = "(SELECT type, id FROM subject_things)"
_OF_TRANSFER: Final = "transfer_id IN (SELECT id FROM subject_transfers)"
_OF_ALERT: Final = "alert_id IN (SELECT id FROM subject_alerts)"
_WITH_ACTION: Final = """"offset" IN (SELECT "offset" FROM actions WHERE id IN (SELECT id FROM subject_actions))"""


class CoveredTable(NamedTuple):
    """``condition`` is of the rows within tenant, program and offset; without ``has_offset`` within the tenant alone.

    ``key`` is what rows are fetched by: their place, or a text in tables whose old rows are deleted.
    """

    name: str
    condition: str
    key: str = ROWID
    has_offset: bool = True

    @property
    def row_type(self) -> type[msgspec.Struct]:
        return _ROW_TYPES[self.name]


_ROW_TYPES: Final = dict(TABLES)
IN_PARTIES: Final = (
    CoveredTable("entities", "id IN (SELECT id FROM subject_things WHERE type = 'entity')"),
    CoveredTable("agents", "id IN (SELECT id FROM subject_things WHERE type = 'agent')"),
    CoveredTable(
        "accounts",
        "entity_id IN (SELECT id FROM subject_things WHERE type = 'entity') "
        "OR (entity_id IS NULL AND id IN (SELECT id FROM subject_things WHERE type = 'account'))",
    ),
    CoveredTable("directory", f"(kind, id) IN {_THINGS}"),
    CoveredTable("counterparties", "id IN (SELECT id FROM subject_counterparties)"),
    CoveredTable("bank_events", f"(subject_type, subject_id) IN {_THINGS}"),
)
IN_MONEY: Final = (
    CoveredTable("transfers", "id IN (SELECT id FROM subject_transfers)"),
    CoveredTable("transfer_features", _OF_TRANSFER),
    CoveredTable("shadow_scores", _OF_TRANSFER),
    CoveredTable("rule_matches", _OF_TRANSFER),
    CoveredTable("labels", _OF_TRANSFER),
    CoveredTable("scores", f"(subject_type, subject_id) IN {_THINGS}"),
    CoveredTable("preflights", "id IN (SELECT id FROM subject_preflights)"),
    CoveredTable("preflight_matches", f"{_OF_TRANSFER} OR preflight_id IN (SELECT id FROM subject_preflights)"),
)
IN_DECISIONS: Final = (
    CoveredTable("alerts", "id IN (SELECT id FROM subject_alerts)"),
    CoveredTable(
        "alert_bodies", f"{_OF_ALERT} OR sha256 IN (SELECT digest FROM subject_citations WHERE of_what = 'alert')"
    ),
    CoveredTable("alert_transfers", _OF_ALERT),
    CoveredTable("dispositions", _OF_ALERT),
    CoveredTable("decision_results", f"{_OF_ALERT} OR {_OF_TRANSFER} OR {_WITH_ACTION}"),
    CoveredTable("actions", "id IN (SELECT id FROM subject_actions)"),
    CoveredTable("webhook_deliveries", "id IN (SELECT id FROM subject_deliveries)", key="id", has_offset=False),
    CoveredTable(
        "webhook_attempts",
        "delivery_id IN (SELECT id FROM subject_deliveries)",
        key="delivery_id",
        has_offset=False,
    ),
)
POLICIES: Final = "policies"
RECORD_CHECKPOINTS: Final = "record_checkpoints"
LINKS: Final = CoveredTable("record_chain", "rowid IN (SELECT place FROM subject_links)", has_offset=False)

ORDER: Final[Mapping[str, str]] = {
    "entities": "the person or business itself, each version",
    "agents": "what the scan index says of it, where it is an on-chain agent",
    "accounts": "its accounts, each version that names it as the owner or names none",
    "directory": "what the bank's API was asked about it and its accounts",
    "counterparties": "the other sides of its transfers, each version",
    "bank_events": "deliveries of the bank about it, its accounts and its transfers",
    BANK_OBJECTS: "the bank's objects of those deliveries and of its transfers, masked, by offset",
    "transfers": "its transfers, each version, by its accounts too where they name no entity",
    "transfer_features": "each scoring of its transfers: features, score and reasons",
    "shadow_scores": "what a card in shadow made of its transfers",
    "rule_matches": "matches of its transfers by rules that open no alert",
    "labels": "what its transfers turned out to be",
    "scores": "its own scores with reasons and inputs",
    "preflights": "recorded pre-flights about it, with the answers",
    "preflight_matches": "the transfers that landed for pre-flights",
    "alerts": "alerts on it, its accounts and its transfers, and on counterparties where they name it, each version",
    "alert_bodies": "those alerts in their original form, which decisions cite by digest",
    "alert_transfers": "the transfers that those alerts are about or rest on, by their number in the program",
    "dispositions": "decisions on those alerts",
    "decision_results": "the results of requests on those alerts, transfers and actions",
    "actions": "actions on it and on those alerts, each version",
    "webhook_deliveries": "deliveries to the bank's endpoints about rows of this file; old ones are deleted",
    "webhook_attempts": "how those deliveries went",
    POLICIES: "the policies that links of this file cite by digest",
    RECORD_CHECKPOINTS: "the signed checkpoint over each chain that links of this file are proved to be in",
    "record_chain": "links of the record about it, and of lost parts of the log, each with its inclusion proof",
}
"""The tables in the order of the file, each with its rows there; within a table rows are in log order."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "programs": "the program's own settings; the manifest names the program",
    "kri_snapshots": "indicators of the whole program, which no single subject stands out of",
    "metrics_days": "totals of the whole program",
    "agent_imports": "progress of the service's own work",
    "backfills": "progress of the service's own work",
    "quarantine": "faults of the service, which name no subject; the event itself is in bank_events",
    "log_offsets": "the service's own bookkeeping; the manifest has the offset",
}
