"""The Merkle tree of RFC 6962 over the hashes of a chain, grown link by link.

It keeps the roots of all full tiles of ``TILE_LEAVES`` leaves and the leaves after the last of them: a root costs a
hash for each tile, not for each leaf, and the leaves of one tile suffice for every earlier root and every path.

Source  RFC 6962, section 2.1: leaf sha256(0x00 || data), node sha256(0x01 || left || right); data is a link's raw hash
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final

TILE_LEAVES: Final = 256
EMPTY_ROOT: Final = sha256(b"").digest()

Leaves = Callable[[int], Sequence[bytes]]
"""The raw hashes of the links in a full tile, by the tile's number."""


class MerkleTree:
    def __init__(self) -> None:
        self._tiles: list[bytes] = []
        self._tail: list[bytes] = []

    @property
    def size(self) -> int:
        return len(self._tiles) * TILE_LEAVES + len(self._tail)

    def extend(self, hashes: Iterable[bytes]) -> None:
        """Add links by their raw hashes, in order."""
        tail = self._tail
        for each in hashes:
            tail.append(sha256(b"\0" + each).digest())
            if len(tail) == TILE_LEAVES:
                self._tiles.append(_root(tail))
                tail.clear()

    def root(self) -> bytes:
        """The root over all links so far."""
        return _root([*self._tiles, *_partial(self._tail)])

    def root_at(self, size: int, leaves: Leaves) -> bytes:
        """The root over the first ``size`` links."""
        if size == self.size:
            return self.root()
        tile, rest = divmod(size, TILE_LEAVES)
        return _root([*self._tiles[:tile], *_partial(self._leaves(tile, leaves)[:rest])])

    def path(self, index: int, size: int, leaves: Leaves) -> list[bytes]:
        """The proof that link ``index`` is in the tree over the first ``size`` links, from the leaf up."""
        last, rest = divmod(size, TILE_LEAVES)
        tile, place = divmod(index, TILE_LEAVES)
        nodes = [*self._tiles[:last], *_partial(self._leaves(last, leaves)[:rest])]
        within = self._leaves(tile, leaves)[: rest if tile == last else TILE_LEAVES]
        return [*_path(within, place), *_path(nodes, tile)]

    def _leaves(self, tile: int, leaves: Leaves) -> list[bytes]:
        if tile == len(self._tiles):
            return self._tail
        return [sha256(b"\0" + each).digest() for each in leaves(tile)]


def root_of_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root of a path; None when the path does not fit the place (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size:
        return None
    node, at, last = sha256(b"\0" + leaf).digest(), index, size - 1
    for sibling in path:
        if last == 0:
            return None
        if at & 1 or at == last:
            node = _node(sibling, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = _node(node, sibling)
        at, last = at >> 1, last >> 1
    return node if last == 0 else None


def _partial(tail: Sequence[bytes]) -> list[bytes]:
    return [_root(tail)] if tail else []


def _root(nodes: Sequence[bytes]) -> bytes:
    """A tile is full or the last one, so the tree over tiles splits where the tree over leaves does."""
    if not nodes:
        return EMPTY_ROOT
    row = list(nodes)
    while len(row) > 1:
        odd = row[-1:] if len(row) & 1 else []
        row = [sha256(b"\1" + row[at] + row[at + 1]).digest() for at in range(0, len(row) - 1, 2)] + odd
    return row[0]


def _path(nodes: Sequence[bytes], index: int) -> list[bytes]:
    path: list[bytes] = []
    while len(nodes) > 1:
        half = 1 << (len(nodes) - 1).bit_length() - 1
        if index < half:
            path.append(_root(nodes[half:]))
            nodes = nodes[:half]
        else:
            path.append(_root(nodes[:half]))
            nodes, index = nodes[half:], index - half
    return path[::-1]


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()
