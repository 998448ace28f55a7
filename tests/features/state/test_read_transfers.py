"""Transfers that are kept between findings are those that the table and the edges have now."""

from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from clearhold.features.state import read_transfers, transfer_table
from clearhold.features.state.read_transfers import PAGES, ReadTransfers
from clearhold.features.state.transfer_table import CENTS, ROW, Places, TransferTable
from clearhold.features.windows.edges import Edges
from clearhold.features.windows.narrow_table import NarrowTable
from tests.features.state.test_transfer_columns import a_record
from tests.support.clock import T0


class Party:
    """A party with edges, which change as those of a program do."""

    def __init__(self, table: TransferTable) -> None:
        self.table, self.edges, self.at = table, Edges(), dict[int, int]()

    def add(self, at: int, *, known_at: int | None = None) -> None:
        row = self.table.add(f"wire_{len(self.table)}", a_record(at=T0 + at, cents=len(self.table), scored_at=T0))
        self.at[row] = T0 + at
        self.edges.add_edge(T0 + at, row, 1, known_at=known_at)

    def amend(self, row: int, cents: int, *, moves: bool) -> None:
        """Another amount takes the edge out and enters it again; another status leaves it."""
        if moves:
            self.edges.remove_edge(self.at[row], row, known_at=T0)
            self.edges.add_edge(self.at[row], row, 1, known_at=T0)
        self.table.write(row, a_record(at=self.at[row], cents=cents, scored_at=T0))

    def refuse(self, row: int) -> None:
        self.edges.remove_edge(self.at.pop(row), row, known_at=T0)

    def take_over(self, other: "Party") -> None:
        self.edges.absorb(other.edges)
        self.at |= other.at
        other.edges, other.at = Edges(), {}


def change(party: Party, other: Party, chance: Random, now: int) -> None:
    what, rows = chance.random(), sorted(party.at)
    if what < 0.6 or not rows:
        late = 0 if chance.random() < 0.7 else chance.randrange(30)
        party.add(max(0, now - late), known_at=None if chance.random() < 0.9 else T0)
    elif what < 0.9:
        party.amend(chance.choice(rows[-12:]), chance.randrange(10**6), moves=chance.random() < 0.3)
    elif what < 0.97:
        party.refuse(chance.choice(rows))
    else:
        party.take_over(other)


def read_now(party: Party, after: int, upto: int, most: int) -> Places:
    rows = sorted((at, row) for row, at in party.at.items() if after < at <= upto)[-most:]
    return party.table.places(np.array([row for _, row in rows], np.int64))


@pytest.mark.parametrize("seed", range(30))
def test_given_parties_whose_transfers_change_when_they_are_read_then_they_are_as_of_now(seed: int) -> None:
    chance = Random(seed)
    limits: dict[str, Any] = {
        "KEPT_FROM": chance.choice((1, 4)),
        "MOST_READ": chance.choice((5, 20)),
        "MOST_PARTIES": 2,
        "ROOM": 1,
    }
    limits["PAGES"] = 2
    with patch.multiple(read_transfers, **limits), patch.object(transfer_table, "WRITES_KEPT", 3):
        table = TransferTable()
        read, parties = ReadTransfers(table), [Party(table) for _ in range(3)]
        for now in range(250):
            change(chance.choice(parties), chance.choice(parties), chance, now // 2)
            if chance.random() < 0.1:
                read.end_page()
            party = chance.choice(parties)
            after, upto = T0 + now // 2 - chance.randrange(60), T0 + now // 2 - chance.choice((0, 0, 0, 7))
            most = chance.choice((3, 10, 50))

            places = read.within(party.edges, after, upto, most)

            assert places.tolist() == read_now(party, after, upto, most).tolist()


def test_given_a_busy_party_when_its_next_transfer_is_read_then_the_others_are_not_read_again() -> None:
    table = TransferTable()
    party, read, rows = Party(table), ReadTransfers(table), list[int]()
    for at in range(400):
        party.add(at)
    read.within(party.edges, T0, T0 + 400, 300)
    lead = NarrowTable.lead

    def counted(table: NarrowTable, row: int, width: int) -> list[int]:
        rows.append(row)
        return lead(table, row, width)

    with patch.multiple(NarrowTable, lead=counted, gather=None):
        party.add(401)
        party.amend(350, 7, moves=False)
        places = read.within(party.edges, T0, T0 + 401, 300)

    assert sorted(rows) == [350, 400]
    assert places[CENTS, places[ROW].tolist().index(350)] == 7


def test_given_a_party_that_no_finding_of_sixteen_pages_has_read_when_they_end_then_it_is_dropped() -> None:
    table = TransferTable()
    party, other, read = Party(table), Party(table), ReadTransfers(table)
    for at in range(40):
        party.add(at)
        other.add(at)
    for each in (party, other):
        read.within(each.edges, T0, T0 + 40, 30)
    for _ in range(PAGES):
        read.end_page()
    read.within(other.edges, T0, T0 + 40, 30)

    for _ in range(PAGES):
        read.end_page()

    assert [*read._parties] == [id(other.edges)]
