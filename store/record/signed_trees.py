"""The Merkle tree of RFC 6962 over the hashes of a chain, grown link by link, and checkpoints over it as signed notes.

The tree keeps the roots of all full tiles of ``TILE_LEAVES`` leaves and the leaves after the last of them: a root costs
a hash for each tile, not for each leaf, and the leaves of one tile suffice for every earlier root and every path.

Form    of a note: ``origin``, ``size``, base64 root; a blank line; ``— origin base64(key id || signature)``. The key id
        is sha256(origin || 0x0A || 0x01 || public key)[:4]
Source  RFC 6962, section 2.1: leaf sha256(0x00 || data), node sha256(0x01 || left || right); data is a link's raw hash.
        C2SP signed-note and tlog-checkpoint
Errors  ``NoteError`` for an invalid checkpoint, or one without a signature by the keys; its sentence says which
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

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


MAX_NOTE_BYTES: Final = 64 * 1024
_DASH: Final = "\N{EM DASH}"
_ED25519: Final = b"\n\x01"
_KEY_ID_BYTES: Final = 4
_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,17})", re.ASCII)
_BODY_LINES: Final = 3
_SIGNATURE_WORDS: Final = 3


class NoteError(Exception):
    """A note that proves nothing."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The root over the first ``size`` links of the chain ``origin``."""

    origin: str
    size: int
    root: bytes

    @property
    def chain(self) -> str:
        return self.origin.rpartition("/")[2]

    @property
    def text(self) -> str:
        """The signed text: origin, size and root of the tree, a line each."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def signed_note(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """The note; deterministic for one checkpoint and key."""
    public = key.public_key().public_bytes_raw()
    signature = _key_id(checkpoint.origin, public) + key.sign(checkpoint.text.encode())
    return f"{checkpoint.text}\n{_DASH} {checkpoint.origin} {base64.b64encode(signature).decode()}\n"


def opened_note(text: str, public_keys: Iterable[bytes]) -> Checkpoint:
    """The note's checkpoint, after a valid signature by one of the keys; other signatures do not matter."""
    body, blank, signatures = text.partition("\n\n")
    if not blank or len(text.encode()) > MAX_NOTE_BYTES:
        raise NoteError("This is no checkpoint.")
    checkpoint = _checkpoint(body)
    trusted = list(public_keys)
    for name, signature in _signatures(signatures):
        for public in trusted:
            if name == checkpoint.origin and signature[:_KEY_ID_BYTES] == _key_id(name, public):
                _verify(public, signature[_KEY_ID_BYTES:], f"{body}\n".encode())
                return checkpoint
    raise NoteError("No signature of this checkpoint is by a known key.")


def _checkpoint(body: str) -> Checkpoint:
    lines = body.split("\n")
    if len(lines) < _BODY_LINES or not lines[0] or not _SIZE.fullmatch(lines[1]):
        raise NoteError("This is no checkpoint.")
    root = _decoded(lines[2])
    if len(root) != sha256().digest_size:
        raise NoteError("This checkpoint has no root.")
    return Checkpoint(origin=lines[0], size=int(lines[1]), root=root)


def _signatures(text: str) -> Iterator[tuple[str, bytes]]:
    for line in text.strip("\n").split("\n"):
        words = line.split(" ")
        if len(words) == _SIGNATURE_WORDS and words[0] == _DASH:
            yield words[1], _decoded(words[2])


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("This checkpoint is not in base64 where it should be.") from error


def _verify(public: bytes, signature: bytes, signed: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, signed)
    except InvalidSignature as error:
        raise NoteError("The signature of this checkpoint does not hold.") from error


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + _ED25519 + public).digest()[:_KEY_ID_BYTES]
