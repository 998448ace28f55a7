"""Stacks of waiting alerts from memory: as a plain reading of the newest versions has them, also while they change."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertAssignmentRow, AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import WAITING
from clearhold.store.duck import held_money
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.stacks import StackFigures, StackFilter, Stacks
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.duck.waiting_stacks import StackSort
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, TENANT, a_transfer, an_alert
from tests.support.principals import a_key, an_operator

SECOND: Final = 1_000_000
LAST: Final = 2**62
OPERATOR = an_operator(TENANT)
WAITS: Final = tuple(str(status) for status in WAITING)
STATUSES: Final = (*WAITS, "closed")
SETS: Final = ("bands", "severities", "detectors", "statuses", "assignees")


NAMES: Final = (None, "Ann", "Bob", "ANN")


def an_assignment(alert_id: str, assignee: str | None, program_id: str, offset: int) -> AlertAssignmentRow:
    key = "" if assignee is None else assignee.casefold()
    place = (TENANT, program_id, f"asg_{offset}", 3, offset)
    return AlertAssignmentRow(*place, alert_id, assignee, key, "carol", identity=None, created_at=AT)


def commit(database: duckdb.DuckDBPyConnection, rows: Sequence[msgspec.Struct]) -> None:
    of_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        of_type.setdefault(type(row), []).append(row)
    if of_type:
        BatchWriter(database).commit(row_tables(of_type), {}, AT)


def stacks_of(database: duckdb.DuckDBPyConnection) -> Stacks:
    return Stacks(database, WaitingAlertIndex(database))


def every(stacks: Stacks, wanted: StackFilter, limit: int, principal: Principal = OPERATOR) -> list[StackFigures]:
    found: list[StackFigures] = []
    after: tuple[int, str] | None = None
    while page := stacks.page_of(principal, wanted, after, limit):
        assert len(page) <= limit
        found += page
        after = (page[-1].place, page[-1].id)
    return found


@st.composite
def histories(draw: st.DrawFn) -> list[msgspec.Struct]:
    """Versions of alerts, whose stack is of one program and may change, and of the transfers that opened them; and
    assignments of alerts that were opened.
    """
    rows, known = list[msgspec.Struct](), list[tuple[int, str]]()
    for offset in range(draw(st.integers(1, 30))):
        program = draw(st.integers(0, 2))
        if known and draw(st.integers(0, 2)) == 0:
            program, alert_id = draw(st.sampled_from(known))
            rows.append(an_assignment(alert_id, draw(st.sampled_from(NAMES)), f"prg_{program}", offset))
            continue
        transfer_id = f"trf_{draw(st.integers(0, 3))}"
        if draw(st.integers(0, 3)) == 0:
            currency, cents = draw(st.sampled_from(["USD", "USD", "EUR"])), draw(st.integers(0, 3))
            rows.append(
                a_transfer(
                    id=transfer_id, program_id=f"prg_{program}", offset=offset, currency=currency, amount_cents=cents
                )
            )
            continue
        when = AT + SECOND * draw(st.integers(0, 3))
        stack, alert_id = draw(st.none() | st.integers(0, 2)), f"alr_{program}_{draw(st.integers(0, 4))}"
        is_new = (program, alert_id) not in known
        known += [(program, alert_id)] if is_new else []
        rows.append(
            an_alert(
                id=alert_id,
                program_id=f"prg_{program}",
                offset=offset,
                status=draw(st.sampled_from(STATUSES)),
                severity=draw(st.sampled_from(["low", "high"])),
                detector=draw(st.sampled_from(["one", "other"])),
                hard_signal=draw(st.booleans()),
                transfer_id=draw(st.sampled_from([None, transfer_id])),
                opened_at=when,
                updated_at=when if is_new else when + 1,
                score_at_alert=draw(st.sampled_from([None, 0, 40])),
                band_at_alert=draw(st.sampled_from([None, "hold"])),
                due_at=draw(st.sampled_from([None, AT, AT + 2 * SECOND])),
                queue_rank=(draw(st.integers(0, 2)) << RANK_INSTANT_BITS) + when,
                stack_id=None if stack is None else f"stk_{program}_{stack}",
                stack_kind=None if stack is None else ("entity", "account", "split")[stack],
                stack_key=None if stack is None else f"key_{stack}",
            )
        )
    return rows


@st.composite
def filters(draw: st.DrawFn) -> StackFilter:
    return StackFilter(
        sort=draw(st.sampled_from(StackSort)),
        statuses=draw(st.none() | st.lists(st.sampled_from(STATUSES), min_size=1, unique=True).map(tuple)),
        kinds=draw(st.none() | st.just(("entity", "split"))),
        program_ids=draw(st.none() | st.just(("prg_0", "prg_2"))),
        severities=draw(st.none() | st.just(("high",))),
        overdue=draw(st.sampled_from([None, True, False])),
        opened_from=draw(st.sampled_from([None, AT + SECOND])),
        now=AT + SECOND,
        assignees=draw(st.sampled_from([None, None, ("ann",), ("BOB", "carol"), ("none",), ("None", "ann")])),
    )


def assignees_plainly(rows: Sequence[msgspec.Struct]) -> dict[str, str]:
    newest = {row.alert_id: row.assignee for row in rows if isinstance(row, AlertAssignmentRow)}
    return {alert_id: assignee for alert_id, assignee in newest.items() if assignee is not None}


def held_plainly(rows: Sequence[msgspec.Struct], alerts: Sequence[AlertRow]) -> int | None:
    """Each transfer in US dollars once; None when there is none."""
    amounts = {
        (row.program_id, row.id): row.amount_cents
        for row in rows
        if isinstance(row, TransferRow) and row.currency == "USD"
    }
    held = {(alert.program_id, alert.transfer_id) for alert in alerts if alert.status == "held"}
    cents = [amount for transfer, amount in amounts.items() if transfer in held]
    return sum(cents) if cents else None


def key_plainly(sort: StackSort, alerts: Sequence[AlertRow], held: int | None) -> int:
    """The order in the words of the interface; a stack without the value is the last."""
    dues = [alert.due_at for alert in alerts if alert.due_at is not None]
    scores = [alert.score_at_alert for alert in alerts if alert.score_at_alert is not None]
    match sort:
        case StackSort.WORST:
            return -max(alert.queue_rank for alert in alerts)
        case StackSort.DUE_AT:
            return min(dues) if dues else LAST
        case StackSort.SCORE:
            return -max(scores) if scores else LAST
        case StackSort.SIZE:
            return -len(alerts)
        case StackSort.HELD_CENTS:
            return LAST if held is None else -held


def listed_plainly(rows: Sequence[msgspec.Struct], wanted: StackFilter, principal: Principal) -> list[dict[str, Any]]:
    newest = {row.id: row for row in rows if isinstance(row, AlertRow)}
    counted: dict[str, list[AlertRow]] = {}
    for row in newest.values():
        is_counted = row.status in (WAITS if wanted.statuses is None else wanted.statuses)
        is_reached = row.tenant_id == principal.tenant_id and principal.reaches(row.program_id)
        if row.stack_id is not None and is_counted and is_reached:
            counted.setdefault(row.stack_id, []).append(row)

    assigned = assignees_plainly(rows)
    names = None if wanted.assignees is None else {name.casefold() for name in wanted.assignees}

    def matches(row: AlertRow) -> bool:
        overdue = row.status in WAITS and row.due_at is not None and row.due_at < wanted.now
        return (
            (wanted.kinds is None or row.stack_kind in wanted.kinds)
            and (wanted.program_ids is None or row.program_id in wanted.program_ids)
            and (wanted.severities is None or row.severity in wanted.severities)
            and (wanted.overdue is None or overdue is wanted.overdue)
            and (wanted.opened_from is None or row.opened_at >= wanted.opened_from)
            and (names is None or assigned.get(row.id, "none").casefold() in names)
        )

    found = [
        (key_plainly(wanted.sort, alerts, held_plainly(rows, alerts)), stack_id, alerts)
        for stack_id, alerts in counted.items()
        if any(map(matches, alerts))
    ]
    return [figures_plainly(rows, stack_id, alerts) for _, stack_id, alerts in sorted(found, key=lambda each: each[:2])]


def figures_plainly(rows: Sequence[msgspec.Struct], stack_id: str, alerts: Sequence[AlertRow]) -> dict[str, Any]:
    by_time = sorted(alerts, key=lambda alert: (-alert.opened_at, alert.id))
    worst = max(alerts, key=lambda alert: (alert.queue_rank, alert.id))
    return {
        "id": stack_id,
        "program_id": worst.program_id,
        "kind": worst.stack_kind,
        "key": worst.stack_key,
        "size": len(alerts),
        "waiting": sum(alert.status in WAITS for alert in alerts),
        "due_at": min((alert.due_at for alert in alerts if alert.due_at is not None), default=None),
        "score": max((alert.score_at_alert for alert in alerts if alert.score_at_alert is not None), default=None),
        "queue_rank": worst.queue_rank,
        "hard": any(alert.hard_signal for alert in alerts),
        "first_opened_at": by_time[-1].opened_at,
        "last_opened_at": by_time[0].opened_at,
        "held_cents": held_plainly(rows, alerts) or 0,
        "bands": sorted({alert.band_at_alert for alert in alerts if alert.band_at_alert is not None}),
        "severities": sorted({alert.severity for alert in alerts}),
        "detectors": sorted(alert.detector for alert in alerts),
        "statuses": sorted(alert.status for alert in alerts),
        "alert_ids": tuple(alert.id for alert in by_time),
        "assignees": sorted(assignees_plainly(rows).get(alert.id, "") for alert in alerts),
        "worst": (worst.id, worst.offset, worst.summary),
    }


def as_plain(figures: StackFigures) -> dict[str, Any]:
    shown = asdict(figures) | {name: sorted(getattr(figures, name)) for name in SETS}
    shown["worst"] = (figures.worst.id, figures.worst.offset, figures.worst.summary)
    del shown["place"]
    return shown


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_any_history_when_paged_then_the_stacks_are_those_of_a_plain_reading(
    database: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    database.execute("DELETE FROM alerts")
    database.execute("DELETE FROM transfers")
    database.execute("DELETE FROM alert_assignments")
    rows, wanted, limit = data.draw(histories()), data.draw(filters()), data.draw(st.integers(1, 4))
    principal = data.draw(st.sampled_from([OPERATOR, a_key(TENANT, "prg_1"), an_operator("tnt_2")]))
    stacks, done = stacks_of(database), 0
    for cut in sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3))):
        commit(database, rows[done:cut])
        done = cut
        assert [*map(as_plain, every(stacks, wanted, limit, principal))] == listed_plainly(
            rows[:cut], wanted, principal
        )
    commit(database, rows[done:])

    expected = listed_plainly(rows, wanted, principal)

    assert [*map(as_plain, every(stacks, wanted, limit, principal))] == expected
    assert [*map(as_plain, every(stacks_of(database), wanted, limit, principal))] == expected


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_a_list_then_a_stack_that_is_read_alone_has_the_same_figures(
    database: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    database.execute("DELETE FROM alerts")
    database.execute("DELETE FROM transfers")
    database.execute("DELETE FROM alert_assignments")
    commit(database, data.draw(histories()))
    stacks = stacks_of(database)

    for listed in every(stacks, StackFilter(sort=data.draw(st.sampled_from(StackSort))), 3):
        alone = stacks.read(OPERATOR, listed.id)

        assert alone is not None
        assert as_plain(alone) == as_plain(listed)


def test_given_more_amounts_than_are_kept_then_held_money_is_the_same(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_money, "MOST_KEPT", 1)
    stacks, wanted = stacks_of(database), StackFilter(sort=StackSort.HELD_CENTS)
    names = range(3)
    commit(database, [a_transfer(id=f"trf_{each}", amount_cents=each, offset=each) for each in names])
    held = {"status": "held", "stack_kind": "entity", "stack_key": "ent_1"}
    commit(
        database, [an_alert(id=str(each), transfer_id=f"trf_{each}", stack_id=f"stk_{each}", **held) for each in names]
    )

    assert [stack.held_cents for stack in every(stacks, wanted, 2)] == [2, 1, 0]
    commit(database, [a_transfer(id="trf_0", amount_cents=9, offset=9)])
    assert [stack.held_cents for stack in every(stacks, wanted, 9)] == [9, 2, 1]


def test_given_a_read_of_amounts_that_fails_when_read_again_then_no_held_money_is_missing(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = an_alert(id="alt_1", stack_id="stk_1", transfer_id="trf_1", status="held")
    alert = replace(alert, stack_kind="entity", stack_key="ent_1")
    commit(database, [alert, a_transfer(id="trf_1", program_id=alert.program_id, currency="USD", amount_cents=700)])
    stacks = stacks_of(database)

    def fails(*_: Any) -> Any:
        raise duckdb.OutOfMemoryException("There is no memory left.")

    with monkeypatch.context() as broken:
        broken.setattr(held_money.HeldMoney, "_read", fails)
        with pytest.raises(duckdb.OutOfMemoryException):
            stacks.page_of(OPERATOR, StackFilter(), None, 10)

    assert [stack.held_cents for stack in stacks.page_of(OPERATOR, StackFilter(), None, 10)] == [700]
