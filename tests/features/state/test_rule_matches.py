"""The memory of matches: each transfer once for a text and a mode, in any order, and the same after a dump."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.rules import RuleMode
from clearhold.features.state.closing_evidence import RuleMatches

MATCHES = st.tuples(st.sampled_from((RuleMode.LOG, RuleMode.SHADOW)), st.sampled_from(("aa", "bb")), st.integers(0, 40))


def reloaded(memory: RuleMatches) -> RuleMatches:
    loaded = RuleMatches()
    for part in memory.dump():
        loaded.load(msgspec.msgpack.decode(msgspec.msgpack.encode(part)))
    return loaded


@given(st.lists(MATCHES), st.integers(0, 20))
def test_given_matches_in_any_order_then_each_is_new_once_also_over_a_dump(
    matches: list[tuple[RuleMode, str, int]], dumped_after: int
) -> None:
    memory, never_dumped = RuleMatches(), RuleMatches()

    for place, match in enumerate(matches):
        if place == dumped_after:
            memory = reloaded(memory)
        is_new = match not in matches[:place]
        assert memory.add(*match) == never_dumped.add(*match) == is_new

    assert list(memory.dump()) == list(never_dumped.dump())


def test_given_more_matches_than_a_part_of_a_dump_holds_then_all_come_back() -> None:
    memory = RuleMatches()
    for row in range(40_000):
        memory.add(RuleMode.SHADOW, "aa", row)

    loaded = reloaded(memory)

    assert len(list(memory.dump())) == 3
    assert not any(loaded.add(RuleMode.SHADOW, "aa", row) for row in (0, 16_384, 39_999))
    assert loaded.add(RuleMode.SHADOW, "aa", 40_000)


def test_given_rules_that_are_no_longer_in_force_then_what_they_matched_is_forgotten_in_that_mode_alone() -> None:
    memory = RuleMatches()
    for mode in (RuleMode.LOG, RuleMode.SHADOW):
        for sha256 in ("aa", "bb"):
            for row in (7, 3):
                memory.add(mode, sha256, row)

    memory.keep(RuleMode.SHADOW, ["bb"])

    again = [memory.add(mode, sha256, 3) for mode in (RuleMode.LOG, RuleMode.SHADOW) for sha256 in ("aa", "bb")]
    assert again == [False, False, True, False]
    memory.keep(RuleMode.SHADOW, [])
    memory.keep(RuleMode.LOG, [])
    assert list(memory.dump()) == list(RuleMatches().dump())
