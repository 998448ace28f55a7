"""``clearhold sql`` on a small lake: answers in every form, sentences for mistakes, the prompt, and nothing written."""

import contextlib
import csv
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import pytest
from typer.testing import CliRunner, Result

from clearhold.api.cli import sql as sql_command
from clearhold.api.cli.main import app
from clearhold.api.cli.sql import MOST_SHOWN, Format, run_prompt, write_answer
from clearhold.features.core.instants import format_instant
from clearhold.store.analysts.session import AnalystSession, QueryAnswer
from clearhold.store.duck.database import open_database
from tests.support.clock import FrozenClock
from tests.support.duck_rows import AT, a_label, a_scoring
from tests.support.small_lake import SmallLake

NO_USER: Final = 2_000_000_001
"""The number of no user."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    with open_database(folder / "clearhold.duckdb") as database:
        lake = SmallLake(folder, database, FrozenClock(AT))
        lake.write(
            [
                a_scoring("trf_1", AT, 0, score=80, band="hold"),
                a_scoring("trf_2", AT, 0, score=None, band="unscored"),
                a_label(reason='It said "\x1b[2J", twice.'),
            ]
        )
        yield folder


def sql(data: Path, *arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["sql", "--data", str(data), *arguments], input=stdin)


ROWS = "SELECT transfer_id, score, taken_at, hard FROM transfer_scores ORDER BY transfer_id"


def test_given_a_query_when_it_is_answered_then_every_form_has_all_values_and_null_stays_null(data: Path) -> None:
    at = format_instant(AT)
    as_csv, as_json, as_lines = (sql(data, ROWS, "--format", form).stdout for form in ("csv", "json", "ndjson"))

    records = msgspec.json.decode(as_json)
    assert [(each["transfer_id"], each["score"], each["hard"]) for each in records] == [
        ("trf_1", 80, False),
        ("trf_2", None, False),
    ]
    assert {each["taken_at"][:19] + "Z" for each in records} == {at[:19] + "Z"}
    assert [msgspec.json.decode(line) for line in as_lines.splitlines()] == records
    assert [row[:2] for row in csv.reader(as_csv.splitlines())] == [
        ["transfer_id", "score"],
        ["trf_1", "80"],
        ["trf_2", ""],
    ]
    table = sql(data, ROWS).stdout.splitlines()
    assert table[2].split()[:2] == ["trf_2", "null"]
    assert table[-1] == "2 rows"
    assert sql(data, "SELECT 1 WHERE false", "--format", "json").stdout == "[]\n"


def test_given_queries_in_a_file_or_on_standard_input_when_they_are_read_then_each_is_answered(
    data: Path, tmp_path: Path
) -> None:
    text = "SELECT count(*) AS n FROM labels; -- a remark\nSELECT band FROM band_outcomes() WHERE n > 0;"
    file = tmp_path / "queries.sql"
    file.write_text(text)

    answers = [sql(data, "--file", str(file), "--format", "csv"), sql(data, "--format", "csv", stdin=text)]

    assert [(each.exit_code, each.stdout) for each in answers] == [(0, "n\n1\nband\nhold\n")] * 2


def test_given_text_of_outsiders_when_a_table_shows_it_then_nothing_of_it_moves_the_cursor(data: Path) -> None:
    shown = sql(data, "SELECT reason FROM labels").stdout

    assert "\x1b" not in shown
    assert r"\x1b[2J" in shown


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT 1;\nSELEC 2", "LINE 2: SELEC 2"),
        ("FROM transferz", 'Did you mean "transfers"'),
        ("FROM band_outcome()", 'Did you mean "band_outcomes'),
        ("FROM label_versions WHERE reasn = 'x'", '"reason"'),
        ("CREATE TABLE mine (a INTEGER)", "not CREATE: the lake is read-only"),
        ("COPY (SELECT 1) TO '{data}/lake/tables/mine.parquet'", "not COPY"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{data}/lake/tables/mine.parquet'", "not EXPLAIN"),
        ("SELECT 1; COPY (SELECT 1) TO '{data}/lake/parts.json'", "not COPY"),
        ("ATTACH '{data}/clearhold.duckdb' AS service", "not ATTACH"),
        ("SET lock_configuration = false", "not SET"),
        ("FROM enable_profiling(save_location := '{data}/lake/parts.json'); SELECT 1", "enable_profiling() is not"),
        ("SELECT 1 WHERE 1 IN (FROM system.main.\"Enable_Logging\"(storage := 'file'))", "enable_logging() is not"),
        ("FROM query('FROM enable_' || 'profiling()')", "query() is not"),
        ("FROM read_text('/etc/passwd')", "Permission Error"),
        ("FROM read_blob('{data}/clearhold.duckdb')", "Permission Error"),
        ("FROM read_blob('{data}/lake/log/**')", "Permission Error"),
        ("FROM read_blob('{data}/lake/tables/../../clearhold.duckdb')", "Permission Error"),
    ],
)
def test_given_a_query_that_is_wrong_or_does_more_than_read_then_a_sentence_says_so_and_no_file_is_touched(
    data: Path, query: str, sentence: str
) -> None:
    before = digests(data)

    result = sql(data, query.format(data=data))

    assert (result.exit_code, result.stdout) == (1, "" if "SELEC 2" not in query else result.stdout)
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert digests(data) == before


def test_given_a_machine_elsewhere_when_instants_are_held_against_now_then_both_are_utc(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT now() AS at, now() = make_timestamp(epoch_us(now())) AS is_utc, "
    query += "current_setting('max_temp_directory_size') AS spilled"
    monkeypatch.setenv("TZ", "America/New_York")

    (row,) = msgspec.json.decode(sql(data, query, "--format", "json").stdout)

    assert (row["at"][-6:], row["is_utc"], row["spilled"]) == ("+00:00", True, "9.3 GiB")


def digests(folder: Path) -> dict[str, str]:
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_given_no_lake_or_no_data_directory_when_it_is_queried_then_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "young" / "lake").mkdir(parents=True)

    nothing, young = sql(tmp_path / "no", "SELECT 1"), sql(tmp_path / "young", "SELECT 1")

    assert (nothing.exit_code, young.exit_code) == (2, 2)
    assert "is not a data directory" in nothing.stderr
    assert "has no lake yet: a service makes it within a minute" in young.stderr


def test_given_a_writer_of_the_database_when_the_lake_is_queried_then_both_go_on(data: Path) -> None:
    with pytest.raises(duckdb.Error), duckdb.connect(str(data / "clearhold.duckdb"), read_only=True):
        pass  # the fixture has it open to write, as a service has

    assert sql(data, "SELECT count(*) AS n FROM labels", "--format", "csv").stdout == "n\n1\n"


def test_given_a_terminal_when_lines_are_typed_then_queries_end_at_semicolons_and_mistakes_do_not_end_the_prompt(
    data: Path, tmp_path: Path
) -> None:
    typed = "\\d\n\\d labels\n\\d nothing\nSELECT 'a;\nb' AS text,\n 41 + 1 AS sum;\nSELEC;\n"
    typed += "\\f csv\nSELECT 7 AS n;\n\\q\n"
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("clearhold")), "sql", "--data", str(data)]
    environment = os.environ | {"HOME": str(tmp_path), "COLUMNS": "300", "TERM": "dumb"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment) as prompt:
        os.close(theirs)
        os.write(ours, typed.encode())
        output = written_to(ours)
        errors = prompt.communicate(timeout=60)[1].decode()
    os.close(ours)

    assert prompt.returncode == 0, errors
    assert "band_outcomes(program" in output
    assert "bad or ok." in output
    assert r"a;\nb" in output
    assert "42" in output
    assert "\n7\n" in output.replace("\r", "")
    assert "There is no view of this name" in errors
    assert 'syntax error at or near "SELEC"' in errors
    assert "SELECT 7 AS n;" in (tmp_path / ".clearhold_sql_history").read_text()


def test_given_a_user_without_a_home_when_the_prompt_ends_then_the_history_alone_is_missing(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["SELECT 41 + 1 AS n;", "\\q"])
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: NO_USER)
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    with contextlib.closing(AnalystSession.open(data)) as session:
        run_prompt(session, Format.CSV)

    assert capsys.readouterr().out.splitlines()[1:] == ["n", "42"]


def test_given_more_rows_than_a_table_shows_then_it_reads_no_more_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = iter([(number,) for number in range(3 * MOST_SHOWN)])
    write_answer(QueryAnswer(("n",), ("INTEGER",), rows), Format.TABLE)

    shown = capsys.readouterr().out.splitlines()

    assert len(shown) == MOST_SHOWN + 2
    assert shown[-1] == "the first 500 rows of more; --format csv has all"
    assert next(rows) == (MOST_SHOWN + 1,)


def test_given_just_as_many_rows_as_a_table_shows_then_those_are_all(capsys: pytest.CaptureFixture[str]) -> None:
    write_answer(QueryAnswer(("n",), ("INTEGER",), iter([(7,)] * MOST_SHOWN)), Format.TABLE)

    assert capsys.readouterr().out.splitlines()[-1] == "500 rows"


def written_to(terminal: int) -> str:
    """Everything until whoever writes to it has ended."""
    output = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while more := os.read(terminal, 4096):
            output += more
    return output.decode()


THREADS: Final = "SELECT current_setting('threads') AS n"


def test_given_no_wish_when_queries_run_then_they_take_half_of_the_cores_else_as_many_as_they_are_given(
    data: Path,
) -> None:
    half = max(1, (os.cpu_count() or 1) // 2)

    assert sql(data, THREADS, "--format", "csv").stdout == f"n\n{half}\n"
    assert sql(data, THREADS, "--format", "csv", "--threads", "3").stdout == "n\n3\n"


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no idle tasks")
def test_given_the_command_when_it_waits_for_a_query_then_every_thread_of_it_is_an_idle_task(data: Path) -> None:
    command = [str(Path(sys.executable).with_name("clearhold")), "sql", "--data", str(data), "--threads", "3"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL) as prompt:
        os.close(theirs)
        os.write(ours, b"SELECT 6 * 7 AS answer;\n")
        output = b""
        while b"42" not in output:
            output += os.read(ours, 4096)
        children = Path(f"/proc/{prompt.pid}/task/{prompt.pid}/children").read_text().split()
        threads = [int(thread.name) for child in children for thread in Path(f"/proc/{child}/task").iterdir()]
        classes = {os.sched_getscheduler(thread) for thread in threads}
        os.write(ours, b"\\q\n")
        written_to(ours)
    os.close(ours)

    assert len(threads) >= 3
    assert classes == {os.SCHED_IDLE}
    assert prompt.returncode == 0


def test_given_a_query_that_takes_long_when_it_runs_then_standard_error_says_so_and_the_answer_is_whole(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    long = "SELECT count(*) AS n FROM range(20_000_000) numbers(n) WHERE hash(n) = 0"
    words, written = ["--data", str(data), long, "--format", "csv"], []
    for slow_s in (0.01, 3_600.0):
        monkeypatch.setattr(sql_command, "SLOW_S", slow_s)
        assert sql_command.run_sql_aside(words) == 0
        written.append(capfd.readouterr())
    slow, quick = written

    assert slow.out == quick.out
    assert slow.out.startswith("n\n")
    assert "of 600, on cores that no other process uses" in slow.err
    assert quick.err == ""


def test_given_a_query_without_an_end_when_its_time_is_over_then_it_ends_and_says_so(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    endless = "SELECT count(*) AS n FROM range(1_000_000_000_000) numbers(n) WHERE hash(n) = 0"

    assert sql_command.run_sql_aside(["--data", str(data), "--within", "1", endless]) == 128 + signal.SIGTERM

    ended = capfd.readouterr()
    assert (ended.out, ended.err) == ("", "Ended after 1 s without an answer. A larger --within waits longer.\n")


HOLDS: Final = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def locked(data: Path, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A copy of the lake whose file another program writes to, as it may by mistake."""
    file = Path(shutil.copytree(data, tmp_path / "locked")) / "lake" / "analyst.duckdb"
    file.chmod(0o600)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield tmp_path / "locked", holder
        holder.kill()


def test_given_a_lock_when_the_lake_is_queried_then_it_says_who_has_it_and_ends_at_once(
    locked: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    folder, holder = locked

    refused = sql(folder, "SELECT 1 AS n")
    holder.communicate()  # it ends at the end of its input
    answered = sql(folder, "SELECT 1 AS n", "--format", "csv")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Could not set lock" in refused.stderr
    assert f"PID {holder.pid}" in refused.stderr
    assert (answered.exit_code, answered.stdout) == (0, "n\n1\n")


def test_given_columns_of_one_name_when_they_are_written_as_json_then_none_is_lost(data: Path) -> None:
    (row,) = msgspec.json.decode(sql(data, "SELECT 1 AS n, 2 AS n, 3 AS m", "--format", "json").stdout)

    assert row == {"n": 1, "n_1": 2, "m": 3}


def test_given_an_empty_query_then_standard_input_is_not_read(data: Path) -> None:
    result = sql(data, "", stdin="SELECT 7 AS seven")

    assert (result.exit_code, result.stdout) == (0, "")
