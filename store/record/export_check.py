"""Checks an export of the record offline: with nothing but its lines, the published keys and stored checkpoints.

Every line must be in canonical form; each link must follow its chain's last; cited lines must be there, unchanged, and
no others; and each checkpoint's root must be the one over as many links. Memory stays at a digest for each cited line
and a hash for each tile of links.

Errors  ``BrokenExportError``, whose sentence names the fault; ``ValueError`` for invalid keys
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from clearhold.features.core.canonical import KIND_OF_CHAIN, Chain, LineKind, digest_of, link_hash, record_line
from clearhold.store.record.signed_trees import TILE_LEAVES, Checkpoint, MerkleTree

_KEY_BYTES: Final = 32


class BrokenExportError(Exception):
    """An export differs from the record, or from the file that was written."""


class ChainFound(msgspec.Struct, frozen=True, kw_only=True):
    """A valid chain: its number of links, and how many the longest checkpoint covers, None without one."""

    chain: str
    links: int
    signed: int | None


class _Line(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    body: msgspec.Raw
    chain: Chain | None
    hash: str | None
    kind: LineKind
    prev_hash: str | None
    seq: int | None


class _Change(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of an action's change that binds the policy which comes into force."""

    body_sha256: str | None = None


class _Cites(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a link's body that binds other lines."""

    alert_sha256: str | None = None
    policy_sha256: str | None = None
    body_sha256: str | None = None
    change: _Change | None = None


class _Jwk(msgspec.Struct, frozen=True):
    kty: str
    crv: str
    x: str


class _Jwks(msgspec.Struct, frozen=True):
    keys: tuple[_Jwk, ...]


_LINE: Final = msgspec.json.Decoder(_Line)
_CITES: Final = msgspec.json.Decoder(_Cites)


class _ChainOfExport:
    """A chain up to the last line read."""

    def __init__(self, sizes: Iterable[int], first: int) -> None:
        self.first = self.size = first
        self.head: str | None = None
        self.tree = MerkleTree()
        self._wanted = sorted(set(sizes))
        self._waiting: list[bytes] = []
        self.roots: dict[int, bytes] = {}
        self._note_root()

    def grow(self, hash_: str) -> None:
        self.head = hash_
        self.size += 1
        if self._wanted:
            self._waiting.append(bytes.fromhex(hash_))
            if self.size == self._wanted[0] or len(self._waiting) == TILE_LEAVES:
                self.tree.extend(self._waiting)
                self._waiting.clear()
                self._note_root()

    def _note_root(self) -> None:
        if self._wanted and self.tree.size == self._wanted[0]:
            self.roots[self._wanted.pop(0)] = self.tree.root()


class ExportCheck:
    """Give it the lines in order, then ``finish``.

    ``is_range`` is for an export of a range of time: links may begin anywhere, and missing ones before, after or beside
    them are not detected.
    """

    def __init__(self, checkpoints: Sequence[Checkpoint], *, is_range: bool = False) -> None:
        self._checkpoints, self._is_range = checkpoints, is_range
        self._chains: dict[str, _ChainOfExport] = {}
        self._there: set[str] = set()
        self._cited: set[str] = set()
        self._lines = 0

    def take(self, raw: bytes) -> None:
        """One line, with its end."""
        self._lines += 1
        line = self._read(raw)
        body = bytes(line.body)
        if line.chain is not None:
            self._link(line, line.chain, body)
        elif line.kind not in {LineKind.POLICY, LineKind.ALERT}:
            raise self._broken(f"is of kind {line.kind} and in no chain")
        else:
            self._there.add(digest_of(body))

    def finish(self) -> list[ChainFound]:
        """The valid chains, after the last line."""
        if not self._is_range:
            self._hold_against_checkpoints()
        missing, strays = len(self._cited - self._there), len(self._there - self._cited)
        if missing:
            raise BrokenExportError(f"{missing} cited alert or policy bodies are missing or altered.")
        if strays:
            raise BrokenExportError(f"{strays} alert or policy lines are cited by no link.")
        return [
            ChainFound(chain=name, links=chain.size - chain.first, signed=max(chain.roots, default=None))
            for name, chain in self._chains.items()
        ]

    def _read(self, raw: bytes) -> _Line:
        try:
            line = _LINE.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._broken("is no line of a record") from error
        link = None
        if line.chain is not None:
            if line.seq is None or line.hash is None:
                raise self._broken("has no seq or hash")
            link = (line.chain.value, line.seq, line.prev_hash, line.hash)
        if record_line(line.kind, bytes(line.body), link) + b"\n" != raw:
            raise self._broken("is not in canonical form")
        return line

    def _link(self, line: _Line, name: Chain, body: bytes) -> None:
        chain = self._chain(name, line)
        if line.seq != chain.size or (line.prev_hash != chain.head and chain.size > chain.first):
            raise self._broken(f"{name} breaks at seq {line.seq}")
        if line.kind is not KIND_OF_CHAIN[name] or line.hash != link_hash(line.prev_hash, body):
            raise self._broken(f"{name} breaks at seq {line.seq}")
        chain.grow(line.hash or "")
        try:
            cites = _CITES.decode(body)
        except msgspec.MsgspecError as error:
            raise self._broken("cites something that is no digest") from error
        changed = None if cites.change is None else cites.change.body_sha256
        cited = (cites.alert_sha256, cites.policy_sha256, cites.body_sha256, changed)
        self._cited.update(digest for digest in cited if digest)

    def _chain(self, name: Chain, line: _Line) -> _ChainOfExport:
        if name not in self._chains:
            sizes = () if self._is_range else (each.size for each in self._checkpoints if each.chain == name)
            first = line.seq or 0 if self._is_range else 0
            if first == 0 and line.prev_hash is not None:
                raise self._broken(f"{name} breaks at seq {line.seq}")
            self._chains[name] = _ChainOfExport(sizes, first)
        return self._chains[name]

    def _hold_against_checkpoints(self) -> None:
        unsigned = self._chains.keys() - {each.chain for each in self._checkpoints}
        if unsigned:
            raise BrokenExportError(f"{min(unsigned)} has no checkpoint, so that a cut end cannot be ruled out.")
        for each in self._checkpoints:
            chain = self._chains.get(each.chain) or _ChainOfExport([each.size], 0)
            if chain.size < each.size:
                raise BrokenExportError(
                    f"{each.origin} is cut: {chain.size} links are here, a checkpoint is over {each.size}."
                )
            if chain.roots[each.size] != each.root:
                raise BrokenExportError(f"{each.origin} is not what the checkpoint over {each.size} links says.")

    def _broken(self, what: str) -> BrokenExportError:
        return BrokenExportError(f"Line {self._lines}: {what}.")


def public_keys_of(jwks: bytes) -> list[bytes]:
    """The Ed25519 keys of a JWKS."""
    try:
        keys = msgspec.json.decode(jwks, type=_Jwks).keys
        raw = [base64.urlsafe_b64decode(key.x + "==") for key in keys if (key.kty, key.crv) == ("OKP", "Ed25519")]
    except (msgspec.MsgspecError, UnicodeDecodeError, binascii.Error) as error:
        raise ValueError(f"This is no JWKS: {error}.") from error
    if not raw or any(len(key) != _KEY_BYTES for key in raw):
        raise ValueError("This JWKS has no Ed25519 key.")
    return raw
