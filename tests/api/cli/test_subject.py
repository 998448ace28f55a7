"""``clearhold subject``: a file that is whole and proved, or a sentence and no file of that name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clearhold.api.cli.main import app
from clearhold.store.lake.log_segments import RawEvents
from tests.support.raw_http import served
from tests.support.running_app import RunningApp
from tests.support.subjects import ADA, export, keep, live


@pytest.fixture
def lived(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
    live(api, tenant, program)


@pytest.fixture
def url(api: RunningApp) -> Iterator[str]:
    with served(api) as port:
        yield f"http://127.0.0.1:{port}"


def run(url: str, tenant: dict[str, Any], out: Path, subject: str = ADA, *options: str) -> Result:
    named = ["--url", url, "--token", tenant["operatorToken"], "--out", str(out), *options]
    result = CliRunner().invoke(app, ["subject", subject, *named])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.usefixtures("lived")
def test_given_a_subject_when_written_then_the_file_is_the_export_and_verify_accepts_it(
    api: RunningApp, tenant: dict[str, Any], url: str, tmp_path: Path
) -> None:
    out = tmp_path / "ada.ndjson"

    result = run(url, tenant, out)

    answer = export(api, tenant)
    _, jwks = keep(api, tmp_path, answer.content)
    verified = CliRunner().invoke(app, ["verify", str(out), str(jwks)])
    assert result.exit_code == 0, result.output
    assert "entity enti_ada of first-bank" in result.output
    assert "7 links proved" in result.output
    assert out.read_bytes() == answer.content
    assert not out.with_name("ada.ndjson.part").exists()
    assert verified.exit_code == 0, verified.output


@pytest.mark.usefixtures("lived")
def test_given_a_counterparty_or_a_program_when_named_then_it_is_the_one(
    tenant: dict[str, Any], program: dict[str, Any], url: str, tmp_path: Path
) -> None:
    out = tmp_path / "supplies.ndjson"

    result = run(url, tenant, out, "cpty_ada", "--kind", "counterparty", "--program", program["id"])

    assert result.exit_code == 0, result.output
    assert "counterparty cpty_ada" in result.output


@pytest.mark.usefixtures("lived")
def test_given_a_connection_that_breaks_off_when_written_then_there_is_a_part_and_no_file(
    tenant: dict[str, Any], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(RawEvents, "entries", lost)
    out = tmp_path / "ada.ndjson"

    result = run(url, tenant, out)

    assert result.exit_code == 1
    assert "broke off" in result.output
    assert not out.exists()
    assert b'"table":"manifest"' in out.with_name("ada.ndjson.part").read_bytes()


@pytest.mark.usefixtures("lived")
def test_given_a_record_that_was_changed_when_written_then_it_is_refused_and_there_is_no_file(
    api: RunningApp, tenant: dict[str, Any], url: str, tmp_path: Path
) -> None:
    api.database.execute("UPDATE dispositions SET narrative = 'All was well.'")
    out = tmp_path / "ada.ndjson"

    result = run(url, tenant, out)

    assert result.exit_code == 1
    assert "is not what the row of the same id says" in result.output
    assert not out.exists()


@pytest.mark.usefixtures("lived")
def test_given_the_part_of_an_earlier_export_when_a_new_one_is_refused_then_the_sentence_is_not_about_that_part(
    tenant: dict[str, Any], url: str, tmp_path: Path
) -> None:
    out = tmp_path / "ada.ndjson"
    out.with_name("ada.ndjson.part").write_text("of yesterday")

    refused = [run(url, tenant, out, "nobody"), run(url, tenant | {"operatorToken": "op_wrong"}, out)]

    assert [each.exit_code for each in refused] == [2, 2]
    assert not [each.output for each in refused if "received lines" in each.output]
    assert run(url, tenant, out).exit_code == 0


@pytest.mark.usefixtures("lived")
def test_given_a_full_disk_when_written_then_the_sentence_names_the_file(
    tenant: dict[str, Any], url: str, tmp_path: Path
) -> None:
    out = tmp_path / "ada.ndjson"
    out.with_name("ada.ndjson.part").symlink_to("/dev/full")

    result = run(url, tenant, out)

    assert result.exit_code == 2
    assert f"{out}.part cannot be written: No space left on device." in result.output.replace("\n", "")


def test_given_nobody_of_that_id_a_wrong_token_or_a_file_in_the_way_when_asked_then_a_sentence_and_no_file(
    tenant: dict[str, Any], url: str, tmp_path: Path
) -> None:
    out, there = tmp_path / "nobody.ndjson", tmp_path / "there.ndjson"
    there.write_text("kept")

    runs = [
        run(url, tenant, out, "nobody"),
        run(url, tenant | {"operatorToken": "op_wrong"}, out),
        run(url, tenant, there),
        run("http://127.0.0.1:1", tenant, out),
    ]

    assert [each.exit_code for each in runs] == [2, 2, 2, 2]
    assert "Unknown entity on this tenant." in runs[0].output
    assert "is there already" in runs[2].output
    assert [path.name for path in tmp_path.glob("*.ndjson*")] == ["there.ndjson"]
    assert there.read_text() == "kept"
