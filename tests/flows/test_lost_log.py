"""A log that was lost in part: the start stops with what is missing, and goes on only when told to, on the record."""

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.test_mixed_up import ADMIN, ALONE, refusal
from tests.support.alerting import outgoing
from tests.support.lake import move_into_segments
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.used_bank import TRANSFERS, Bank
from tests.support.warm import ran


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return Bank(tmp_path_factory.mktemp("lost") / "data")


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path)


def assert_goes_on(bank: Bank, service: RunningService) -> None:
    """Its tenants, programs, tokens and secrets are known, its history too, and new events are taken."""
    tenants: Any = service.ask("GET", "/api/admin/tenants", ADMIN)
    assert [tenant["slug"] for tenant in tenants] == ["bank"]
    assert [program["slug"] for program in bank.get(service, "/api/programs")] == ["pay"]
    assert post_until_taken(service, bank.program, [bank.bodies[-1], outgoing("acht_new")], within_s=60) == 0
    wait_until_committed(service, bank.headers["Authorization"].removeprefix("Bearer "), "acht_new")
    listed = bank.get(service, "/api/transfers?limit=100")["data"]
    assert len(listed) == TRANSFERS + 1
    assert len(bank.get(service, "/api/dispositions")["data"]) >= 1


def rebuilt(bank: Bank, *options: str) -> subprocess.CompletedProcess[str]:
    return ran("rebuild", "--data", bank.data, *options)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2)])
def test_given_redis_is_lost_when_the_loss_is_accepted_then_the_registry_is_back_and_the_record_names_the_loss(
    bank: Bank, share: Fraction
) -> None:
    move_into_segments(bank.data, share)
    shutil.rmtree(bank.data / "redis")
    assert "does not hold: it is empty" in refusal(bank.data)

    with RunningService(bank.data, *ALONE, "--accept-loss") as service:
        assert_goes_on(bank, service)
        losses = bank.losses(service)
        assert len(losses) == (0 if share == 1 else 1)
        for loss in losses:
            assert (loss["kind"], loss["stream"]) == ("log_loss", bank.segments()[0].parent.parent.name)
            assert loss["after"] < loss["upto"]

    with RunningService(bank.data, *ALONE) as service:  # without the option, and nothing is asked again
        assert bank.losses(service) == losses
        assert post_until_taken(service, bank.program, [outgoing("acht_after")], within_s=60) == 0


def test_given_redis_is_lost_when_rebuilt_over_the_loss_then_what_lost_entries_led_to_is_kept(bank: Bank) -> None:
    move_into_segments(bank.data, Fraction(1, 2))
    shutil.rmtree(bank.data / "redis")

    refused, accepted = rebuilt(bank), rebuilt(bank, "--accept-loss")

    assert (refused.returncode, accepted.returncode) == (2, 0), accepted.stderr
    assert "does not hold: it is empty" in refused.stderr
    with RunningService(bank.data, *ALONE) as service:
        assert_goes_on(bank, service)
        assert len(bank.losses(service)) == 1


@pytest.mark.parametrize("lost", [0, 1, -1])
def test_given_a_segment_is_lost_when_started_or_rebuilt_then_both_stop_with_the_range_until_the_loss_is_accepted(
    bank: Bank, lost: int
) -> None:
    move_into_segments(bank.data, Fraction(2, 3))
    path = bank.segments()[lost]
    stream = path.parent.parent.name
    path.unlink()

    sentence = refusal(bank.data)
    run = rebuilt(bank)

    assert f"has a hole: {stream} lacks the entries after" in sentence
    assert (run.returncode, run.stderr.splitlines()[-1]) == (2, sentence)
    with RunningService(bank.data, *ALONE, "--accept-loss") as service:
        (loss,) = bank.losses(service)
        assert loss["stream"] == stream
        assert_goes_on(bank, service)
    with RunningService(bank.data, *ALONE) as service:
        assert bank.losses(service) == [loss]


def test_given_the_newest_segments_and_the_snapshots_are_lost_when_the_loss_is_accepted_then_reading_goes_on_behind_it(
    bank: Bank,
) -> None:
    move_into_segments(bank.data, Fraction(2, 3))
    bank.segments()[-1].unlink()
    shutil.rmtree(bank.data / "checkpoints")
    assert "has a hole" in refusal(bank.data)

    with RunningService(bank.data, *ALONE, "--accept-loss") as service:
        assert_goes_on(bank, service)
    with RunningService(bank.data, *ALONE) as service:
        assert post_until_taken(service, bank.program, [outgoing("acht_after")], within_s=60) == 0
        assert len(bank.losses(service)) == 1


def test_given_an_older_copy_of_the_log_when_started_then_it_is_refused_and_the_lake_fills_it_up(
    bank: Bank, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(bank.data / "redis", older)
    with RunningService(bank.data, *ALONE) as service:
        post_until_taken(service, bank.program, [outgoing("acht_later")], within_s=60)
        wait_until_committed(service, bank.headers["Authorization"].removeprefix("Bearer "), "acht_later")
        tenant = service.admin("/api/admin/tenants", {"slug": "later", "name": "Later"})
    shutil.rmtree(bank.data / "redis")
    older.rename(bank.data / "redis")

    assert "knows more of its log than the Redis in" in refusal(bank.data)
    with RunningService(bank.data, *ALONE, "--accept-loss") as service:
        headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        programs: Any = service.ask("GET", "/api/programs", headers)
        assert programs == []
        assert len(bank.losses(service)) == 1


def test_given_control_segments_are_lost_when_started_then_they_are_written_again_from_redis(bank: Bank) -> None:
    folder = next((bank.data / "lake" / "log").glob("tenant=*"))
    paths = sorted(folder.rglob("*.parquet"))
    assert len(paths) == 2  # the tenant and its program, each copied at once
    paths[0].unlink()

    with RunningService(bank.data, *ALONE):
        pass
    shutil.rmtree(bank.data / "redis")
    with RunningService(bank.data, *ALONE, "--accept-loss") as service:
        assert_goes_on(bank, service)
