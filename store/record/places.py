"""The log of links as a node has read it: the ends of the chains, and the places of facts that it has not committed.

Two nodes commit the same facts in different orders, because the order of commits is not in the log. The owner of the
log therefore states each link there before it commits it, and every node gives a fact exactly that place.

Number  entries of the log of links are numbered from 1 without a gap; each has links, or a signed checkpoint
Errors  ``LinkError`` for entries that do not continue the earlier ones
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain import EMPTY, ChainKey, FactKey, Head, fact_key, link_of
from clearhold.store.record.chain_file import RecordChainRow


class LinkError(StartupError):
    """The chains of this node and the log of links contradict each other, or one lacks what the other needs."""


class LinkGapError(LinkError):
    """The next entries of the log of links were trimmed before they were read."""


class PlacedLink(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link without its body: the place of a fact in its chain, and the link's hash."""

    tenant_id: str
    chain: str
    seq: int
    shard: int
    offset: int
    id: str
    hash: str


class FactPlace(NamedTuple):
    """The place of a fact in its chain, and the number of the entry that states it."""

    seq: int
    prev_hash: str | None
    hash: str
    number: int


def placed(row: RecordChainRow) -> PlacedLink:
    """The place of a link."""
    return PlacedLink(row.tenant_id, row.chain, row.seq, row.shard, row.offset, row.id, row.hash)


class LinkPlaces:
    """For one thread, but for ``upto``."""

    def __init__(self, heads: Mapping[ChainKey, Head], number: int) -> None:
        """``heads`` are the ends of the chains behind the entry ``number``."""
        self.heads = dict(heads)
        self.number = number
        self._places: dict[FactKey, FactPlace] = {}
        self._open: dict[int, int] = {}  # of each entry, by number, the links that are not committed here
        self.upto = number
        """The number of the entry up to which this node has committed all links."""

    def take(self, number: int, links: Sequence[PlacedLink]) -> None:
        """Take the next entry."""
        self._require_next(number)
        for link in links:
            key = (link.tenant_id, link.chain)
            head = self.heads.get(key, EMPTY)
            if link.seq != head.size:
                raise LinkError(
                    f"The log of links is damaged: entry {number} has seq {link.seq} of the chain {link.chain} of "
                    f"tenant {link.tenant_id}, which ends before seq {head.size}."
                )
            self._places[(*key, link.shard, link.offset, link.id)] = FactPlace(link.seq, head.hash, link.hash, number)
            self.heads[key] = Head(link.seq + 1, link.hash)
        self.number = number
        self._open[number] = len(links)
        self._note_upto()

    def take_other(self, number: int) -> None:
        """Take the next entry, which has no links, and which this node needs until ``settle_entry``."""
        self._require_next(number)
        self.number = number
        self._open[number] = 1
        self._note_upto()

    def settle_entry(self, number: int) -> None:
        """This node no longer needs an entry without links."""
        self._open[number] = 0
        self._note_upto()

    def place_of(self, fact: ChainFactRow | RecordChainRow) -> FactPlace | None:
        """The place of a fact that is not committed here, or None when none was read."""
        return self._places.get(fact_key(fact))

    def waiting(self) -> Iterator[tuple[FactKey, FactPlace]]:
        """The places of facts that are not committed here."""
        yield from list(self._places.items())

    def after_end(self, facts: Iterable[ChainFactRow]) -> list[RecordChainRow]:
        """Facts without a place as the next links of their chains."""
        heads: dict[ChainKey, Head] = {}
        rows = []
        for fact in facts:
            key = (fact.tenant_id, fact.chain)
            row = link_of(fact, heads.get(key) or self.heads.get(key, EMPTY))
            heads[key] = Head(row.seq + 1, row.hash)
            rows.append(row)
        return rows

    def settle(self, keys: Iterable[FactKey]) -> None:
        """The links of these facts are committed here."""
        for key in keys:
            place = self._places.pop(key)
            self._open[place.number] -= 1
        self._note_upto()

    def _require_next(self, number: int) -> None:
        if number != self.number + 1:
            raise LinkGapError(
                f"The log of links has no entry {self.number + 1}; the next one is {number}. This node was silent "
                "while it was trimmed: it must join again."
            )

    def _note_upto(self) -> None:
        while self._open:
            first = next(iter(self._open))
            if self._open[first]:
                self.upto = first - 1
                return
            del self._open[first]
        self.upto = self.number


def row_at(fact: ChainFactRow, place: FactPlace) -> RecordChainRow:
    """The fact as the link at its place; LinkError when that link has another hash."""
    row = link_of(fact, Head(place.seq, place.prev_hash))
    if row.hash != place.hash:
        raise LinkError(
            f"The fact {fact.id} of tenant {fact.tenant_id} is seq {place.seq} of its chain {fact.chain} in the log of "
            f"links, with the hash {place.hash}; this node has computed {row.hash}. One of the two nodes has changed "
            "data, or scores by another version."
        )
    return row
