"""The index of ids against a dict."""

from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from features.windows import id_index
from features.windows.id_index import IdIndex, key_of


def filled(values: dict[int, int]) -> IdIndex:
    index = IdIndex()
    for key, value in values.items():
        index.put(key, value)
    return index


def test_given_more_keys_than_one_run_holds_when_they_are_looked_up_then_each_has_its_value() -> None:
    chance = Random(3)
    values = {key_of(f"evnt_{number}"): chance.randrange(2**32) for number in range(30_000)}
    index = filled(values)

    assert len(index) == len(values)
    assert all(index.get(key) == value for key, value in values.items())
    assert not [number for number in range(5_000) if index.get(key_of(f"other_{number}")) is not None]


def test_given_an_index_at_any_fill_when_it_is_dumped_and_loaded_then_it_goes_on_as_before() -> None:
    values = {key_of(f"evnt_{number}"): number for number in range(13_000)}
    keys = list(values)
    straight, resumed = IdIndex(), IdIndex()
    for number, key in enumerate(keys):
        straight.put(key, values[key])
        resumed.put(key, values[key])
        if number % 3_001 == 0:
            resumed, dumped = IdIndex(), resumed.dump()
            resumed.load(dumped)

    assert resumed.dump() == straight.dump()
    assert all(resumed.get(key) == value for key, value in values.items())


def test_given_runs_large_and_small_when_keys_are_put_again_then_the_newest_value_counts_and_a_dump_goes_on() -> None:
    chance = Random(5)
    pool = [chance.getrandbits(80) for _ in range(300)] + [(7 << 64) + number for number in range(100)]
    with patch.object(id_index, "_LARGE", 64), patch.object(id_index, "_SEAL_AT", 16):
        index, values = IdIndex(), dict[int, int]()
        for step in range(3_000):
            key, value = chance.choice(pool), chance.randrange(2**32)
            index.put(key, value)
            values[key] = value
            if step % 250 == 0:
                index, dumped = IdIndex(), index.dump()
                index.load(dumped)
                assert index.dump() == dumped
                assert {key: index.get(key) for key in pool} == {key: values.get(key) for key in pool}

        assert {run.shift == 0 for run in index._runs} == {True, False}
        assert all(index.get(key ^ 1) == values.get(key ^ 1) for key in pool)


@settings(max_examples=100, deadline=None)
@given(
    values=st.dictionaries(st.integers(0, 2**80 - 1), st.integers(0, 2**32 - 1), max_size=50),
    absent=st.integers(0, 2**80 - 1),
)
def test_given_any_keys_when_they_are_sealed_then_they_are_found_and_others_are_not(
    values: dict[int, int], absent: int
) -> None:
    index = filled(values)
    if values:
        index._seal()

    assert {key: index.get(key) for key in values} == values
    assert len(index) == len(values)
    assert index.get(absent) == values.get(absent)


def test_given_keys_that_share_their_upper_part_when_they_are_sealed_then_each_is_its_own() -> None:
    values = {(7 << 16) + low: low for low in range(500)}
    index = filled(values)
    index._seal()

    assert all(index.get(key) == value for key, value in values.items())
    assert index.get((7 << 16) + 500) is None


@given(texts=st.lists(st.text(st.characters(), max_size=20), unique=True, max_size=20))
def test_given_different_ids_when_their_keys_are_made_then_they_differ(texts: list[str]) -> None:
    keys = [key_of(text) for text in texts]

    assert len(set(keys)) == len(texts)
    assert all(0 <= key < 2**80 for key in keys)


@settings(max_examples=60, deadline=None)
@given(puts=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2**32 - 1), st.booleans()), max_size=200))
def test_given_keys_that_are_put_again_when_they_are_sealed_in_between_then_the_newest_value_counts(
    puts: list[tuple[int, int, bool]],
) -> None:
    index, values = IdIndex(), {}
    for number, value, is_sealed in puts:
        index.put(key_of(f"evnt_{number}"), value)
        values[number] = value
        if is_sealed:
            index._seal()

    assert {number: index.get(key_of(f"evnt_{number}")) for number in values} == values
