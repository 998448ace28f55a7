"""Owners told late, on random streams: the account's history is the entity's from that entry on."""

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.owner_merge import merged
from clearhold.features.state.parties import Actor
from clearhold.features.state.program import ProgramState
from clearhold.features.state.score_memory import NO_TRANSFER, packed_shares
from clearhold.features.windows.acquaintances import Acquaintances, Novelty
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.graph import Graph
from clearhold.features.windows.series import EventTimes
from tests.oracle.comparing import differences
from tests.oracle.oracle import Oracle
from tests.oracle.random_parties import ACCOUNTS, OWNERS
from tests.oracle.random_streams import stream_of
from tests.oracle.status_order import UNMOVED
from tests.support import bank_events as bank
from tests.support.clock import T0

RETURNS: Final = {"entity.returns30d", "counterparty.priorUnauthorizedReturns", "counterparty.stopReturnDays"}
PROBES: Final = {"entity.probingReturns30d"}
OF_BUSY_ACTORS: Final = {"entity.newCounterparties24h"}
OTHERWISE: Final = RETURNS | PROBES | OF_BUSY_ACTORS
"""Features whose meaning, not their actor, differs between this state and the oracle."""

MET: Final = {
    *("pair.firstTime", "payer.newPayees90d", "payee.newPayers90d", "program.rarePairs90d"),
    *("payer.newPayees7d", "payer.newPayees30d", "payee.newPayers7d", "payee.newPayers30d", "payer.newPayers30d"),
    *("payer.newPayeesOverUsualPercent", "payee.newPayersOverUsualPercent", "payer.newPayersOverUsualPercent"),
}
AT_FIRST_SIGHT: Final = MET | {"entity.rescreenDays"}
"""Who met whom is remembered by the first transfer in the log, and of a merged pair by the earlier meeting;
the screening cadence goes by the score that the entity was given before."""

OWNER_OF: Final = dict(zip(ACCOUNTS, OWNERS, strict=True))


def is_plain(entry: LogEntry) -> bool:
    """Credits in dollars that moved, and what is said of parties: both sides agree on what these mean."""
    if entry.kind != EntryKind.BANK:
        return True
    event = json.loads(entry.body)
    data = event["data"]
    if event["type"].startswith("card.") or data.get("type") == "DEBIT" or data.get("currency_code", "USD") != "USD":
        return False
    return not {str(data.get("status")), str(data.get("status")).upper()} & UNMOVED


def is_of_account(entry: LogEntry) -> bool:
    """Whether it may state an owner."""
    body = json.loads(entry.body)
    if entry.kind == EntryKind.DIRECTORY:
        return bool(body["kind"] == "account")
    return entry.kind == EntryKind.OWNER or (entry.kind == EntryKind.BANK and body["type"].startswith("account."))


def in_order(entries: Iterable[tuple[str, bytes, int]]) -> list[LogEntry]:
    """Entries of one program, with the offsets of their places."""
    return [
        LogEntry(0, number << 20, kind, "prg_1", appended_at, body)
        for number, (kind, body, appended_at) in enumerate(entries, start=1)
    ]


def owner_told(account: str, owner: str, number: int, appended_at: int) -> tuple[str, bytes, int]:
    data = bank.an_account(id=account, owners=[owner], updated_at=bank.rfc3339(T0))
    entry = bank.a_bank_entry(
        "account.frozen", data, offset=9_000_000 + number, created_at=T0, appended_at=appended_at, program_id="prg_1"
    )
    return entry.kind, entry.body, appended_at


def with_owners(chance: Random, entries: list[LogEntry], *, most: int = 6) -> list[LogEntry]:
    """The stream with owners told at random places, the same one again and another one among them."""
    facts = [(entry.kind, entry.body, entry.appended_at) for entry in entries]
    for number in range(most):
        place = chance.randint(1, len(facts))
        account = chance.choice(ACCOUNTS)
        owner = OWNER_OF[account] if chance.random() < 0.7 else chance.choice(OWNERS)
        facts.insert(place, owner_told(account, owner, number, facts[place - 1][2]))
    return in_order(facts)


def reloaded(state: ShardState) -> ShardState:
    return ShardState.loaded(iter([*state.dump()]))


def scorings(state: ShardState, entry: LogEntry) -> list[TransferFeaturesRow]:
    rows: list[msgspec.Struct] = []
    state.apply(entry, rows.append)
    assert not [row for row in rows if isinstance(row, QuarantineRow)]
    return [row for row in rows if isinstance(row, TransferFeaturesRow)]


def unlike_oracle(entries: list[LogEntry], *, reload_at: int) -> Iterator[str]:
    state, oracle = ShardState(0), Oracle()
    for number, entry in enumerate(entries):
        if number == reload_at:
            state = reloaded(state)
        made, expected = scorings(state, entry), oracle.apply(entry)
        assert len(made) == (expected is not None)
        if expected is not None:
            values = values_by_name(made[0].vector)
            features = {name: value for name, value in expected.features.items() if name in values}
            compared = {name: value for name, value in features.items() if name not in OTHERWISE}
            yield from differences(values, expected._replace(features=compared))


@pytest.mark.parametrize("seed", range(80))
def test_given_owners_told_late_when_transfers_are_scored_then_every_feature_is_the_oracles(
    seed: int,
) -> None:
    chance = Random(seed)
    plain = [entry for entry in stream_of(chance, 30) if is_plain(entry)]
    entries = with_owners(chance, plain)

    found = list(unlike_oracle(entries, reload_at=chance.randrange(len(entries))))

    assert not found, found


@pytest.mark.parametrize("seed", range(60))
def test_given_every_owner_told_late_when_all_are_told_then_scores_are_made_as_if_they_had_been_known_all_along(
    seed: int,
) -> None:
    chance = Random(seed)
    facts = [(each.kind, each.body, each.appended_at) for each in stream_of(chance, 25)]
    facts = [fact for fact, entry in zip(facts, in_order(facts), strict=True) if not is_of_account(entry)]
    parties = known_parties()
    told = [owner_told(account, OWNER_OF[account], number, T0) for number, account in enumerate(ACCOUNTS)]
    place = chance.randint(0, len(facts))
    at = facts[place - 1][2] if place else T0
    late = in_order([*parties, *facts[:place], *((*each[:2], at) for each in told), *facts[place:]])
    early = in_order([*parties, *told, *facts])

    state, known_state = ShardState(0), ShardState(0)
    made = [scorings(state, entry) for entry in late][len(parties) + place + len(told) :]
    known = [scorings(known_state, entry) for entry in early][len(parties) + len(told) + place :]

    assert [[values(row) for row in rows] for rows in made] == [[values(row) for row in rows] for rows in known]


def known_parties() -> list[tuple[str, bytes, int]]:
    """The accounts and entities, so that they are the same nodes however late the owners are told."""
    said = [("account.overdrafted", {"bank_account_id": account}) for account in ACCOUNTS]
    said += [("identity.updated", {"id": owner}) for owner in dict.fromkeys(OWNERS)]
    entries = [
        bank.a_bank_entry(kind, data, offset=8_000_000 + number, created_at=T0, appended_at=T0, program_id="prg_1")
        for number, (kind, data) in enumerate(said)
    ]
    return [(entry.kind, entry.body, T0) for entry in entries]


def values(row: TransferFeaturesRow) -> dict[str, Any]:
    told = values_by_name(row.vector)
    return {"id": row.transfer_id} | {name: value for name, value in told.items() if name not in AT_FIRST_SIGHT}


@pytest.mark.parametrize("seed", range(6))
def test_given_merges_when_the_state_is_loaded_from_a_dump_then_it_goes_on_as_the_one_that_was_dumped(
    seed: int,
) -> None:
    chance = Random(seed)
    entries = with_owners(chance, stream_of(chance, 25))
    whole, state = ShardState(0), ShardState(0)
    for number, entry in enumerate(entries):
        if number % 20 == 0:
            state = reloaded(state)
        assert scorings(whole, entry) == scorings(state, entry)

    assert [*reloaded(state).dump()] == [*state.dump()]


def test_given_series_with_later_changes_when_they_are_merged_then_every_instant_is_as_it_was_known_then() -> None:
    mine, theirs = AmountSeries(), AmountSeries()
    mine.add_amount(10, 500)
    mine.add_amount(30, 700, known_at=50)
    theirs.add_amount(10, 300)
    theirs.add_amount(20, 100)
    theirs.remove_amount(20, 100, known_at=40)

    mine.absorb(theirs)

    assert [mine.measure(0, upto) for upto in (10, 20, 30, 40, 50)] == [
        (2, 800),
        (3, 900),
        (3, 900),
        (2, 800),
        (3, 1500),
    ]
    assert mine.newest(0, 50, most=3, but=None) == [300, 500, 700]


def test_given_a_transfer_that_went_from_account_to_entity_when_both_are_one_then_its_edge_never_left() -> None:
    account, entity = Edges(), Edges()
    account.add_edge(10, 0, 7)
    account.remove_edge(10, 0, known_at=30)
    entity.add_edge(10, 0, 7, known_at=30)

    entity.absorb(account)

    assert [list(entity.near(0, at, but=NOBODY, as_of=at).others) for at in (10, 29, 30, 31)] == [[7]] * 4


def test_given_a_node_that_paid_itself_and_its_heir_when_it_is_merged_then_both_are_one_node() -> None:
    graph = Graph()
    graph.add(0, 0, 10, 0, known_at=None)
    graph.add(0, 2, 20, 1, known_at=None)
    graph.add(5, 0, 30, 2, known_at=None)
    graph.add(2, 5, 40, 3, known_at=None)

    graph.merge_node(0, 2)

    assert {node: [*edges.others] for node, edges in graph.out.items()} == {5: [2], 2: [2, 2, 5]}
    assert {node: [*edges.others] for node, edges in graph.into.items()} == {2: [2, 2, 5], 5: [2]}


def test_given_two_meetings_with_one_party_when_they_become_one_then_the_earlier_counts_and_only_once() -> None:
    acquaintances = Acquaintances()
    acquaintances.meet(0, 5, 10, 0, is_rare=False)
    acquaintances.meet(2, 5, 20, 1, is_rare=False)
    acquaintances.meet(0, 7, 30, 2, is_rare=False)

    acquaintances.merge_node(0, 2, paid={5, 7}, payers=set())

    assert acquaintances.novelty(2, 5, 40, but=NOBODY, known_since=-(2**60)) == Novelty(
        is_new_pair=False, of_payer=2, of_payee=1, met_at=10
    )
    assert acquaintances.novelty(2, 5, 10, but=0, known_since=-(2**60)).is_new_pair


def test_given_strong_transfers_of_account_and_entity_when_they_are_merged_then_the_strongest_of_both_stay() -> None:
    program = ProgramState("prg_1")
    strongest = program.scores.transfers
    for row, (index, score) in enumerate(((0, 90), (0, 20), (0, 80), (1, 30), (1, 70), (1, 10))):
        strongest.add(index, row, T0, score, shares=packed_shares(score // 10, 0))

    strongest.merge(0, into=1)

    of_both = []
    for row in (0, 2, 4, 3, 1, 5):
        of_both.append(strongest.best(1)[::2])
        strongest.drop(1, row)
    assert of_both == [(90, 9), (80, 8), (70, 7), (30, 3), (20, 2), (10, 1)]
    assert strongest.best(0) == strongest.best(1) == NO_TRANSFER


def test_given_everything_that_an_actor_remembers_when_it_is_merged_then_each_kind_has_a_way() -> None:
    account = Actor.new("bacc_1", 0, is_account=True)

    assert merged(None, account.amounts) is account.amounts
    assert merged({1: EventTimes()}, {1: EventTimes(), 2: EventTimes()}).keys() == {1, 2}
    with pytest.raises(TypeError, match="no way to merge int"):
        merged(1, 2)
