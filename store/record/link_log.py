"""The log of links: where the owner of a log states the place of each link before it commits it, for all nodes alike.

owner     fact ─▶ place after the end of its chain ─▶ stream, confirmed by the replicas ─▶ DuckDB ─▶ file ─▶ answered
follower  fact ─▶ waits until its place has come ─▶ DuckDB ─▶ file

Every node gives a fact the same place and so the same hash; a node that computes a different hash ends. An append names
the last entry that its node has read, and is refused when there are later ones. So an append whose answer was lost is
read, and not repeated, and a node that has just become the owner first reads all that the former one has stated.

The owner also tells all nodes of each checkpoint that it signs, so that the next owner signs nothing that contradicts
it.

Errors  ``LinkError`` for a contradiction, which ends the process; ``LinksAwaitedError`` when the node is stopped while
        it waits; the stream's own errors while Redis does not answer, or its replicas do not
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event, RLock
from typing import Final, Protocol

import msgspec
import structlog

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.record.chain import ChainKey, FactKey, Head, fact_key
from clearhold.store.record.chain_file import RecordChainRow, RecordCheckpointRow
from clearhold.store.record.places import FactPlace, LinkError, LinkGapError, LinkPlaces, PlacedLink, placed, row_at

LINKS_AN_ENTRY: Final = 500
READ_ENTRIES: Final = 200
WAIT_S: Final = 0.5
BEGUN_WITHIN_S: Final = 30.0
"""How long a follower waits for an owner that has just started to begin the log of links."""

_ENTRY: Final = msgspec.json.Decoder(list[PlacedLink] | RecordCheckpointRow)
_ENCODER: Final = msgspec.json.Encoder()

log = structlog.get_logger()


class LinksAwaitedError(Exception):
    """The node was stopped while it waited for the place of a fact; the fact is committed after its next start."""


class LinkStream(Protocol):
    """The entries in Redis. What it returns is confirmed by the replicas."""

    def base(self) -> tuple[int, dict[str, str]] | None:
        """The number behind which the stream begins, and the ends of the chains there; None before it was begun."""

    def read(self, after: int, count: int) -> list[tuple[int, bytes]]:
        """The next entries, by number; none at the end."""

    def wait(self, after: int, within_s: float) -> None:
        """Return when there is an entry after this one, or the time is over."""

    def append(self, after: int | None, entries: Sequence[bytes]) -> bool:
        """Append for the owner alone; False, and nothing is appended, unless ``after`` is the last entry or None."""

    def trim(self, upto: int, heads: Mapping[str, str]) -> None:
        """Drop the entries up to a number, and keep the ends of the chains behind them; for the owner alone."""


class LinkLog:
    """For any thread, but for ``rows_of``, ``append`` and ``settle``, which are of the one that commits; ``open`` comes
    first.
    """

    def __init__(self, stream: LinkStream, *, is_owner: Callable[[], bool] = lambda: True) -> None:
        """``is_owner`` says whether this node may state places; the stream refuses them of any other."""
        self._stream, self._is_owner = stream, is_owner
        self._leaving, self._lock = Event(), RLock()
        self._places = LinkPlaces({}, 0)
        self.base: dict[ChainKey, Head] = {}
        """The ends of the chains before the first entry that was read."""
        self.checkpoints: dict[int, RecordCheckpointRow] = {}
        """Signed checkpoints that this node has read and not kept yet, by the numbers of their entries."""

    @property
    def is_owner(self) -> bool:
        return self._is_owner()

    @property
    def heads(self) -> Mapping[ChainKey, Head]:
        """The end of each chain, as far as the log of links was read."""
        return self._places.heads

    def open(self, heads: Mapping[ChainKey, Head]) -> None:
        """Read the whole stream. Its first owner begins it behind ``heads``, the ends of the node's chains."""
        with self._lock:
            self._open(heads)

    def waiting(self) -> Iterator[tuple[FactKey, FactPlace]]:
        """The places of facts that are not committed here."""
        return self._places.waiting()

    def rows_of(self, facts: Sequence[ChainFactRow]) -> list[RecordChainRow]:
        """The facts as links at their places. On return each place is in the stream, and the replicas have it."""
        while True:
            with self._lock:
                lacking = [fact for fact in facts if self._places.place_of(fact) is None]
                if not lacking:
                    return [self._row_of(fact) for fact in facts]
                if self._is_owner():
                    if not self._append([placed(row) for row in self._places.after_end(lacking)]):
                        self._read_to_end()
                    continue
                if self._read_page():
                    continue
            if self._leaving.is_set():
                raise LinksAwaitedError(f"The place of the fact {lacking[0].id} was awaited.")
            self._stream.wait(self._places.number, WAIT_S)

    def read_new(self) -> None:
        """Read what other threads and nodes have appended."""
        with self._lock:
            self._read_to_end()

    def append(self, links: Sequence[PlacedLink]) -> None:
        """State links that this node, the owner, has and the stream lacks, because it ran without replicas."""
        with self._lock:
            is_appended = self._append(links)
        if not is_appended:
            raise LinkError("The log of links was written by another service meanwhile. Start this one again.")

    def settle(self, keys: Iterable[FactKey]) -> None:
        """The links of these facts are committed here."""
        with self._lock:
            self._places.settle(keys)

    def settle_checkpoint(self, number: int) -> None:
        """This node has kept the checkpoint of an entry."""
        with self._lock:
            if self.checkpoints.pop(number, None) is not None:
                self._places.settle_entry(number)

    def publish(self, checkpoint: RecordCheckpointRow) -> None:
        """Tell all nodes of a checkpoint that this node, the owner, has signed; from any thread."""
        self._stream.append(None, [_ENCODER.encode(checkpoint)])

    def leave(self) -> None:
        """Wait for no place any more, from any thread."""
        self._leaving.set()

    def held_offset(self) -> int:
        """The number of the entry up to which this node has committed all links, so that it needs none of them."""
        return self._places.upto

    def trim(self, upto: int) -> None:
        """Drop the entries up to a number, for the owner; the newest one always stays."""
        upto = min(upto, self._places.number - 1)
        number, _ = self._known_base()
        if upto <= number:
            return
        heads: dict[ChainKey, Head] = {}
        while number < upto:
            page = self._stream.read(number, min(READ_ENTRIES, upto - number))
            if not page:
                return
            for _, entry in page:
                links = _decoded(entry)
                if isinstance(links, list):
                    heads |= {(each.tenant_id, each.chain): Head(each.seq + 1, each.hash) for each in links}
            number = page[-1][0]
        self._stream.trim(upto, _fields_of(heads))

    def _open(self, heads: Mapping[ChainKey, Head]) -> None:
        for last in (False, False, True):
            number, self.base = self._base(heads)
            self._places, self.checkpoints = LinkPlaces(self.base, number), {}
            try:
                self._read_to_end()
            except LinkGapError:  # it was trimmed between the two readings
                if last:
                    raise
            else:
                return

    def _row_of(self, fact: ChainFactRow) -> RecordChainRow:
        place = self._places.place_of(fact)
        if place is None:
            raise KeyError(fact_key(fact))
        return row_at(fact, place)

    def _append(self, links: Sequence[PlacedLink]) -> bool:
        after = self._places.number
        parts = [links[at : at + LINKS_AN_ENTRY] for at in range(0, len(links), LINKS_AN_ENTRY)]
        if not self._stream.append(after, [_ENCODER.encode(part) for part in parts]):
            return False
        for number, part in enumerate(parts, after + 1):
            self._places.take(number, part)
        return True

    def _read_page(self) -> bool:
        page = self._stream.read(self._places.number, READ_ENTRIES)
        for number, entry in page:
            content = _decoded(entry)
            if isinstance(content, list):
                self._places.take(number, content)
            else:
                self._places.take_other(number)
                self.checkpoints[number] = content
        return bool(page)

    def _read_to_end(self) -> None:
        while self._read_page():
            pass

    def _base(self, heads: Mapping[ChainKey, Head]) -> tuple[int, dict[ChainKey, Head]]:
        if self._stream.base() is None:
            if self._is_owner():
                self._stream.trim(0, _fields_of(heads))
                log.info("links_begun", chains=len(heads))
            else:
                self._await_begin()
        return self._known_base()

    def _await_begin(self) -> None:
        waits = int(BEGUN_WITHIN_S / WAIT_S)
        for _ in range(waits):
            self._stream.wait(0, WAIT_S)
            if self._leaving.is_set() or self._stream.base() is not None:
                return

    def _known_base(self) -> tuple[int, dict[ChainKey, Head]]:
        known = self._stream.base()
        if known is None:
            raise LinkError(
                "The log has no log of links, which its owner begins when it runs with CLEARHOLD_REDIS_REPLICAS. "
                "Without it this node cannot link what the owner has linked."
            )
        number, fields = known
        return number, dict(_head_of(name, value) for name, value in fields.items())


def _decoded(entry: bytes) -> list[PlacedLink] | RecordCheckpointRow:
    try:
        content: list[PlacedLink] | RecordCheckpointRow = _ENTRY.decode(entry)
    except msgspec.MsgspecError as error:
        raise LinkError(f"The log of links is damaged: {error}.") from error
    return content


def _fields_of(heads: Mapping[ChainKey, Head]) -> dict[str, str]:
    return {f"{chain}:{tenant_id}": f"{head.size}:{head.hash}" for (tenant_id, chain), head in heads.items()}


def _head_of(name: str, value: str) -> tuple[ChainKey, Head]:
    chain, _, tenant_id = name.partition(":")
    size, _, hash_ = value.partition(":")
    return (tenant_id, chain), Head(int(size), hash_)
