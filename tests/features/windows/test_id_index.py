"""The index of ids against a dict."""

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.windows import id_index
from clearhold.features.windows.acquaintances import _key_of
from clearhold.features.windows.id_index import KEY_BYTES, IdIndex, key_of

ANY_KEY = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
ANY_VALUE = st.integers(0, 2**32 - 1)


def filled(values: dict[bytes, int]) -> IdIndex:
    index = IdIndex()
    for key, value in values.items():
        index.put(key, value)
    return index


def test_given_more_keys_than_one_bucket_holds_when_they_are_looked_up_then_each_has_its_value() -> None:
    chance = Random(3)
    values = {key_of(f"evnt_{number}"): chance.randrange(2**32) for number in range(30_000)}
    index = filled(values)

    assert len(index) == len(values)
    assert all(index.get(key) == value for key, value in values.items())
    assert not [number for number in range(5_000) if index.get(key_of(f"other_{number}")) is not None]


def test_given_an_index_at_any_fill_when_it_is_dumped_and_loaded_then_it_goes_on_as_before() -> None:
    values = {key_of(f"evnt_{number}"): number for number in range(60_000)}
    straight, resumed = IdIndex(), IdIndex()
    for number, (key, value) in enumerate(values.items()):
        straight.put(key, value)
        resumed.put(key, value)
        if number % 3_001 == 0:
            resumed, dumped = IdIndex(), resumed.dump()
            resumed.load(dumped)
            assert len(resumed) == len(straight) == number + 1

    assert resumed.dump() == straight.dump()
    assert all(resumed.get(key) == value for key, value in values.items())


@pytest.mark.parametrize("key_bytes", [8, 10])
def test_given_buckets_whose_keys_share_two_bytes_when_keys_are_put_then_they_are_found_with_what_is_left(
    key_bytes: int,
) -> None:
    chance = Random(7)
    values = {chance.randbytes(key_bytes): chance.randrange(2**32) for _ in range(70_000)}
    absent = [chance.randbytes(key_bytes) for _ in range(2_000)]
    with patch.object(id_index, "_KEYS_PER_BUCKET", 1):
        index = IdIndex(key_bytes)
        for key, value in values.items():
            index.put(key, value)
        resumed = IdIndex(key_bytes)
        resumed.load(index.dump())

        for each in (index, resumed):
            assert len(each) == len(values)
            assert all(each.get(key) == value for key, value in values.items())
            assert not [key for key in absent if each.get(key) is not None]


def test_given_keys_that_are_put_again_when_many_lie_between_then_the_newest_value_counts_and_none_is_kept_twice() -> (
    None
):
    chance = Random(5)
    pool = [chance.randbytes(KEY_BYTES) for _ in range(600)]
    index, values = IdIndex(), dict[bytes, int]()
    for step in range(6_000):
        key, value = chance.choice(pool), chance.randrange(2**32)
        index.put(key, value)
        values[key] = value
        if step % 500 == 0:
            index, dumped = IdIndex(), index.dump()
            index.load(dumped)
            assert index.dump() == dumped
            assert {key: index.get(key) for key in pool} == {key: values.get(key) for key in pool}

    assert len(index) == len(values)
    assert sum(map(len, index.dump())) <= (KEY_BYTES + 4) * len(values)


@settings(max_examples=100, deadline=None)
@given(values=st.dictionaries(ANY_KEY, ANY_VALUE, max_size=150), absent=ANY_KEY)
def test_given_any_keys_when_they_are_put_then_they_are_found_and_others_are_not(
    values: dict[bytes, int], absent: bytes
) -> None:
    index = filled(values)

    assert {key: index.get(key) for key in values} == values
    assert len(index) == len(values)
    assert index.get(absent) == values.get(absent)


@settings(max_examples=200, deadline=None)
@given(
    first=st.dictionaries(ANY_KEY, ANY_VALUE, min_size=2, max_size=20),
    places=st.lists(st.integers(0, 2**16), min_size=1, max_size=20),
)
def test_given_bytes_that_lie_across_two_keys_when_they_are_a_key_then_they_are_not_found_until_they_are_put(
    first: dict[bytes, int], places: list[int]
) -> None:
    index, values = filled(first), dict(first)
    for place in places:
        (bucket,) = index.dump()
        at = place % (len(bucket) - KEY_BYTES)
        across = bucket[at : at + KEY_BYTES]
        assert index.get(across) == values.get(across)
        index.put(across, place)
        values[across] = place

    assert {key: index.get(key) for key in values} == values


def test_given_any_fill_when_a_key_is_put_then_no_bucket_changes_but_its_own_and_the_one_that_is_split() -> None:
    index, before = IdIndex(), list[bytes]()
    for number in range(6_000):
        index.put(key_of(f"evnt_{number}"), number)
        after = index.dump()
        changed = [place for place, bucket in enumerate(before) if bucket is not after[place]]
        assert len(changed) <= 2
        assert len(after) - len(before) <= 1
        before = after

    assert len(before) > 40


def test_given_keys_that_share_all_bits_that_tell_buckets_when_they_are_put_then_each_is_its_own() -> None:
    values = {b"\x07\x00\x00\x00" + low.to_bytes(5, "big"): low for low in range(500)}
    index = filled(values)

    assert all(index.get(key) == value for key, value in values.items())
    assert index.get(b"\x07\x00\x00\x00" + (500).to_bytes(5, "big")) is None


@pytest.mark.parametrize(
    ("payer_step", "payee_step"), [(0, 1), (1, 0), (1, 1), (1, -1), (2, 4), (0, 2**16), (64, 1), (1, 3)]
)
def test_given_pairs_of_a_hub_or_in_step_when_their_keys_are_put_then_no_bucket_is_much_fuller_than_others(
    payer_step: int, payee_step: int
) -> None:
    index, pairs = IdIndex(8), 20_000
    for number in range(pairs):
        index.put(_key_of(number * payer_step << 32 | (number * payee_step) % 2**31), number)

    sizes = [len(bucket) for bucket in index.dump()]
    assert len(index) == pairs
    assert max(sizes) < 4 * sum(sizes) / len(sizes)


@given(texts=st.lists(st.text(st.characters(), max_size=20), unique=True, max_size=20))
def test_given_different_ids_when_their_keys_are_made_then_they_differ(texts: list[str]) -> None:
    keys = [key_of(text) for text in texts]

    assert len(set(keys)) == len(texts)
    assert all(len(key) == KEY_BYTES for key in keys)
