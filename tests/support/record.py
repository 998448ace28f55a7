"""Facts for the record, as the flow would emit them, and the chains they become."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from clearhold.features.core.canonical import Chain, canonical, digest_of
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.rows.alerts import AlertBodyRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.record.chain import ChainWriter
from clearhold.store.tables import row_tables
from tests.support.clock import T0

TENANT: Final = "c2a5a1de-52a5-4c53-9b7e-0d5c8a3f6e21"
PROGRAM: Final = "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10"
SECOND_US: Final = 1_000_000
POLICY: Final = canonical({"version": "policy-v1", "autoCloseBands": ["clear"]})


def an_alert_body(number: int, **over: Any) -> AlertBodyRow:
    """An alert as it was opened."""
    values: dict[str, Any] = {"tenant_id": TENANT, "program_id": PROGRAM, "shard": 1, "offset": number} | over
    body = canonical({"id": f"alert-{number}", "summary": f"Alert {number} - ü\u2028", "scoreAtAlert": 71})
    created_at = T0 + number * SECOND_US
    return AlertBodyRow(
        **values, alert_id=f"alert-{number}", body=body.decode(), sha256=digest_of(body), created_at=created_at
    )


def a_fact(number: int, **over: Any) -> ChainFactRow:
    """A disposition of the alert of the same number, a second after the one before."""
    cited: dict[str, str | None] = {"alertSha256": an_alert_body(number).sha256, "policySha256": digest_of(POLICY)}
    if over.get("chain") == Chain.ACTIONS:
        cited = {"alertSha256": None, "policySha256": digest_of(POLICY)}
    values: dict[str, Any] = {
        "tenant_id": TENANT,
        "program_id": PROGRAM,
        "chain": Chain.DISPOSITIONS.value,
        "id": f"fact-{number}",
        "shard": 1,
        "offset": number,
        "created_at": T0 + number * SECOND_US,
    } | over
    body = {
        "id": values["id"],
        "narrative": f"No concern: “{number}”\n\u2028",
        "confidence": None,
        "createdAt": format_instant(values["created_at"]),
        **cited,
    }
    return ChainFactRow(**values | {"body": over.get("body", canonical(body).decode())})


def chains_of(database: duckdb.DuckDBPyConnection, folder: Path) -> ChainWriter:
    """An opened writer."""
    chains = ChainWriter(database, folder)
    chains.open()
    return chains


def record(database: duckdb.DuckDBPyConnection, folder: Path, facts: Sequence[ChainFactRow]) -> None:
    """Commit facts, and the alerts that they cite, as one batch."""
    alerts = [an_alert_body(fact.offset) for fact in facts if fact.chain == Chain.DISPOSITIONS]
    BatchWriter(database, chains_of(database, folder)).commit(
        row_tables({AlertBodyRow: alerts, ChainFactRow: facts}), {}, T0
    )
