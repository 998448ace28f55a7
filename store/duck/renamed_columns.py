"""Columns that were renamed, or are no longer filled, since an earlier version: they are renamed or dropped when a
database of that version is opened.

Remove an entry only when no directory of its version can exist any more. Both change the catalogue and no rows, so the
cost does not depend on the size of a table. An interrupted start may be repeated: each is done once.
"""

from typing import Final

import duckdb

RENAMED_COLUMNS: Final[dict[str, dict[str, str]]] = {
    # Units, then windows, come last.
    "transfer_features": {
        "structuring_24h_count": "structuring_count_24h",
        "repeated_amount_24h": "repeated_amount_count_24h",
        "round_amount_30d": "round_amount_count_30d",
        "entity_in_48h_cents": "entity_in_cents_48h",
        "entity_out_48h_cents": "entity_out_cents_48h",
        "fan_in_24h": "fan_in_count_24h",
        "fan_in_7d": "fan_in_count_7d",
        "fan_out_8h": "fan_out_count_8h",
        "fan_out_24h": "fan_out_count_24h",
        "fan_out_7d": "fan_out_count_7d",
        "gathered_24h": "gathered_count_24h",
        "gathered_7d": "gathered_count_7d",
        "entity_pulled_2bd_cents": "entity_pulled_cents_2bd",
        "entity_fast_out_2bd_cents": "entity_fast_out_cents_2bd",
        "entity_micro_24h": "entity_micro_entries_24h",
        "program_micro_24h": "program_micro_entries_24h",
        "card_small_1h": "card_small_count_1h",
        "program_card_small_1h": "program_card_small_count_1h",
    },
}
DROPPED_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "rule_matches": ("alert_id", "opened"),  # for rules that open alerts, the alerts are the matches
}
_COLUMNS: Final = "SELECT column_name FROM duckdb_columns() WHERE NOT internal AND table_name = ?"


def rename_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Rename the columns that still have an earlier name; returns their number."""
    renamed = 0
    for table, names in RENAMED_COLUMNS.items():
        present = {column for (column,) in connection.execute(_COLUMNS, [table]).fetchall()}
        for former, name in names.items():
            if former in present and name not in present:
                connection.execute(f"ALTER TABLE {table} RENAME COLUMN {former} TO {name}")
                renamed += 1
    return renamed


def drop_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Drop the columns that no row fills any more; returns their number."""
    dropped = 0
    for table, names in DROPPED_COLUMNS.items():
        present = {column for (column,) in connection.execute(_COLUMNS, [table]).fetchall()}
        for name in present.intersection(names):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
            dropped += 1
    return dropped
