"""Texts that are packed in blocks come out as they went in, before and after a dump; windows find their alerts."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core import canonical
from clearhold.features.state import alert_storage, transfer_table
from clearhold.features.state.alert_storage import PackedBlocks
from clearhold.features.windows import narrow_table


@given(texts=st.lists(st.binary(max_size=60), max_size=60), cut=st.integers(0, 60))
def test_given_texts_when_blocks_are_dumped_halfway_then_each_comes_out_as_it_went_in(
    texts: list[bytes], cut: int
) -> None:
    straight, resumed = PackedBlocks(), PackedBlocks()
    numbers = [straight.add(text) for text in texts]
    for text in texts[:cut]:
        resumed.add(text)
    half, resumed = resumed, PackedBlocks()
    for part in half.dump():
        resumed.load(part)
    for text in texts[cut:]:
        resumed.add(text)

    assert numbers == list(range(len(texts)))
    assert [straight.get(number) for number in numbers] == texts
    assert [resumed.get(number) for number in numbers] == texts
    assert list(resumed.dump()) == list(straight.dump())


def test_given_texts_that_resemble_each_other_then_a_block_takes_less_than_each_alone() -> None:
    blocks = PackedBlocks()
    texts = [b"Closed by the policy as 5 transfers in 24 h are ordinary; alert %d." % number for number in range(64)]
    for text in texts:
        blocks.add(text)

    dumped = [len(block) for part, each in blocks.dump() if part == "blocks" for block in each]

    assert sum(dumped) * 4 < sum(map(len, texts))


@pytest.mark.parametrize("module", [alert_storage, canonical, narrow_table, transfer_table])
def test_given_the_examples_of_a_module_when_they_run_then_they_print_what_they_show(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]

    assert result.attempted
    assert result.failed == 0
