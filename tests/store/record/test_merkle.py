"""The incremental tree is the tree of RFC 6962, at every size, and its paths lead to its roots."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.store.record.signed_trees import EMPTY_ROOT, TILE_LEAVES, MerkleTree, root_of_path

LONGEST: Final = 3 * TILE_LEAVES + 5
HASHES: Final = [sha256(bytes([number % 256, number // 256])).digest() for number in range(LONGEST)]


def root_by_the_book(hashes: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not hashes:
        return sha256(b"").digest()
    if len(hashes) == 1:
        return sha256(b"\x00" + hashes[0]).digest()
    half = 1
    while half * 2 < len(hashes):
        half *= 2
    return sha256(b"\x01" + root_by_the_book(hashes[:half]) + root_by_the_book(hashes[half:])).digest()


def leaves_of(tile: int) -> list[bytes]:
    return HASHES[tile * TILE_LEAVES : (tile + 1) * TILE_LEAVES]


def tree_of(size: int) -> MerkleTree:
    tree = MerkleTree()
    tree.extend(HASHES[:size])
    return tree


def test_given_no_links_then_the_root_is_that_of_nothing() -> None:
    assert MerkleTree().root() == EMPTY_ROOT == root_by_the_book([])


def test_given_a_tree_grown_link_by_link_then_each_root_is_the_one_by_the_book() -> None:
    tree = MerkleTree()
    for size in range(1, 2 * TILE_LEAVES + 3):
        tree.extend(HASHES[size - 1 : size])
        assert (tree.size, tree.root()) == (size, root_by_the_book(HASHES[:size]))


@settings(deadline=None)
@given(st.data())
def test_given_a_grown_tree_when_asked_for_an_earlier_root_or_path_then_it_is_the_one_by_the_book(
    data: st.DataObject,
) -> None:
    grown = data.draw(st.integers(1, LONGEST))
    size = data.draw(st.integers(1, grown))
    index = data.draw(st.integers(0, size - 1))
    tree = tree_of(grown)

    root = root_by_the_book(HASHES[:size])
    path = tree.path(index, size, leaves_of)

    assert tree.root_at(size, leaves_of) == root
    assert root_of_path(HASHES[index], index, size, path) == root
    assert len(path) <= size.bit_length()


@pytest.mark.parametrize(("index", "size"), [(0, 2), (5, 8), (256, 257), (300, 700)])
def test_given_a_path_when_anything_about_it_is_wrong_then_it_does_not_lead_to_the_root(index: int, size: int) -> None:
    tree, root = tree_of(size), root_by_the_book(HASHES[:size])
    path = tree.path(index, size, leaves_of)

    assert root_of_path(HASHES[index], index, size, path) == root
    assert root_of_path(HASHES[index + 1], index, size, path) != root
    assert root_of_path(HASHES[index], index ^ 1, size, path) != root
    assert root_of_path(HASHES[index], index, size, path[:-1]) != root
    assert root_of_path(HASHES[index], index, size, [*path, HASHES[0]]) != root
    assert root_of_path(HASHES[index], index, size, [HASHES[0], *path[1:]]) != root
    assert root_of_path(HASHES[index], size, size, path) is None
