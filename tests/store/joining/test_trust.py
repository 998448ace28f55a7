"""The file of the signing keys is held against the record that they signed, also after keys were replaced."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from clearhold.features.core.canonical import Chain
from clearhold.store.data_dir import DataDir
from clearhold.store.errors import StartupError
from clearhold.store.joining.joining import open_signing_keys
from clearhold.store.keys import ANNOUNCED_FOR_US, KeyPurpose, KeyState, SecretBox, SigningKeys
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from tests.support.clock import FrozenClock
from tests.support.principals import an_operator
from tests.support.record import TENANT, a_fact, record


class Directory:
    """A data directory whose record can be signed."""

    def __init__(self, data_dir: DataDir, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> None:
        self.data_dir, self.database, self.clock = data_dir, database, clock
        record(database, data_dir.record_dir, [a_fact(0)])

    def started(self) -> SigningKeys:
        box = SecretBox(self.data_dir.master_key())
        return open_signing_keys(self.data_dir, self.database, box=box, clock=self.clock)

    def sign(self, keys: SigningKeys) -> None:
        log = CheckpointLog(self.database, self.data_dir.record_dir)
        log.open()
        checkpoints = RecordCheckpoints(
            self.database, log, signing_keys=keys, clock=self.clock, origin_of=lambda *names: "/".join(names)
        )
        checkpoints.sign(an_operator(TENANT), Chain.DISPOSITIONS)


@pytest.fixture
def directory(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> Iterator[Directory]:
    with DataDir.open(tmp_path / "data") as data_dir:
        box = SecretBox(data_dir.master_key())
        SigningKeys.open(data_dir.signing_keys_path, box=box, clock=clock, purposes=(KeyPurpose.CHECKPOINT,))
        yield Directory(data_dir, database, clock)


def test_given_keys_of_checkpoints_alone_when_started_then_one_of_proofs_is_made_beside_them(
    directory: Directory,
) -> None:
    keys = directory.started()

    assert {key.purpose for key in keys.published()} == set(KeyPurpose)
    assert [key.kid for key in directory.started().published()] == [key.kid for key in keys.published()]


def test_given_a_rotation_when_started_with_the_file_from_before_then_it_is_refused(directory: Directory) -> None:
    keys, path = directory.started(), directory.data_dir.signing_keys_path
    older = path.read_bytes()
    keys.announce(KeyPurpose.CHECKPOINT)
    directory.clock.advance(ANNOUNCED_FOR_US)
    directory.sign(keys)
    newer = path.read_bytes()

    path.write_bytes(older)
    with pytest.raises(StartupError, match="does not hold the key that signed the chain dispositions"):
        directory.started()
    path.write_bytes(newer)

    assert directory.started().signing(KeyPurpose.CHECKPOINT).kid == keys.signing(KeyPurpose.CHECKPOINT).kid


def test_given_a_checkpoint_under_a_key_that_was_removed_since_when_started_then_the_file_is_still_the_records(
    directory: Directory,
) -> None:
    keys = directory.started()
    directory.sign(keys)
    removed = keys.remove(keys.signing(KeyPurpose.CHECKPOINT).kid)

    states = {key.kid: state for key, state in directory.started().states()}

    assert states[removed.kid] == KeyState.REMOVED
