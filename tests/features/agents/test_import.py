"""Items of the scan index, applied to the program ``agents`` one entry at a time."""

from collections.abc import Iterator
from itertools import product
from typing import Final
from zlib import crc32

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.events import QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import AgentRow, CounterpartyRow, EntityRow
from tests.support.clock import T0
from tests.support.scan_items import (
    AgentStory,
    Item,
    a_profile,
    a_settlement,
    address,
    an_agent,
    entity_of,
    transfer_of,
    wallet_of,
)

MORE_THAN_ARE_SEALED: Final = 1_100


def test_given_an_agent_when_it_is_paid_then_entity_transfer_and_counterparty_follow() -> None:
    story = AgentStory().begin().agents(an_agent())
    entity, agent = story.one(EntityRow), story.one(AgentRow)
    paid = a_settlement(1, T0, payer=address(0xC0FFEE))
    story.settle(paid, at=T0 + DAY_US)
    transfer, payer = story.one(TransferRow), story.one(CounterpartyRow)
    counted = story.finish()

    assert (entity.id, entity.type, entity.verification_status) == (entity_of(22), "BUSINESS", "UNVERIFIED")
    assert msgspec.json.decode(entity.raw) == an_agent()
    assert (agent.wallet, agent.chain_id, agent.agent_id, agent.screening_status) == (wallet_of(22), 8453, "22", None)
    assert (transfer.id, transfer.rail, transfer.direction, transfer.type) == (
        transfer_of(paid),
        "realtime",
        "incoming",
        None,
    )
    assert (transfer.amount_cents, transfer.currency, transfer.status) == (250, "USD", "CONFIRMED")
    assert (transfer.entity_id, transfer.bank_created_at) == (entity_of(22), T0)
    assert (payer.id, payer.account_last4, payer.routing_number) == (f"wallet:8453:{address(0xC0FFEE)}", "ffee", None)
    assert (counted.transfers, counted.counterparties, counted.agent_counterparties) == (1, 1, 0)


def test_given_an_import_when_it_is_done_again_then_nothing_is_new() -> None:
    items = [a_settlement(number, T0 + number * DAY_US) for number in range(3)]
    story = AgentStory().begin().agents(an_agent()).profiles(a_profile(wallet_of(22)))
    assert story.settle(*items, at=T0 + 9 * DAY_US).finish().transfers == 3
    rows = len(story.rows)

    story.begin().agents(an_agent(), at=T0 + 10 * DAY_US).profiles(a_profile(wallet_of(22)), at=T0 + 10 * DAY_US)
    counted = story.settle(*items, at=T0 + 10 * DAY_US).finish()

    assert (counted.transfers, counted.counterparties, counted.skipped) == (0, 0, "{}")
    assert len(story.rows) == rows + 2  # the beginning and the end of the import


def with_one_checksum(one: Item, other: Item) -> tuple[Item, Item]:
    """The two agents, each described in such a way that the CRC-32 of both items is the same."""
    letters = "`abcdefghijklmno"  # any four bits in their last ones, so that the checksums reach everything

    def checksums(agent: Item, described: Iterator[str]) -> Iterator[tuple[int, str]]:
        ahead, behind = msgspec.json.encode(agent | {"description": "@@"}).split(b"@@")
        begun = crc32(ahead)
        return ((crc32(words.encode() + behind, begun), words) for words in described)

    ahead = dict(checksums(one, (f"{''.join(each)}aaaaa" for each in product(letters, repeat=4))))
    behind = checksums(other, (f"aaaa{''.join(each)}" for each in product(letters, repeat=5)))
    checksum, words = next(each for each in behind if each[0] in ahead)
    return one | {"description": ahead[checksum]}, other | {"description": words}


def test_given_a_wallet_that_was_screened_before_1970_when_many_others_follow_then_all_are_known() -> None:
    story = AgentStory().profiles(a_profile(wallet_of(22), "review", screenedAt="1969-12-31T00:00:00Z"))
    story.profiles(*(a_profile(address(number)) for number in range(MORE_THAN_ARE_SEALED)))
    assert not [row for row in story.rows if isinstance(row, QuarantineRow)]
    story.agents(an_agent())
    assert story.one(AgentRow).screening_status == "review"


def test_given_a_change_under_a_description_that_forges_the_checksum_when_imported_then_it_is_taken() -> None:
    first, second = with_one_checksum(an_agent(), an_agent(wallet=address(0xFACE)))
    assert crc32(msgspec.json.encode(first)) == crc32(msgspec.json.encode(second))
    story = AgentStory().begin().agents(first)

    story.agents(second, at=T0 + DAY_US)

    assert story.one(AgentRow).wallet == address(0xFACE)
