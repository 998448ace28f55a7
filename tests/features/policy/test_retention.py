"""How long tables are kept when banks share a lake, and what no policy may go below."""

import pytest

from clearhold.features.policy.bodies import RetentionBody, TableDays
from clearhold.features.policy.seeds import FIVE_YEARS_DAYS, FLOORS, longest_of


def a_policy(**days: int | None) -> RetentionBody:
    return RetentionBody(tables=tuple(TableDays(table=table, days=number) for table, number in days.items()))


@pytest.mark.parametrize(
    ("policies", "days"),
    [
        ((), {}),
        ((a_policy(events=90, dispositions=None),), {"events": 90}),
        ((a_policy(events=90), a_policy(events=120)), {"events": 120}),
        ((a_policy(events=90, kri_snapshots=95), a_policy(events=None, kri_snapshots=91)), {"kri_snapshots": 95}),
        ((a_policy(events=90), a_policy()), {}),
        ((a_policy(), a_policy(events=90)), {}),
    ],
)
def test_given_banks_that_share_a_lake_then_no_banks_rows_end_before_its_own_policy_says(
    policies: tuple[RetentionBody, ...], days: dict[str, int]
) -> None:
    assert longest_of(policies) == days


def test_given_five_years_wherever_they_begin_then_the_floor_of_records_covers_all_their_days() -> None:
    assert FIVE_YEARS_DAYS == 5 * 365 + 2
    assert FLOORS["dispositions"].days == FLOORS["transfer_versions"].days == FIVE_YEARS_DAYS
    assert {floor.days for floor in FLOORS.values()} == {None, 90, FIVE_YEARS_DAYS}
