"""The alerts that deliveries led to."""

import duckdb
import pytest

from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import EventRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.inputs import Events
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, an_alert, an_event
from tests.support.principals import an_operator


@pytest.mark.parametrize(
    ("but", "expected"), [((), ("1", "2")), (("card_testing",), ("1",)), (("card_testing", "velocity_spike"), ())]
)
def test_given_many_events_then_their_alerts_but_those_of_some_detectors_and_of_other_programs(
    database: duckdb.DuckDBPyConnection, but: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    events = [an_event(event_id="evt_7", offset=7), an_event(event_id="evt_7", program_id="prg_2", offset=8)]
    alerts = [
        an_alert(id="1", detector="velocity_spike", offset=7),
        an_alert(id="2", detector="card_testing", offset=7),
        an_alert(id="3", detector="velocity_spike", offset=9),
        an_alert(id="4", detector="velocity_spike", program_id="prg_2", offset=8),
    ]
    BatchWriter(database).commit(row_tables({EventRow: events, AlertRow: alerts}), {}, AT)
    event_ids = [f"evt_{number}" for number in range(2_000)]

    assert Events(database).alerts_of(an_operator(TENANT), PROGRAM, event_ids, but=but) == expected
