"""Checkpoints are made hourly and on demand, kept twice, and never contradict one another."""

import base64
from pathlib import Path
from typing import Final

import duckdb
import pytest

from clearhold.features.core.canonical import Chain
from clearhold.features.core.errors import ForbiddenError, NotFoundError
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import CheckpointLog, InconsistentChainError, RecordCheckpoints
from clearhold.store.record.reading import Verification
from clearhold.store.record.signed_trees import EMPTY_ROOT, MerkleTree, opened_note, root_of_path
from tests.support.clock import FrozenClock
from tests.support.principals import a_key, an_operator
from tests.support.record import PROGRAM, TENANT, a_fact, record

OPERATOR: Final = an_operator(TENANT)
DISPOSITIONS, ACTIONS = Chain.DISPOSITIONS, Chain.ACTIONS
LINKS: Final = 300  # more than a tile


class Office:
    """Whoever signs, as each start of the service makes one."""

    def __init__(self, database: duckdb.DuckDBPyConnection, folder: Path, clock: FrozenClock) -> None:
        self.database, self.folder, self.clock = database, folder / "record", clock
        box = SecretBox(bytes(32))
        self.keys = SigningKeys.open(folder / "keys.json", box=box, clock=clock, purposes=(KeyPurpose.CHECKPOINT,))
        self.log = CheckpointLog(database, self.folder)
        self.log.open()
        self.checkpoints = RecordCheckpoints(
            database,
            self.log,
            signing_keys=self.keys,
            clock=clock,
            origin_of=lambda tenant_id, chain: f"risk.example.test/{tenant_id}/{chain}",
        )

    def grow(self, first: int, end: int) -> None:
        record(self.database, self.folder, [a_fact(number) for number in range(first, end)])

    def hashes(self, size: int) -> list[bytes]:
        found = self.database.execute("SELECT hash FROM record_chain ORDER BY seq LIMIT ?", [size]).fetchall()
        return [bytes.fromhex(hash_) for (hash_,) in found]

    def root(self, size: int) -> bytes:
        tree = MerkleTree()
        tree.extend(self.hashes(size))
        return tree.root()

    def assert_signed(self, row: RecordCheckpointRow, size: int) -> None:
        checkpoint = opened_note(row.note, self.keys.public_keys(KeyPurpose.CHECKPOINT))
        assert (checkpoint.size, row.size) == (size, size)
        assert checkpoint.root == self.root(size)
        assert checkpoint.origin == f"risk.example.test/{TENANT}/dispositions"

    @property
    def kept(self) -> list[RecordCheckpointRow]:
        return self.checkpoints.page(OPERATOR, None, None, 100)


@pytest.fixture
def office(database: duckdb.DuckDBPyConnection, tmp_path: Path, clock: FrozenClock) -> Office:
    return Office(database, tmp_path, clock)


def again(office: Office) -> Office:
    return Office(office.database, office.folder.parent, office.clock)


def test_given_a_chain_when_signed_then_the_note_holds_over_all_of_it_and_asking_again_signs_nothing_new(
    office: Office,
) -> None:
    office.grow(0, LINKS)

    first = office.checkpoints.sign(OPERATOR, DISPOSITIONS)
    office.clock.advance(1)
    second = office.checkpoints.sign(OPERATOR, DISPOSITIONS)

    office.assert_signed(first, LINKS)
    assert second == first
    assert again(office).checkpoints.sign(OPERATOR, DISPOSITIONS) == first
    assert office.kept == [first]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, LINKS])
def test_given_a_size_when_signed_then_it_is_over_that_many_links(office: Office, size: int) -> None:
    office.grow(0, LINKS)

    office.assert_signed(office.checkpoints.sign(OPERATOR, DISPOSITIONS, size), size)


def test_given_a_size_beyond_the_chain_when_signed_then_there_is_none(office: Office) -> None:
    office.grow(0, 3)

    with pytest.raises(NotFoundError):
        office.checkpoints.sign(OPERATOR, DISPOSITIONS, 4)
    with pytest.raises(NotFoundError):
        office.checkpoints.sign(an_operator("another"), DISPOSITIONS, 1)


def test_given_a_chain_without_links_when_signed_then_the_root_is_that_of_nothing(office: Office) -> None:
    row = office.checkpoints.sign(OPERATOR, ACTIONS)

    checkpoint = opened_note(row.note, office.keys.public_keys(KeyPurpose.CHECKPOINT))
    assert (checkpoint.size, checkpoint.root) == (0, EMPTY_ROOT)


def test_given_time_and_links_when_due_then_each_chain_is_signed_every_five_minutes_at_most(
    office: Office,
) -> None:
    sizes = []
    for links, minutes in ((5, 0), (5, 6), (9, 1), (9, 2), (9, 3), (12, 6), (12, 500)):
        office.clock.advance(minutes * HOUR_US // 60)
        office.grow(office.hashes(1_000).__len__(), links)
        office.checkpoints.sign_due()
        sizes.append([row.size for row in office.kept])

    assert sizes == [[5], [5], [9, 5], [9, 5], [9, 5], [12, 9, 5], [12, 9, 5]]
    for row in office.kept:
        office.assert_signed(row, row.size)


@pytest.mark.parametrize("ahead_us", [HOUR_US, 365 * DAY_US])
def test_given_a_checkpoint_of_a_clock_that_was_ahead_when_it_is_right_again_then_the_chain_is_signed_on(
    office: Office, ahead_us: int
) -> None:
    office.grow(0, 5)
    office.clock.advance(ahead_us)
    office.checkpoints.sign_due()
    office.clock.advance(-ahead_us)
    office.grow(5, 9)
    office.checkpoints.sign_due()

    assert sorted(row.size for row in office.kept) == [5, 9]


def test_given_a_rewritten_chain_when_the_next_process_starts_then_nothing_is_signed_any_more(office: Office) -> None:
    office.grow(0, LINKS)
    office.checkpoints.sign(OPERATOR, DISPOSITIONS)
    office.database.execute("UPDATE record_chain SET hash = ? WHERE seq = 7", ["0" * 64])
    started = again(office)

    started.checkpoints.sign_due()

    office.clock.advance(2 * HOUR_US)
    started.checkpoints.sign_due()
    for _ in range(2):
        with pytest.raises(InconsistentChainError):
            started.checkpoints.sign(OPERATOR, DISPOSITIONS)
    assert len(started.kept) == 1


def test_given_a_cut_chain_when_the_next_process_starts_then_nothing_is_signed_any_more(office: Office) -> None:
    office.grow(0, 9)
    office.checkpoints.sign(OPERATOR, DISPOSITIONS)
    office.database.execute("DELETE FROM record_chain WHERE seq >= 4")

    with pytest.raises(InconsistentChainError):
        again(office).checkpoints.sign(OPERATOR, DISPOSITIONS, 2)


def test_given_pages_when_followed_then_every_checkpoint_comes_once_newest_first(office: Office) -> None:
    for size in range(1, 8):
        office.grow(size - 1, size)
        office.checkpoints.sign(OPERATOR, DISPOSITIONS)
        office.clock.advance(HOUR_US * (size % 2))
    office.checkpoints.sign(OPERATOR, ACTIONS)

    found: list[RecordCheckpointRow] = []
    while page := office.checkpoints.page(
        OPERATOR, None, (found[-1].created_at, found[-1].chain, found[-1].size) if found else None, 3
    ):
        found += page

    assert len(found) == len(set(found)) == 8
    assert [row.created_at for row in found] == sorted((row.created_at for row in found), reverse=True)
    assert [row.size for row in office.checkpoints.page(OPERATOR, DISPOSITIONS, None, 100)] == [7, 6, 5, 4, 3, 2, 1]
    assert office.checkpoints.page(an_operator("another"), None, None, 100) == []


@pytest.mark.parametrize("seq", [0, 100, 255, 256, LINKS - 1])
def test_given_a_link_when_proven_then_the_path_leads_to_the_checkpoints_root(office: Office, seq: int) -> None:
    office.grow(0, LINKS)
    office.checkpoints.sign(OPERATOR, DISPOSITIONS, 257)
    office.grow(LINKS, LINKS + 40)

    proof = office.checkpoints.proof(OPERATOR, DISPOSITIONS, seq)

    size = proof.checkpoint.size
    assert size == (257 if seq < 257 else LINKS + 40)
    assert proof.leaf_index == seq
    assert root_of_path(office.hashes(size)[seq], seq, size, proof.hashes) == office.root(size)
    office.assert_signed(proof.checkpoint, size)


def test_given_a_checkpoint_when_many_links_are_proven_then_each_path_leads_to_its_root_however_the_chain_grows(
    office: Office,
) -> None:
    office.grow(0, 600)
    signed = office.checkpoints.sign(OPERATOR, DISPOSITIONS)
    office.grow(600, 700)
    office.checkpoints.sign(OPERATOR, DISPOSITIONS)
    seqs = [0, 1, 255, 256, 511, 512, 599]

    paths = office.checkpoints.paths(OPERATOR, signed, seqs)

    hashes = dict(office.database.execute("SELECT seq, hash FROM record_chain").fetchall())
    for seq, path in zip(seqs, paths, strict=True):
        root = root_of_path(bytes.fromhex(hashes[seq]), seq, 600, path)
        assert base64.b64encode(root or b"").decode() == signed.root


def test_given_a_link_that_is_not_there_when_proven_then_there_is_no_proof(office: Office) -> None:
    office.grow(0, 3)

    with pytest.raises(NotFoundError):
        office.checkpoints.proof(OPERATOR, DISPOSITIONS, 3)


def test_given_a_key_of_one_program_when_it_asks_then_it_is_refused(office: Office) -> None:
    for ask in (
        lambda: office.checkpoints.sign(a_key(TENANT, PROGRAM), DISPOSITIONS),
        lambda: office.checkpoints.page(a_key(TENANT, PROGRAM), None, None, 1),
        lambda: office.checkpoints.proof(a_key(TENANT, PROGRAM), DISPOSITIONS, 0),
        lambda: office.checkpoints.paths(a_key(TENANT, PROGRAM), office.checkpoints.sign(OPERATOR, DISPOSITIONS), []),
    ):
        with pytest.raises(ForbiddenError):
            ask()


def test_given_a_table_or_a_file_that_is_lost_when_opened_then_each_has_what_the_other_had(office: Office) -> None:
    office.grow(0, 5)
    for size in (2, 5):
        office.checkpoints.sign(OPERATOR, DISPOSITIONS, size)
    (path,) = office.folder.glob("*/checkpoints.ndjson")
    before, lines = office.kept, path.read_bytes()

    office.database.execute("DELETE FROM record_checkpoints WHERE size = 2")
    assert again(office).kept == before
    path.write_bytes(lines.splitlines(keepends=True)[0] + b'{"chain":"di')
    assert again(office).kept == before
    assert path.read_bytes() == lines
    path.write_bytes(b"{}\n")
    with pytest.raises(StartupError, match=r"checkpoints\.ndjson is damaged"):
        again(office)


def test_given_checkpoints_then_the_newest_of_each_chain_is_known_also_at_the_next_start(office: Office) -> None:
    assert office.log.newest == {}
    office.grow(0, 2)
    office.checkpoints.sign_due()
    office.clock.advance(HOUR_US)
    office.grow(2, 3)
    office.checkpoints.sign_due()

    assert office.log.newest == again(office).log.newest == {"dispositions": office.clock.now()}


def test_given_a_chain_that_contradicts_its_checkpoint_then_it_is_counted(office: Office) -> None:
    office.grow(0, 2)
    office.checkpoints.sign_due()
    office.database.execute("DELETE FROM record_chain WHERE seq = 1")
    restarted = again(office)
    assert restarted.checkpoints.inconsistent == 0

    restarted.checkpoints.sign_due()

    assert restarted.checkpoints.inconsistent == 1


def test_given_a_rotation_when_signed_then_the_new_key_signs_and_no_chain_is_signed_again_for_it(
    office: Office,
) -> None:
    office.grow(0, 3)
    office.checkpoints.sign_due()
    old = office.keys.signing(KeyPurpose.CHECKPOINT)
    new = office.keys.announce(KeyPurpose.CHECKPOINT)

    office.checkpoints.sign_due()
    office.clock.advance(HOUR_US)
    office.checkpoints.sign_due()
    office.grow(3, 5)
    office.checkpoints.sign_due()

    assert [row.size for row in office.kept] == [5, 3]
    for row, key in zip(office.kept, (new, old), strict=True):
        assert opened_note(row.note, [key.public]).size == row.size
    office.assert_signed(again(office).checkpoints.sign(OPERATOR, DISPOSITIONS), 5)


def test_given_a_key_that_was_removed_when_due_then_what_it_signed_last_is_signed_once_more_by_another(
    office: Office,
) -> None:
    office.grow(0, 3)
    office.checkpoints.sign_due()
    old = office.keys.signing(KeyPurpose.CHECKPOINT)

    office.keys.remove(old.kid)
    for _ in range(3):
        office.clock.advance(1_000)
        office.checkpoints.sign_due()

    assert [row.size for row in office.kept] == [3, 3]
    assert opened_note(office.kept[0].note, [office.keys.signing(KeyPurpose.CHECKPOINT).public]).size == 3
    assert Verification(office.database, office.log, office.keys).check(OPERATOR, DISPOSITIONS).broken_at is None
