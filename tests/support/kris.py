"""Key risk indicators in a story: streams of entries of one kind, and what is measured behind them."""

from typing import Any

import msgspec

from clearhold.features.catalogue.kris import KriName, KriValue
from clearhold.features.core.instants import DAY_US
from clearhold.features.kris.measure import measure_kris
from clearhold.features.policy.seeds import KRI_V1
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory, detector_story

Seen = tuple[float | None, int, str]


def small_story(**declared: Any) -> ShardStory:
    """A story whose policy measures rates from one observation on."""
    story = detector_story(**declared)
    in_force_at(story, "kri-v2", msgspec.structs.replace(KRI_V1, min_observations=1), -1)
    return story


def measured(story: ShardStory, name: KriName, at: int) -> KriValue:
    return measure_kris(story.program, T0 + at)[name]


def seen(story: ShardStory, name: KriName, at: int) -> Seen:
    """Value, n and status."""
    value = measured(story, name, at)
    return value.value, value.n, value.status.value


def originate(story: ShardStory, count: int, at: int, **over: Any) -> list[bank.Data]:
    """So many ACH debits of $10, unless something else is given, all at one instant."""
    sent = []
    for _ in range(count):
        data = bank.an_ach_transfer(
            **{"type": "DEBIT", "amount": 10_00, "bank_account_id": "bacc_1", "counterparty_id": "cpty_1"}
            | {"created_at": bank.rfc3339(T0 + at), "updated_at": bank.rfc3339(T0 + at)}
            | {"id": f"acht_{len(story.entries)}", "status": "SETTLED", "company_name": None, "receiver_name": None}
            | over
        )
        way = "incoming" if data["is_incoming"] else "outgoing"
        story.deliver(f"ach.{way}_transfer.settled", data, at=T0 + at)
        sent.append(data)
    return sent


def give_back(story: ShardStory, data: bank.Data, code: str, at: int, **over: Any) -> bank.Data:
    """The same entry, returned; what the bank sends after it is a change of what is returned here."""
    change = {
        "status": "RETURNED",
        "return_details": [*data["return_details"], bank.a_return(code, T0 + at)],
        "updated_at": bank.rfc3339(T0 + at),
    }
    way = "incoming" if data["is_incoming"] else "outgoing"
    story.deliver(f"ach.{way}_transfer.returned", data | change | over, at=T0 + at)
    return data | change | over


def days(count: float) -> int:
    return round(count * DAY_US)
