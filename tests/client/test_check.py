"""``clearhold replay --check``: what would become of the lines of a file, without a service."""

import gzip
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from clearhold.api.cli.replay import replay
from clearhold.client.event_lines import MAX_LINE_BYTES
from tests.support import bank_events as bank

WIRE = "wire.outgoing_transfer.initiated"


def checked(folder: Path, content: bytes) -> Result:
    path = folder / "events.ndjson"
    path.write_bytes(content)
    app = typer.Typer()
    app.command()(replay)
    app.command("other")(lambda: None)
    return CliRunner().invoke(app, ["replay", str(path), "--check"])


def counts(result: Result) -> dict[str, int]:
    pairs = [line.split() for line in result.stdout.splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def a_wire(number: int, kind: str = WIRE, **over: object) -> bytes:
    return bank.an_event(kind, bank.a_wire(id=f"wire_{number}", **over), event_id=f"evnt_{number}")


def test_given_lines_of_every_kind_when_checked_then_counts_reasons_lines_and_paths_are_shown(tmp_path: Path) -> None:
    lines = [
        a_wire(1),
        a_wire(2, amount=9850.5),
        a_wire(2),
        a_wire(2),
        a_wire(2, amount=7),
        b"{broken",
        b'{"id":"e","type":"t"}',
        a_wire(8, kind="sepa.x.y"),
        b"x" * (MAX_LINE_BYTES + 1),
        a_wire(10, kind="loan.created"),
        a_wire(11, currency_code="EURO"),
    ]

    result = checked(tmp_path, b"\n".join(lines))

    shown = result.stdout.splitlines()
    assert result.exit_code == 1
    assert counts(result) == {
        "applied": 3,
        "conflicting": 1,
        "duplicate": 1,
        "refused": 3,
        "stored": 1,
        "unknown": 1,
        "unusable": 1,
    }
    assert [line.partition(": ")[0] for line in shown if line.startswith("line ")] == [
        f"line {number}" for number in (2, 5, 6, 7, 8, 9)
    ]
    assert "line 2: unusable [data.amount]: data.amount must be whole cents" in result.stdout
    assert "line 7: refused [created_at]: Validation failed: created_at is required" in result.stdout
    assert "line 8: unknown [type]: type must begin with one of the families" in result.stdout
    assert "1 line, first line 11: data.currency_code must be" in result.stdout


def test_given_a_file_in_which_all_is_well_when_checked_then_it_says_so_with_code_0(tmp_path: Path) -> None:
    result = checked(tmp_path, b"\r\n".join(a_wire(number) for number in range(300)))

    assert (result.exit_code, counts(result)) == (0, {"applied": 300})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"id,type,created_at\n1,2,3\n", "this looks like CSV"),
        (b"id;type;created_at\n1;2;3\n", "this looks like CSV"),
        (gzip.compress(a_wire(1) * 50), "this is gzip"),
        (a_wire(1).decode().encode("utf-16"), "this is UTF-16"),
        (a_wire(1).decode().encode("utf-16-be"), "this looks like UTF-16"),
        (b"[" + a_wire(1) + b"]", "this looks like a JSON array"),
        (b"\xef\xbb\xbf" + a_wire(1), "byte order mark"),
        (json.dumps(json.loads(a_wire(1)), indent=2).encode(), "several lines"),
        (b"PAR1" + bytes(100), "Parquet"),
        (b"<events/>", "XML"),
        (b"\n\n", "holds no events"),
    ],
)
def test_given_a_file_of_another_kind_when_checked_then_one_sentence_says_what_it_looks_like(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    result = checked(tmp_path, content)

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""


def test_given_no_check_and_no_address_when_replayed_then_it_says_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "events.ndjson").write_bytes(a_wire(1))
    app = typer.Typer()
    app.command()(replay)
    app.command("other")(lambda: None)

    result = CliRunner().invoke(app, ["replay", str(tmp_path / "events.ndjson")])

    assert result.exit_code == 2
    assert "--url, --program and --secret are needed" in result.stderr
