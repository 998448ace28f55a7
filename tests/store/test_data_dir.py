"""A data directory belongs to one process, keeps its layout, and keeps its secrets to itself."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clearhold.store.data_dir import DataDir, DataDirInUseError
from clearhold.store.errors import StartupError
from tests.support.running_service import RunningService

_OWNER = """
import sys, time
from pathlib import Path
from clearhold.store.data_dir import DataDir
held = DataDir.open(Path(sys.argv[1]))
print("open", flush=True)
time.sleep(600)
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def an_owner(path: Path) -> subprocess.Popen[bytes]:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(path)], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    with owner.stdout:
        assert owner.stdout.readline() == b"open\n"
    return owner


def test_given_no_directory_when_opened_then_it_is_made_for_us_alone(tmp_path: Path) -> None:
    with DataDir.open(tmp_path / "new" / "data", shards=4) as data:
        assert data.shards == 4
        assert mode_of(data.path) == 0o700
        folders = {"redis", "checkpoints", "lake", "record"}
        assert {each.name for each in data.path.iterdir()} == {"lock", "layout.json", "master.key", *folders}
        assert {mode_of(each) for each in data.path.iterdir()} == {0o700, 0o600}


def test_given_a_directory_that_others_could_read_when_opened_then_they_no_longer_can(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with DataDir.open(tmp_path):
        assert mode_of(tmp_path) == 0o700


def test_given_a_layout_when_opened_again_then_the_number_of_shards_stays(tmp_path: Path) -> None:
    DataDir.open(tmp_path, shards=4).close()

    with DataDir.open(tmp_path, shards=32) as data:
        assert data.shards == 4


def test_given_another_process_has_it_when_opened_then_it_is_refused_with_its_pid(tmp_path: Path) -> None:
    owner = an_owner(tmp_path)
    try:
        with pytest.raises(DataDirInUseError, match=rf"in use by another clearhold process \(pid {owner.pid}\)"):
            DataDir.open(tmp_path)
    finally:
        owner.kill()
        owner.wait()


def test_given_its_process_was_killed_when_opened_then_it_is_ours(tmp_path: Path) -> None:
    owner = an_owner(tmp_path)
    owner.send_signal(signal.SIGKILL)
    owner.wait()

    with DataDir.open(tmp_path) as data:
        assert (data.path / "lock").read_text() == f"{os.getpid()}\n"


def test_given_it_is_open_here_when_opened_again_then_it_is_refused_until_closed(tmp_path: Path) -> None:
    data = DataDir.open(tmp_path)

    with pytest.raises(DataDirInUseError):
        DataDir.open(tmp_path)

    data.close()
    data.close()
    DataDir.open(tmp_path).close()


@pytest.mark.parametrize(
    "layout", ["", "{}", '{"version": 2, "shards": 16}', '{"version": 3, "shards": 16}', '{"version": "3"}', "[]"]
)
def test_given_a_layout_that_is_not_ours_when_opened_then_it_is_refused_and_not_held(
    tmp_path: Path, layout: str
) -> None:
    (tmp_path / "layout.json").write_text(layout)

    with pytest.raises(StartupError, match=r"layout\.json"):
        DataDir.open(tmp_path)

    (tmp_path / "layout.json").unlink()
    DataDir.open(tmp_path).close()


@pytest.mark.parametrize("shards", [0, -1, 1_025])
def test_given_a_number_of_shards_out_of_bounds_then_it_is_refused(tmp_path: Path, shards: int) -> None:
    with pytest.raises(StartupError, match="1 to 1024 shards"):
        DataDir.open(tmp_path, shards=shards)


def test_given_a_file_in_its_place_when_opened_then_a_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(StartupError, match="cannot be used as a data directory"):
        DataDir.open(tmp_path / "data")


def test_given_the_first_use_when_a_secret_is_asked_for_then_it_is_made_once_and_only_we_may_read_it(
    tmp_path: Path,
) -> None:
    with DataDir.open(tmp_path) as data:
        key, token = data.master_key(), data.admin_token(lambda: "adm_first")

    with DataDir.open(tmp_path) as data:
        assert data.master_key() == key
        assert data.admin_token(lambda: "adm_second") == token == "adm_first"
        assert mode_of(data.master_key_path) == mode_of(data.admin_token_path) == 0o600


def test_given_a_damaged_secret_when_asked_for_then_it_is_refused(tmp_path: Path) -> None:
    with DataDir.open(tmp_path) as data:
        data.master_key_path.write_bytes(b"short")
        data.admin_token_path.write_text("\n")

        with pytest.raises(StartupError, match="damaged"):
            data.master_key()
        with pytest.raises(StartupError, match="empty"):
            data.admin_token(lambda: "adm_new")


def test_given_a_service_that_worked_when_stopped_then_nobody_else_can_read_any_part_of_its_directory(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"})
        open_to_others = [path for path in service.data.rglob("*") if not path.is_symlink() and mode_of(path) & 0o077]
        assert open_to_others == []
    closed = {path for path in service.data.rglob("*") if not mode_of(path) & 0o077}

    assert closed == set(service.data.rglob("*"))
    assert service.data / "clearhold.duckdb" in closed
