"""Rows in memory: each is read once while it stays, and the longest unused ones go."""

from clearhold.store.duck.row_cache import RowCache


def test_given_rows_in_memory_when_read_then_only_the_others_are_looked_up_in_the_order_of_the_keys() -> None:
    lookups: list[list[int]] = []

    def read(keys: list[int]) -> dict[int, str]:
        lookups.append(keys)
        return {key: f"row {key}" for key in keys}

    rows = RowCache[int, str](3)

    assert rows.read([2, 1], read) == ["row 2", "row 1"]
    assert rows.read([1, 3, 1], read) == ["row 1", "row 3", "row 1"]
    assert rows.read([4], read) == ["row 4"]
    assert rows.read([1, 3, 4], read) == ["row 1", "row 3", "row 4"]
    assert rows.read([2], read) == ["row 2"]
    assert lookups == [[2, 1], [3], [4], [2]]


def test_given_more_keys_than_fit_when_read_then_all_are_answered() -> None:
    rows = RowCache[int, int](2)

    assert rows.read([1, 2, 3], lambda keys: {key: -key for key in keys}) == [-1, -2, -3]
