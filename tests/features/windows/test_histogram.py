"""The histogram of amounts against the sorted list of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.money import MAX_CENTS
from clearhold.features.windows.baseline import Histogram, bucket_of, middle_of, rank_of

AMOUNTS = st.one_of(st.integers(0, 600), st.integers(0, 10**9), st.integers(0, MAX_CENTS))


@settings(max_examples=500, deadline=None)
@given(cents=AMOUNTS)
def test_given_an_amount_when_it_is_bucketed_then_the_middle_is_within_half_a_percent(cents: int) -> None:
    assert abs(middle_of(bucket_of(cents)) - cents) * 200 <= cents


@settings(max_examples=300, deadline=None)
@given(pair=st.tuples(AMOUNTS, AMOUNTS))
def test_given_two_amounts_when_they_are_bucketed_then_their_order_is_kept(pair: tuple[int, int]) -> None:
    smaller, larger = sorted(pair)

    assert bucket_of(smaller) <= bucket_of(larger)


def test_given_every_edge_between_buckets_when_they_are_numbered_then_none_is_left_out() -> None:
    edges = [2**power + step for power in range(60) for step in (-1, 0, 1)]
    buckets = [bucket_of(cents) for cents in sorted(edges) if 0 <= cents <= MAX_CENTS]

    assert buckets == sorted(buckets)
    assert buckets[-1] < 8_192
    assert all(bucket_of(middle_of(bucket)) == bucket for bucket in range(bucket_of(MAX_CENTS) + 1))


@settings(max_examples=200, deadline=None)
@given(kept=st.lists(AMOUNTS, min_size=1, max_size=60), gone=st.lists(AMOUNTS, max_size=30), data=st.data())
def test_given_amounts_in_and_out_when_a_rank_is_read_then_it_is_the_sorted_lists(
    kept: list[int], gone: list[int], data: st.DataObject
) -> None:
    histogram = Histogram()
    for cents in data.draw(st.permutations(kept + gone)):
        histogram.add(bucket_of(cents))
    for cents in gone:
        histogram.add(bucket_of(cents), -1)

    assert histogram.n == len(kept)
    assert histogram.buckets_at(tuple(range(1, len(kept) + 1))) == sorted(bucket_of(c) for c in kept)


@settings(max_examples=100, deadline=None)
@given(counts=st.dictionaries(st.integers(0, 6_900), st.integers(1, 50), min_size=1, max_size=10))
def test_given_many_at_once_when_they_are_added_then_it_is_as_one_by_one(counts: dict[int, int]) -> None:
    together, apart = Histogram(), Histogram()
    for bucket, count in counts.items():
        together.add(bucket, count)
        for _ in range(count):
            apart.add(bucket)

    assert together.n == apart.n == sum(counts.values())
    ranks = tuple(range(1, together.n + 1))
    assert together.buckets_at(ranks) == apart.buckets_at(ranks)


@given(percent=st.integers(1, 100), n=st.integers(1, 10_000))
def test_given_a_quantile_when_its_rank_is_taken_then_it_is_the_smallest_that_covers_it(percent: int, n: int) -> None:
    rank = rank_of(percent, n)

    assert 1 <= rank <= n
    assert rank * 100 >= percent * n
    assert rank == 1 or (rank - 1) * 100 < percent * n
