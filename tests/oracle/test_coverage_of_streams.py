"""What the random streams draw, counted: each thing that a bank's feed has is there, and often enough to matter."""

import json
from collections import Counter, defaultdict
from random import Random
from typing import Any, Final

import pytest

from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.oracle.random_parties import ACCOUNTS, OWNERS
from tests.oracle.random_streams import stream_of
from tests.oracle.reading import is_transfer, read_said

SEEDS: Final = range(150)
HAPPENINGS: Final = 40
OFTEN: Final = 20
REFUSED: Final = {"DECLINED", "REJECTED", "CANCELED", "VOIDED", "BLOCKED", "STOPPED"}
ONE_WAY: Final = {("book", "incoming")}
MOVES: Final = [
    *(("ach", direction, ach_type) for direction in ("incoming", "outgoing") for ach_type in ("CREDIT", "DEBIT")),
    *(
        (rail, direction, None)
        for rail in ("wire", "intl_wire", "realtime", "book", "check", "card")
        for direction in ("incoming", "outgoing")
        if (rail, direction) not in ONE_WAY
    ),
]


class Counts:
    """What one stream after another had, by name."""

    def __init__(self) -> None:
        self.moves: Counter[tuple[str, str, str | None]] = Counter()
        self.things: Counter[str] = Counter()
        self.named_entities: Counter[str] = Counter()

    def read(self, entries: list[LogEntry]) -> None:
        seen: set[str] = set()
        cards: defaultdict[str, set[str]] = defaultdict(set)
        for entry in entries:
            body = json.loads(entry.body)
            if entry.kind == EntryKind.BANK:
                self._read_event(body, seen, cards)
            elif entry.kind == EntryKind.OWNER:
                self._tell("owner told late by the platform", late=body["accountId"] in seen)
            elif entry.kind == EntryKind.DIRECTORY:
                self._tell(f"answer {body['result']}")
                owners = body["kind"] != "account" or bool(body.get("data", {}).get("owners"))
                own = {account for account, owner in zip(ACCOUNTS, OWNERS, strict=True) if owner == body["id"]}
                late = bool(seen & {body["id"], *own}) and owners and body["result"] == "found"
                self._tell(f"{body['kind']} told late by the bank's API", late=late)
        self.things["account with several cards"] += sum(len(ids) > 1 for ids in cards.values())

    def _tell(self, thing: str, *, late: bool = True) -> None:
        self.things[thing] += late

    def _read_event(self, event: dict[str, Any], seen: set[str], cards: defaultdict[str, set[str]]) -> None:
        kind, data, event_at = event["type"], event["data"], parse_instant(event["created_at"])
        family, suffix = kind.split(".", 1)[0], kind.rsplit(".", 1)[1]
        if kind.startswith("card.dispute."):
            self._tell(f"dispute {data.get('outcome', suffix)}".lower())
        elif family == "account":
            self._tell("owner told late by a freeze", late=data.get("id") in seen and bool(data.get("owners")))
        elif family == "identity":
            self._tell("identity told")
        if not is_transfer(kind, data) or event_at is None:
            return
        said = read_said(kind, data, event_at)
        if data["id"] not in seen:
            self.moves[said.rail, said.direction, said.type] += 1
        seen |= {data["id"]} | {id_ for id_ in (said.account_id, said.counterparty_id, said.entity_id) if id_}
        self.named_entities[said.rail] += said.entity_id is not None
        if said.card_id is not None and said.account_id is not None:
            cards[said.account_id].add(said.card_id)
        self._tell("refused", late=said.status in REFUSED)
        self._tell("returned", late=said.returned is not None and not said.returned.undone)
        self._tell("dishonoured", late=said.returned is not None and said.returned.undone)
        if said.currency != "USD":
            self._tell("foreign without US cents" if said.cents is None else "foreign with US cents")


@pytest.fixture(scope="module")
def counts() -> Counts:
    counted = Counts()
    for seed in SEEDS:
        counted.read(stream_of(Random(seed), HAPPENINGS))
    return counted


@pytest.mark.parametrize("move", MOVES)
def test_given_random_streams_when_counted_then_each_rail_direction_and_type_is_there(
    counts: Counts, move: tuple[str, str, str | None]
) -> None:
    assert counts.moves[move] >= OFTEN


@pytest.mark.parametrize(
    "thing",
    [
        *("account with several cards", "refused", "returned", "dishonoured", "identity told"),
        *("owner told late by a freeze", "owner told late by the platform"),
        *(f"{kind} told late by the bank's API" for kind in ("account", "entity", "counterparty")),
        *(f"answer {result}" for result in ("found", "missing", "unusable", "unchanged")),
        *("foreign with US cents", "foreign without US cents"),
        *("dispute opened", "dispute won", "dispute lost", "dispute withdrawn"),
    ],
)
def test_given_random_streams_when_counted_then_what_a_bank_sends_and_answers_is_there(
    counts: Counts, thing: str
) -> None:
    assert counts.things[thing] >= OFTEN, counts.things


def test_given_random_streams_when_counted_then_no_transfer_but_a_cards_names_an_entity(counts: Counts) -> None:
    assert {rail for rail, n in counts.named_entities.items() if n} == {"card"}
