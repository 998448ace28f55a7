"""A chain is recomputed from its bodies, and whatever was done to it is found at the first link that tells."""

from pathlib import Path
from typing import Final

import duckdb
import pytest

from clearhold.features.core.canonical import Chain, link_hash
from clearhold.features.core.errors import ForbiddenError
from clearhold.store.record.chain import ChainWriter
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import CheckpointLog
from clearhold.store.record.reading import ChainCheck, Verification
from tests.store.record.test_checkpoints import Office
from tests.support.clock import T0, FrozenClock
from tests.support.principals import a_key, an_operator
from tests.support.record import PROGRAM, TENANT, a_fact, record

OPERATOR: Final = an_operator(TENANT)
LINKS: Final = 12
SECOND_US: Final = 1_000_000


@pytest.fixture
def office(database: duckdb.DuckDBPyConnection, tmp_path: Path, clock: FrozenClock) -> Office:
    office = Office(database, tmp_path, clock)
    office.grow(0, LINKS)
    return office


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhold.store.record.chain.BARE_PAGE_LINKS", 5)
    monkeypatch.setattr("clearhold.store.record.reading.AT_ONCE", 2)


def check(office: Office, chain: Chain = Chain.DISPOSITIONS) -> ChainCheck:
    return Verification(office.database, office.log, office.keys).check(OPERATOR, chain)


def hash_at(office: Office, seq: int) -> str:
    (hash_,) = office.database.execute("SELECT hash FROM record_chain WHERE seq = ?", [seq]).fetchall()[0]
    return str(hash_)


def test_given_chains_that_hold_when_checked_then_every_link_counts(office: Office) -> None:
    office.checkpoints.sign(OPERATOR, Chain.DISPOSITIONS)

    assert check(office) == ChainCheck(chain="dispositions", checked=LINKS, broken_at=None)
    assert check(office, Chain.ACTIONS) == ChainCheck(chain="actions", checked=0, broken_at=None)


@pytest.mark.parametrize("seq", range(LINKS))
def test_given_an_edited_body_when_checked_then_it_is_found_at_its_seq(office: Office, seq: int) -> None:
    office.database.execute("UPDATE record_chain SET body = replace(body, 'No', 'On') WHERE seq = ?", [seq])

    found = check(office)

    assert found.checked == seq
    assert found.broken_at is not None
    at = found.broken_at
    assert (at.chain, at.seq, at.id, at.created_at) == ("dispositions", seq, f"fact-{seq}", T0 + seq * SECOND_US)
    assert at.found == hash_at(office, seq) != at.expected


@pytest.mark.parametrize("seq", [0, 3, 5, LINKS - 1])
def test_given_a_body_edited_with_its_hash_when_checked_then_the_next_link_does_not_follow(
    office: Office, seq: int
) -> None:
    (prev, body) = office.database.execute("SELECT prev_hash, body FROM record_chain WHERE seq = ?", [seq]).fetchall()[
        0
    ]
    edited = body.replace("No", "On")
    hash_ = link_hash(prev, edited.encode())
    office.checkpoints.sign(OPERATOR, Chain.DISPOSITIONS)
    office.database.execute("UPDATE record_chain SET body = ?, hash = ? WHERE seq = ?", [edited, hash_, seq])

    found = check(office)

    assert found.broken_at is not None
    if seq < LINKS - 1:
        assert (found.checked, found.broken_at.seq, found.broken_at.id) == (seq + 1, seq + 1, f"fact-{seq + 1}")
    else:  # Nothing follows: only the checkpoint tells.
        assert (found.checked, found.broken_at.seq, found.broken_at.id) == (LINKS, LINKS - 1, None)


@pytest.mark.parametrize("seq", [0, 4, 5, LINKS - 2])
def test_given_a_deleted_link_when_checked_then_the_hole_is_found(office: Office, seq: int) -> None:
    lost = hash_at(office, seq)
    office.database.execute("DELETE FROM record_chain WHERE seq = ?", [seq])

    found = check(office)

    assert found.checked == seq
    assert found.broken_at is not None
    assert (found.broken_at.seq, found.broken_at.expected, found.broken_at.found) == (seq, lost, None)


def test_given_a_hole_of_a_whole_page_when_checked_then_it_is_found(office: Office) -> None:
    office.database.execute("DELETE FROM record_chain WHERE seq BETWEEN 5 AND 9")

    found = check(office)

    assert found.checked == 5
    assert found.broken_at is not None
    assert (found.broken_at.seq, found.broken_at.found) == (5, None)


def test_given_two_swapped_links_when_checked_then_the_first_is_found(office: Office) -> None:
    office.database.execute("UPDATE record_chain SET seq = 11 - seq WHERE seq IN (5, 6)")

    found = check(office)

    assert found.checked == 5
    assert found.broken_at is not None
    assert (found.broken_at.seq, found.broken_at.id) == (5, "fact-6")


def test_given_a_fork_when_checked_then_the_second_link_at_the_place_is_found(office: Office) -> None:
    office.database.execute(
        "INSERT INTO record_chain SELECT * REPLACE ('forged' AS id) FROM record_chain WHERE seq = 3"
    )

    found = check(office)

    assert found.checked == 4
    assert found.broken_at is not None
    assert found.broken_at.seq == 3


def test_given_only_the_link_to_the_one_before_is_altered_when_checked_then_it_is_found(office: Office) -> None:
    office.database.execute("UPDATE record_chain SET prev_hash = ? WHERE seq = 6", ["0" * 64])

    found = check(office)

    assert found.broken_at is not None
    assert (found.checked, found.broken_at.expected, found.broken_at.found) == (6, hash_at(office, 5), "0" * 64)


@pytest.mark.parametrize("cut", [0, 4, LINKS - 1])
def test_given_a_cut_tail_when_checked_then_the_checkpoint_tells(office: Office, cut: int) -> None:
    office.checkpoints.sign(OPERATOR, Chain.DISPOSITIONS)
    office.database.execute("DELETE FROM record_chain WHERE seq >= ?", [cut])

    found = check(office)

    assert found.checked == cut
    assert found.broken_at is not None
    assert (found.broken_at.seq, found.broken_at.id, found.broken_at.found) == (cut, None, None)
    assert found.broken_at.expected is not None


def test_given_a_history_written_anew_when_checked_then_the_checkpoint_tells(office: Office, tmp_path: Path) -> None:
    office.checkpoints.sign(OPERATOR, Chain.DISPOSITIONS)
    office.database.execute("DELETE FROM record_chain")
    anew = [a_fact(number, body=f'{{"n":{number}}}') for number in range(LINKS + 3)]
    record(office.database, tmp_path / "another", anew)

    found = check(office)

    assert found.checked == LINKS + 3
    assert found.broken_at is not None
    assert found.broken_at.seq == LINKS - 1
    assert None not in {found.broken_at.expected, found.broken_at.found}
    assert found.broken_at.expected != found.broken_at.found


def test_given_a_checkpoint_that_nobody_signed_when_checked_then_it_does_not_hold(office: Office) -> None:
    row = RecordCheckpointRow(TENANT, "dispositions", LINKS, "", "forged\n12\nAAAA\n\nx", T0)
    office.log.append(row)

    found = check(office)

    assert found.broken_at is not None
    assert (found.broken_at.seq, found.broken_at.expected) == (LINKS - 1, None)


def test_given_a_key_of_one_program_when_it_asks_then_it_is_refused(office: Office) -> None:
    with pytest.raises(ForbiddenError):
        Verification(office.database, office.log, office.keys).check(a_key(TENANT, PROGRAM), Chain.DISPOSITIONS)


def test_given_another_tenant_when_it_asks_then_its_chain_is_empty(office: Office) -> None:
    log = CheckpointLog(office.database, office.folder)

    found = Verification(office.database, log, office.keys).check(an_operator("another"), Chain.DISPOSITIONS)

    assert found.checked == 0
    assert ChainWriter(office.database, office.folder).rows_of([a_fact(0)])[0].seq == 0
