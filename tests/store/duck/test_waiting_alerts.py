"""Waiting alerts from memory: as a plain list of the newest versions is filtered and sorted, also while it changes."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertRow, AlertTransferRow
from clearhold.features.core.vocabulary import WAITING
from clearhold.store.duck import waiting_alerts
from clearhold.store.duck.alert_lists import AlertLists, AlertSummaries, ListPlace, SubjectNames, waits_only
from clearhold.store.duck.alert_orders import PLACES, AlertOrder
from clearhold.store.duck.alerts import AlertFilter, Alerts
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer, an_alert
from tests.support.principals import a_key, an_operator

SECOND: Final = 1_000_000
OPERATOR = an_operator(TENANT)
WAITS: Final = tuple(str(status) for status in WAITING)
STATUSES: Final = (*WAITS, "closed", "auto_closed")


def commit(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> None:
    of_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        of_type.setdefault(type(row), []).append(row)
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


class Lists:
    """Pages of lists as the service reads them."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self.alerts, self.waiting = Alerts(database), WaitingAlertIndex(database)
        self.lists = AlertLists(database, self.waiting)

    def page(
        self, wanted: AlertFilter, after: ListPlace | None, limit: int, principal: Any = OPERATOR
    ) -> tuple[list[AlertRow], ListPlace | None]:
        page = self.lists.page(principal, wanted, after, limit)
        rows = self.alerts.of_keys(principal, page.keys)
        if not page.has_more:
            return rows, None
        return rows, page.last or ListPlace(PLACES[wanted.sort](rows[-1]), rows[-1].id, 0)

    def every(
        self,
        wanted: AlertFilter,
        limit: int,
        between: Callable[[], None] = lambda: None,
        principal: Any = OPERATOR,
    ) -> list[str]:
        found: list[str] = []
        after: ListPlace | None = None
        while True:
            rows, after = self.page(wanted, after, limit, principal)
            assert len(rows) <= limit
            found += [row.id for row in rows]
            if after is None:
                return found
            between()


def sorted_plainly(newest: Sequence[AlertRow], order: AlertOrder) -> list[AlertRow]:
    """The order in the words of the interface, over whole rows."""
    late = 2**60

    def key(row: AlertRow) -> tuple[Any, ...]:
        weight = row.queue_rank >> RANK_INSTANT_BITS
        if order is AlertOrder.WORST:
            return (-weight, -row.opened_at, row.id)
        if order is AlertOrder.DUE_AT:
            return (late if row.due_at is None else row.due_at, -weight, row.id)
        if order is AlertOrder.SCORE:
            return (row.score_at_alert is None, -(row.score_at_alert or 0), -row.opened_at, row.id)
        return (-row.opened_at, row.id)

    return sorted(newest, key=key)


@st.composite
def versions(draw: st.DrawFn) -> list[AlertRow]:
    """Versions of a few alerts in the order of the log; the opening and its score never change."""
    rows, opened = [], dict[int, tuple[int, int | None]]()
    for offset in range(draw(st.integers(1, 40))):
        number = draw(st.integers(0, 11))
        when, score = opened.setdefault(
            number, (AT + SECOND * draw(st.integers(0, 3)), draw(st.sampled_from([None, 0, 40, 100])))
        )
        rows.append(
            an_alert(
                id=f"alr_{number:02}",
                program_id=f"prg_{number % 3}",
                offset=offset,
                status=draw(st.sampled_from(STATUSES)),
                severity=draw(st.sampled_from(["low", "high"])),
                sla_tier=draw(st.sampled_from(["standard", "complex"])),
                from_history=draw(st.booleans()),
                opened_at=when,
                score_at_alert=score,
                due_at=draw(st.sampled_from([None, AT, AT + SECOND, AT + 2 * SECOND])),
                queue_rank=(draw(st.integers(0, 8)) << RANK_INSTANT_BITS) + when,
            )
        )
    return rows


@st.composite
def filters(draw: st.DrawFn) -> AlertFilter:
    order = draw(st.sampled_from(AlertOrder))
    some = st.lists(st.sampled_from(WAITS), min_size=1, unique=True).map(tuple)
    return AlertFilter(
        sort=order,
        statuses=draw(some),
        program_ids=draw(st.none() | st.just(("prg_0", "prg_2"))),
        severities=draw(st.none() | st.just(("high",))),
        sla_tiers=draw(st.none() | st.just(("standard",))),
        overdue=draw(st.sampled_from([None, True, False])),
        from_history=draw(st.sampled_from([None, True, False])),
        opened_from=draw(st.sampled_from([None, AT + SECOND])),
        opened_to=draw(st.sampled_from([None, AT + 2 * SECOND])),
        now=AT + SECOND,
    )


def matching_plainly(rows: Sequence[AlertRow], wanted: AlertFilter) -> list[AlertRow]:
    """The newest versions that match."""
    newest = {row.id: row for row in rows}

    def matches(row: AlertRow) -> bool:
        overdue = row.status in WAITS and row.due_at is not None and row.due_at < wanted.now
        return (
            (wanted.statuses is None or row.status in wanted.statuses)
            and (wanted.program_ids is None or row.program_id in wanted.program_ids)
            and (wanted.severities is None or row.severity in wanted.severities)
            and (wanted.sla_tiers is None or row.sla_tier in wanted.sla_tiers)
            and (wanted.overdue is None or overdue is wanted.overdue)
            and (wanted.from_history is None or row.from_history is wanted.from_history)
            and (wanted.opened_from is None or row.opened_at >= wanted.opened_from)
            and (wanted.opened_to is None or row.opened_at < wanted.opened_to)
            and (wanted.sort is not AlertOrder.DUE_AT or row.status in WAITS)
        )

    return [row for row in newest.values() if matches(row)]


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_any_versions_when_paged_then_the_pages_are_the_plain_list(
    database: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    database.execute("DELETE FROM alerts")
    rows = data.draw(versions())
    wanted, limit = data.draw(filters()), data.draw(st.integers(1, 5))
    if wanted.sort is not AlertOrder.WORST and data.draw(st.booleans()):
        wanted = replace(wanted, statuses=None)
    cut = data.draw(st.integers(0, len(rows)))
    lists = Lists(database)
    if rows[:cut]:
        commit(database, *rows[:cut])
    lists.every(wanted, limit)  # some are read at first, the others later
    if rows[cut:]:
        commit(database, *rows[cut:])

    expected = sorted_plainly(matching_plainly(rows, wanted), wanted.sort)

    assert lists.every(wanted, limit) == [row.id for row in expected]
    assert Lists(database).every(wanted, limit) == [row.id for row in expected]


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_changes_between_pages_then_none_comes_twice_and_none_that_waits_throughout_is_left_out(
    database: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    database.execute("DELETE FROM alerts")
    before, after = data.draw(versions()), data.draw(versions())
    same = {row.id: (row.opened_at, row.score_at_alert) for row in reversed(before)}
    changes = [
        replace(row, offset=100 + row.offset, opened_at=same[row.id][0], score_at_alert=same[row.id][1])
        if row.id in same
        else replace(row, offset=100 + row.offset)
        for row in after
    ]
    changes = [
        replace(row, queue_rank=(row.queue_rank >> RANK_INSTANT_BITS << RANK_INSTANT_BITS) + row.opened_at)
        for row in changes
    ]
    wanted = AlertFilter(sort=data.draw(st.sampled_from(AlertOrder)), statuses=WAITS)
    commit(database, *before)
    lists, left, committed = Lists(database), list(changes), list[AlertRow]()

    def change() -> None:
        for _ in range(data.draw(st.integers(0, 4))):
            if left:
                committed.append(left.pop(0))
                commit(database, committed[-1])

    found = lists.every(wanted, data.draw(st.integers(1, 4)), change)

    ended = {row.id for row in committed if row.status not in WAITS}
    throughout = {row.id for row in matching_plainly(before, wanted)} - ended
    assert len(found) == len(set(found))
    assert throughout <= set(found)


def test_given_more_changes_than_are_kept_when_paged_then_alerts_come_at_their_newest_place(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_alerts, "MOST_MOVES", 1)
    wanted, lists = AlertFilter(sort=AlertOrder.DUE_AT), Lists(database)
    commit(database, *(an_alert(id=str(number), offset=number, due_at=AT + number) for number in range(4)))
    first, after = lists.page(wanted, None, 2)
    commit(database, an_alert(id="0", offset=10, due_at=AT + 8), an_alert(id="1", offset=11, due_at=AT + 9))

    rest, _ = lists.page(wanted, after, 9)

    assert [row.id for row in first] == ["0", "1"]
    assert [row.id for row in rest] == ["2", "3", "0"]  # the older of the two changes is forgotten


def test_given_an_order_by_due_time_then_only_alerts_that_wait_are_listed(database: duckdb.DuckDBPyConnection) -> None:
    lists = Lists(database)
    commit(
        database,
        an_alert(id="closed", status="closed"),
        an_alert(id="never", due_at=None),
        an_alert(id="late", due_at=AT + 5),
        an_alert(id="hard", due_at=AT + 5, queue_rank=(6 << RANK_INSTANT_BITS) + AT),
        an_alert(id="soon", due_at=AT + 1),
    )

    assert lists.every(AlertFilter(sort=AlertOrder.DUE_AT), 2) == ["soon", "hard", "late", "never"]
    assert not waits_only(AlertFilter(statuses=("open", "closed")))
    assert lists.every(AlertFilter(statuses=("open", "closed")), 9)[0] == "hard"


def test_given_tenants_and_narrow_keys_when_listed_and_counted_then_each_has_its_own_only(
    database: duckdb.DuckDBPyConnection,
) -> None:
    lists = Lists(database)
    commit(
        database,
        an_alert(id="a"),
        an_alert(id="b", program_id="prg_2"),
        an_alert(id="c", tenant_id="tnt_2"),
    )
    narrow = a_key(TENANT, "prg_2")
    every = ["prg_1", "prg_2"]

    wanted = AlertFilter(sort=AlertOrder.DUE_AT)
    assert lists.every(wanted, 1) == ["a", "b"]
    assert lists.every(wanted, 1, principal=narrow) == ["b"]
    assert lists.every(wanted, 1, principal=an_operator("tnt_3")) == []
    assert {count.program_id: count.alerts for count in lists.waiting.counts(OPERATOR, every)} == {
        "prg_1": 1,
        "prg_2": 1,
    }
    assert [count.program_id for count in lists.waiting.counts(narrow, every)] == ["prg_2"]
    assert lists.waiting.due(narrow, every, now=AT + 1, within_us=1).overdue == {"prg_2": 1}
    assert lists.waiting.due(OPERATOR, ["prg_1"], now=AT, within_us=1).soon == {"prg_1": 1}


def test_given_a_transfer_or_an_account_when_waiting_alerts_are_listed_then_those_that_rest_on_it_are_found(
    database: duckdb.DuckDBPyConnection,
) -> None:
    def rests_on(alert_id: str, number: int) -> AlertTransferRow:
        return AlertTransferRow(TENANT, PROGRAM, alert_id, 3, 1, number)

    lists = Lists(database)
    commit(
        database,
        *(a_transfer(id=f"trf_{number}", number=number, account_id=f"acc_{number // 2}") for number in range(4)),
        *(an_alert(id=id_) for id_ in "ab"),
        an_alert(id="c", subject_type="account", subject_id="acc_1"),
        an_alert(id="d", status="closed"),
        rests_on("a", 0),
        rests_on("a", 3),
        rests_on("b", 1),
        rests_on("d", 0),
    )

    def found(**wanted: Any) -> set[str]:
        return set(lists.every(AlertFilter(statuses=WAITS, **wanted), 9))

    assert (found(transfer_ids=("trf_0",)), found(transfer_ids=("trf_3", "trf_1"))) == ({"a"}, {"a", "b"})
    assert (found(account_ids=("acc_0",)), found(account_ids=("acc_1",))) == ({"a", "b"}, {"a", "c"})
    assert found(account_ids=("acc_0",), transfer_ids=("trf_3",)) == {"a"}
    assert lists.every(AlertFilter(account_ids=("acc_0",)), 9) == ["a", "b", "d"]


def test_given_keys_when_the_summaries_are_read_then_they_are_in_that_order(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, an_alert(id="a", evidence='{"finding":"Four."}'), an_alert(id="b"))

    second, first = AlertSummaries(database, WaitingAlertIndex(database)).of_keys(OPERATOR, [("b", 1), ("a", 1)])

    assert [(row.id, row.evidence) for row in (first, second)] == [("a", '{"finding":"Four."}'), ("b", "{}")]
    assert SubjectNames(database).of(OPERATOR, {("entity", PROGRAM, "ent_9")}) == {}


def test_given_a_first_read_that_fails_when_read_again_then_no_alert_is_missing(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(database, an_alert(id="alt_1"))
    index = Lists(database)

    def fails(*_: Any) -> Any:
        raise duckdb.OutOfMemoryException("There is no memory left.")

    with monkeypatch.context() as broken:
        broken.setattr(index.waiting, "_read", fails)
        with pytest.raises(duckdb.OutOfMemoryException):
            index.waiting.warm()

    assert index.every(AlertFilter(statuses=WAITS), 10) == ["alt_1"]
