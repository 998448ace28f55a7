"""Keys that are missing beside a record, and a decision that was erased before it was signed, stop the start."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.api.cli.test_mixed_up import refusal
from tests.flows.test_lost_log import rebuilt
from tests.support.running_service import RunningService
from tests.support.used_bank import ALONE, Bank
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    bank = Bank(tmp_path_factory.mktemp("trust") / "data")
    with RunningService(bank.data, *ALONE) as service:
        eventually(lambda: bank.get(service, "/api/record/checkpoints")["data"])
    return bank


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path)


def delete_keys(bank: Bank) -> None:
    (bank.data / "signing-keys.json").unlink()


def replace_keys(bank: Bank) -> None:
    """With others under the same master key: those of a directory that was made with it."""
    other = bank.data.parent / "other"
    at = {"CLEARHOLD_MASTER_KEY_FILE": str(bank.data / "master.key")}
    with RunningService(other, *ALONE, environment=at):
        pass
    (other / "signing-keys.json").replace(bank.data / "signing-keys.json")


def empty_keys(bank: Bank) -> None:
    (bank.data / "signing-keys.json").write_text("[]")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (delete_keys, "signing-keys.json is missing"),
        (replace_keys, "does not hold the key that signed the chain dispositions"),
        (empty_keys, "does not hold the key that signed the chain dispositions"),
    ],
)
def test_given_signing_keys_that_are_not_the_records_when_started_then_it_stops_and_mints_none(
    bank: Bank, change: Callable[[Bank], None], sentence: str
) -> None:
    change(bank)
    path = bank.data / "signing-keys.json"
    left = path.read_bytes() if path.exists() else None

    assert sentence in refusal(bank.data)
    assert (path.read_bytes() if path.exists() else None) == left


def test_given_a_decision_erased_everywhere_but_in_the_log_when_started_then_it_stops_and_a_rebuild_brings_it_back(
    bank: Bank,
) -> None:
    for path in bank.data.glob("record/*/*.ndjson"):
        path.unlink()  # the only link and its checkpoint, as within the minutes before one is signed
    with closing(duckdb.connect(str(bank.data / "clearhold.duckdb"))) as database:
        for table in ("record_checkpoints", "record_chain", "dispositions", "decision_results"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - our own tables

    sentence = refusal(bank.data)
    run = rebuilt(bank)

    assert "The log holds a decision" in sentence
    assert run.returncode == 0, run.stderr
    with RunningService(bank.data, *ALONE) as service:
        assert len(bank.get(service, "/api/dispositions")["data"]) >= 1
        assert bank.get(service, "/api/record/verify")["ok"]
