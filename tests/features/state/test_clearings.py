"""Which transfers are cleared, whatever alerts, decisions and labels came before; and how much is stored for that."""

from typing import Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.state.clearings import Clearings

_ROWS: Final = 4
_ALERTS: Final = 4
_DECODE: Final = msgspec.msgpack.decode


class Step(NamedTuple):
    alert: int
    rows: frozenset[int]
    waits: bool
    by_person: bool
    label: LabelValue | None


steps = st.lists(
    st.builds(
        Step,
        st.integers(0, _ALERTS - 1),
        st.frozensets(st.integers(0, _ROWS - 1)),
        st.booleans(),
        st.booleans(),
        st.none() | st.sampled_from(LabelValue),
    ),
    max_size=40,
)


class Known(NamedTuple):
    """An alert: its transfers, whether it waits, and whether a person closed it."""

    rows: set[int]
    waits: bool
    closed: bool


def settled(clearings: Clearings) -> Clearings:
    for row in clearings.take_changed():
        if clearings.is_cleared(row):
            assert clearings.restore(row) == row
        else:
            clearings.clear(row, row)
    return clearings


def loaded(clearings: Clearings) -> Clearings:
    copy = Clearings()
    for part in clearings.dump():
        copy.load(_DECODE(msgspec.msgpack.encode(part)))
    return copy


@given(of=steps, loads_at=st.integers(0, 40))
def test_given_any_alerts_decisions_and_labels_then_cleared_are_the_labelled_ok_and_the_closed_where_none_waits(
    of: list[Step], loads_at: int
) -> None:
    clearings, alerts, labels = Clearings(), dict[int, Known](), dict[int, LabelValue]()

    for place, step in enumerate(of):
        alert = alerts.setdefault(step.alert, Known(set(), waits=True, closed=False))
        for row in step.rows - alert.rows if not alert.closed else ():
            alert.rows.add(row)
            if alert.waits:
                clearings.wait(row)
        if step.label is not None:
            labels[step.alert] = step.label
            clearings.label(step.alert, step.label)
        elif not alert.closed:
            clearings.decide(sorted(alert.rows), waited=alert.waits, waits=step.waits, by_person=step.by_person)
            alerts[step.alert] = alert._replace(waits=step.waits, closed=step.by_person and not step.waits)
            if step.by_person and step.waits:
                labels = {r: each for r, each in labels.items() if each is LabelValue.BAD or r not in alert.rows}
        settled(clearings)
        if place == loads_at:
            clearings = loaded(clearings)

        for row in range(_ROWS):
            on_row = [each for each in alerts.values() if row in each.rows]
            by_alerts = any(each.closed for each in on_row) and not any(each.waits for each in on_row)
            label = labels.get(row)
            assert clearings.is_cleared(row) == (by_alerts if label is None else label is LabelValue.OK)


@pytest.mark.parametrize("transfers_of_an_alert", [1, 3, 50])
def test_given_alerts_that_persons_closed_then_two_bytes_a_transfer_are_stored(transfers_of_an_alert: int) -> None:
    clearings = Clearings()

    for first in range(0, 3_000, transfers_of_an_alert):
        rows = range(first, first + transfers_of_an_alert)
        for _ in range(2):  # alerts
            for row in rows:
                clearings.wait(row)
        for _ in range(2):
            clearings.decide(rows, waited=True, waits=False, by_person=True)
        settled(clearings)

    stored = dict(clearings.dump())
    assert all(clearings.is_cleared(row) for row in range(3_000))
    assert len(msgspec.msgpack.encode(stored)) <= 2 * 3_000 + 100


def test_given_an_alert_that_a_key_closed_when_a_person_closes_the_other_then_the_transfer_is_cleared() -> None:
    clearings = Clearings()
    clearings.wait(7)
    clearings.wait(7)

    clearings.decide([7], waited=True, waits=False, by_person=True)
    waiting = settled(clearings).is_cleared(7)
    clearings.decide([7], waited=True, waits=False, by_person=False)

    assert (waiting, settled(clearings).is_cleared(7)) == (False, True)


@pytest.mark.parametrize("shares", [0, 1, 100 << 7 | 100])
def test_given_a_cleared_transfer_then_the_shares_of_its_points_come_back(shares: int) -> None:
    clearings = Clearings()
    clearings.wait(3)
    clearings.clear(3, shares)

    assert loaded(clearings).restore(3) == shares
    assert not clearings.is_cleared(2)
