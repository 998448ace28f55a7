"""History loaded in several files and rescored has the scores of the same history loaded in order of time."""

from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random
from typing import Any

import pytest

from tests.support.live_feed import DAY, LiveBank, LiveFeed, now

Event = tuple[str, dict[str, Any], datetime]
COUNT = 120


def history(begin: datetime) -> list[Event]:
    """Wires, ACH debits and realtime payments of five people with thirteen parties, three hours apart."""
    chance, events = Random(3), []
    for number in range(COUNT):
        at = begin + number * DAY / 8
        data = {
            "id": f"trf_{number}",
            "amount": chance.randint(1_000, 400_000),
            "bank_account_id": f"bacc_{chance.randint(0, 4)}",
            "counterparty_id": f"cpty_{chance.randint(0, 12)}",
        }
        way = "outgoing" if chance.random() < 0.7 else "incoming"
        rail, word = chance.choice((("wire", "completed"), ("realtime", "completed"), ("ach", "settled")))
        if rail == "ach":
            data["type"] = "DEBIT"
        events.append((f"{rail}.{way}_transfer.{word}", data, at))
    return events


def returned(event: Event, code: str, after: float) -> Event:
    """The return of an ACH transfer, some days later."""
    kind, data, at = event
    back = at + after * DAY
    details = [{"return_code": code, "created_at": back.strftime("%Y-%m-%dT%H:%M:%SZ")}]
    stamps = {"created_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "status": "RETURNED", "return_details": details}
    return (kind.replace("settled", "returned"), data | stamps, back)


def owner(number: int, at: datetime) -> Event:
    data = {"id": f"bacc_{number}", "owners": [f"enti_{number}"], "type": "CHECKING", "status": "OPEN"}
    return ("account.unfrozen", data | {"created_at": None, "updated_at": None}, at)


def with_returns(events: list[Event]) -> list[Event]:
    debits = [event for event in events if event[0].startswith("ach.outgoing")]
    more = [returned(event, code, 2.1) for event, code in zip(debits[::4], ("R10", "R01", "R02", "R10"), strict=False)]
    return sorted([*events, *more], key=lambda event: event[2])


def with_owners(events: list[Event]) -> list[Event]:
    """The owners of the accounts come before the first transfer."""
    first = events[0][2] - DAY
    return [*(owner(number, first) for number in range(4)), *events]


Split = Callable[[Sequence[Event]], list[Event]]
FILES: dict[str, Split] = {
    "three events later": lambda events: [
        *(e for n, e in enumerate(events) if n not in (60, 80, 100)),
        *events[60:101:20],
    ],
    "wires after the rest": lambda events: sorted(events, key=lambda event: event[0].startswith("wire")),
    "the newest first": lambda events: sorted(events, key=lambda event: event[2], reverse=True),
    "every third later": lambda events: [*(e for n, e in enumerate(events) if n % 3), *events[::3]],
}


def scored(feed: LiveFeed) -> dict[str, Any]:
    return {
        id_: (each["score"], each["scoreBand"], each["scoreN"], each["scoreInputs"])
        for id_, each in feed.transfers().items()
    }


@pytest.mark.parametrize("story", [list, with_returns, with_owners])
@pytest.mark.parametrize("files", FILES)
def test_given_a_history_in_two_files_when_rescored_then_it_equals_the_history_in_order(
    live_bank: LiveBank, files: str, story: Callable[[list[Event]], list[Event]]
) -> None:
    events = story(history(now() - 40 * DAY))
    in_order, in_files = live_bank.feed(), live_bank.feed()

    in_order.send_all(events)
    in_files.send_all(FILES[files](events))
    in_order.settle()
    in_files.settle()
    assert scored(in_order) != scored(in_files)  # so that the rescoring has something to mend
    answer = live_bank.post(f"/api/skoor/backfill/{in_files.id}")

    expected, got = scored(in_order), scored(in_files)
    assert answer == {"scored": COUNT}
    assert expected.keys() == got.keys()
    assert [id_ for id_ in expected if expected[id_] != got[id_]] == []


def test_given_a_payee_whose_country_is_told_late_when_rescored_then_the_transfer_shows_the_country_it_is_scored_with(
    feed: LiveFeed,
) -> None:
    at = now() - 5 * DAY
    feed.send(
        "realtime.outgoing_transfer.completed", {"id": "rttr_1", "amount": 5_000, "counterparty_id": "cpty_1"}, at
    )
    payee = {"id": "cpty_1", "name": "Cedar Freight", "address": {"country_code": "IRN"}}
    feed.send("counterparty.created", payee, at - DAY)
    feed.settle()
    assert feed.transfer("rttr_1")["counterpartyCountry"] is None

    feed.bank.post(f"/api/skoor/backfill/{feed.id}")

    assert "TRS-GEO-01" in feed.reasons("rttr_1")
    assert feed.transfer("rttr_1")["counterpartyCountry"] == "IR"
    assert feed.features("rttr_1")["counterpartyCountry"] == "IR"
