"""Scores of agents, which are the entities of the program ``agents``, and of programs."""

from typing import Final

import msgspec

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.scorers import ars_v1
from tests.support.bank_events import Data, an_entity, rfc3339
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.daily_payments import reason_ids
from tests.support.stories import ShardStory

REALTIME_IN: Final = "realtime.incoming_transfer.completed"


def a_settlement(number: int, payer: str, at: int) -> Data:
    return {
        "id": f"rttr_{number}",
        "status": "completed",
        "is_incoming": True,
        "amount": 2_50,
        "currency_code": "USD",
        "entity_id": "agent:8453:0xa:22",
        "counterparty_id": payer,
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }


def test_given_the_program_of_agents_when_one_settles_then_it_has_an_agents_score() -> None:
    story = ShardStory(a_program(slug="agents"))
    story.deliver("identity.created", an_entity(id="agent:8453:0xa:22", verification_status="UNVERIFIED"), at=T0)
    rows = []
    for number in range(12):
        at = T0 + number * DAY_US
        payer = "wallet:8453:0x1" if number != 4 else "wallet:8453:0x2"
        rows += story.deliver(REALTIME_IN, a_settlement(number, payer, at), at=at).scores("agent")

    (row,) = rows
    assert (row.version, row.score, row.n, row.confidence, row.degraded) == ("ars-v1", 22, 10, 0.165, True)
    assert reason_ids(row) == ["ARS-FLO-01", "ARS-REG-01"]
    inputs = msgspec.json.decode(row.inputs, type=ars_v1.AgentInputs)
    assert (inputs.volume_cents, inputs.distinct_payers, inputs.top_payer_settlements) == (25_00, 2, 9)
    assert (inputs.settlements_24h, inputs.settlements_30d, inputs.round_trips_30d) == (1, 10, 0)
    assert inputs.wallet_screening is None


def test_given_an_agent_that_pays_its_payers_back_then_each_is_a_round_trip() -> None:
    story = ShardStory(a_program(slug="agents"))
    for number in range(12):
        at = T0 + number * HOUR_US
        story.deliver(REALTIME_IN, a_settlement(number, f"wallet:8453:0x{number}", at), at=at)
    rows = []
    for number in range(3):
        at = T0 + (20 + number) * HOUR_US
        back = a_settlement(50 + number, f"wallet:8453:0x{number}", at) | {"is_incoming": False}
        story.deliver("realtime.outgoing_transfer.completed", back, at=at)
        rows += story.scores("agent")

    assert [reason_ids(row)[0] for row in rows] == ["ARS-FLO-03", "ARS-FLO-04"]
    assert [row.hard for row in rows] == [False, True]
