"""Texts that resemble each other are packed against the first of their kind, and come out as they went in."""

from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.state.alert_storage import TextPacker


@given(st.lists(st.tuples(st.sampled_from(("velocity", "fan_in")), st.binary(max_size=200))))
def test_given_texts_of_any_kind_when_they_are_packed_and_loaded_then_they_come_out_as_they_were(
    texts: list[tuple[str, bytes]],
) -> None:
    packer, loaded = TextPacker(), TextPacker()
    packed = [packer.pack(kind, text) for kind, text in texts]
    loaded.load(packer.dump())

    assert [loaded.unpack(each) for each in packed] == [text for _, text in texts]
    assert [loaded.pack(kind, text) for kind, text in texts] == packed


def test_given_a_sample_when_another_text_is_like_it_then_it_packs_small() -> None:
    sentences = [f"{number} transfers of {number * 37} USD went to one counterparty." for number in range(1, 40)]
    packer = TextPacker()
    packer.pack("velocity", " ".join(sentences).encode())

    packed = packer.pack("velocity", " ".join(sentences[::-1]).encode())

    assert len(packed) * 5 < len(" ".join(sentences))
