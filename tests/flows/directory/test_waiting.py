"""What waits for its fetch: each party once, tenants in turns, failures later each time, nothing without a limit."""

from clearhold.features.core.entries.directory import DirectoryKind, PartyKey
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from clearhold.flows.directory.waiting import (
    FIRST_RETRY_US,
    MAX_CANDIDATES,
    MAX_RETRY_US,
    MAX_WAITING,
    FirstSeen,
    WaitingParties,
)
from clearhold.store.tables import Rows, row_tables
from tests.support.clock import T0

A, B = "tenant a", "tenant b"


def party(tenant: str, number: int) -> PartyKey:
    return PartyKey(tenant, "prg_1", DirectoryKind.ENTITY, f"enti_{number}")


def numbers(waiting: WaitingParties, limit: int = 100, tenants: tuple[str, ...] = (A, B)) -> list[tuple[str, str]]:
    return [(key.tenant_id, key.id) for key, _ in waiting.take(tenants, limit)]


def test_given_parties_of_two_tenants_when_taken_then_they_take_turns() -> None:
    waiting = WaitingParties()
    waiting.add((party(A, number), None) for number in range(3))
    waiting.add([(party(B, 7), "digest")])

    assert numbers(waiting, limit=3) == [(A, "enti_0"), (B, "enti_7"), (A, "enti_1")]
    assert numbers(waiting) == [(A, "enti_2")]
    assert not waiting.waits_for((A, B))


def test_given_a_party_that_is_here_when_added_again_then_it_waits_once_until_it_is_forgotten() -> None:
    waiting = WaitingParties()
    waiting.add([(party(A, 1), None)] * 2)
    waiting.add_ahead([party(A, 1)])
    taken = numbers(waiting)
    waiting.add([(party(A, 1), None)])
    while_fetched = numbers(waiting)
    waiting.forget(party(A, 1))
    waiting.add([(party(A, 1), None)])

    assert (taken, while_fetched, numbers(waiting)) == ([(A, "enti_1")], [], [(A, "enti_1")])


def test_given_parties_first_seen_then_they_go_ahead() -> None:
    waiting = WaitingParties()
    waiting.add([(party(A, 1), "digest")])
    waiting.add_ahead([party(A, 2)])

    assert numbers(waiting) == [(A, "enti_2"), (A, "enti_1")]


def test_given_a_tenant_that_is_not_ready_then_its_parties_stay() -> None:
    waiting = WaitingParties()
    waiting.add([(party(A, 1), None), (party(B, 2), None)])

    assert numbers(waiting, tenants=(B,)) == [(B, "enti_2")]
    assert waiting.waits_for((A,))
    assert len(waiting) == 1


def test_given_failures_of_a_party_then_it_waits_longer_each_time() -> None:
    waiting, now, pauses = WaitingParties(), T0, list[int]()
    waiting.add([(party(A, 1), "digest")])
    for _ in range(9):
        ((key, digest),) = waiting.take((A,), 1)
        waiting.try_again((key, digest), now=now)
        pause = next(
            pause for pause in (FIRST_RETRY_US << (2 * step) for step in range(12)) if is_revived(waiting, now + pause)
        )
        pauses.append(min(pause, MAX_RETRY_US))
        now += pauses[-1]

    assert pauses[:3] == [2 * SECOND_US, 8 * SECOND_US, 32 * SECOND_US]
    assert pauses[-1] == MAX_RETRY_US
    assert digest == "digest"


def is_revived(waiting: WaitingParties, now: int) -> bool:
    waiting.revive(now=now)
    return waiting.waits_for((A,))


def test_given_a_tenant_without_a_key_then_what_waits_for_it_is_forgotten() -> None:
    waiting = WaitingParties()
    waiting.add([(party(A, 1), None), (party(A, 2), None), (party(B, 3), None)])
    waiting.try_again(waiting.take((A,), 1)[0], now=T0)
    waiting.keep_tenants((B,))
    waiting.revive(now=T0 + MAX_RETRY_US)
    left = numbers(waiting)
    waiting.add([(party(A, 1), None)])

    assert (left, numbers(waiting)) == ([(B, "enti_3")], [(A, "enti_1")])


def test_given_more_parties_than_there_is_room_for_then_the_rest_is_left_to_the_sweep() -> None:
    waiting = WaitingParties()
    waiting.add((party(A, number), None) for number in range(MAX_WAITING + 5))

    assert (len(waiting), waiting.room) == (MAX_WAITING, 0)


def account(number: int, tenant: str = A) -> AccountRow:
    return AccountRow(tenant, "prg_1", f"bacc_{number}", 0, number, None, None, None, "{}", T0)


def counterparty(party_id: str) -> CounterpartyRow:
    return CounterpartyRow(A, "prg_1", party_id, 0, 1, None, None, None, None, None, T0, T0, None)


def test_given_rows_of_a_commit_then_their_parties_are_candidates_once_with_the_words_of_the_bank() -> None:
    first_seen = FirstSeen(has_key=lambda tenant: tenant == A)
    rows: Rows = {
        AccountRow: [account(1), account(1), account(2, tenant=B)],
        CounterpartyRow: [counterparty("cpty_1"), counterparty("bacc_9")],
    }
    first_seen.offer(row_tables(rows))
    candidates = [(key.kind.value, key.id) for key in first_seen.take(99)]

    assert candidates == [("account", "bacc_1"), ("counterparty", "cpty_1"), ("account", "bacc_9")]
    assert first_seen.take(99) == []


def test_given_a_commit_that_records_a_fetch_then_the_party_is_no_candidate() -> None:
    first_seen = FirstSeen(has_key=lambda _: True)
    fetched = DirectoryRow(A, "prg_1", "account", "bacc_1", 0, 1, T0, "found", None)
    rows: Rows = {AccountRow: [account(1), account(2)], DirectoryRow: [fetched], EntityRow: []}
    first_seen.offer(row_tables(rows))

    assert [key.id for key in first_seen.take(99)] == ["bacc_2"]


def test_given_more_candidates_than_fit_then_the_rest_is_counted() -> None:
    first_seen = FirstSeen(has_key=lambda _: True)
    first_seen.offer(row_tables({AccountRow: [account(number) for number in range(MAX_CANDIDATES + 3)]}))

    assert (len(first_seen), first_seen.overflowed) == (MAX_CANDIDATES, 3)
    assert len(first_seen.take(10)) == 10
