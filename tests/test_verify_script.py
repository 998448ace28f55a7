"""Whatever is done to an export, the examiner's script of the documents and ``clearhold verify`` both find it."""

import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import json
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from clearhold.features.core.canonical import Chain, canonical, link_hash
from clearhold.store.duck.database import open_database
from clearhold.store.keys import ANNOUNCED_FOR_US, KeyPurpose, SecretBox, SigningKeys
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import RecordFilter, RecordReader
from tests.support.clock import FrozenClock
from tests.support.principals import an_operator
from tests.support.record import POLICY, TENANT, a_fact, record
from tests.support.running_service import COMMAND

SCRIPT: Final = Path(__file__).parent.parent / "docs" / "verify.py"
OPERATOR: Final = an_operator(TENANT)
PLAIN: Final = 8  # a policy and seven alerts
LINKS: Final = 11  # seven dispositions and four actions
CHAINS: Final = ("dispositions", "actions")
Line = dict[str, Any]


class Kept:
    """What an examiner has: an export, the keys, and checkpoints, the older one under a key that was replaced since."""

    def __init__(self, folder: Path, lines: list[Line]) -> None:
        self.folder, self.lines = folder, lines

    def checkpoints(self, *names: str) -> list[Path]:
        return [self.folder / f"{name}.txt" for name in names]

    def write(self, name: str, lines: list[Line]) -> Path:
        path = self.folder / name
        path.write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
        return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("examiner")
    clock, box = FrozenClock(), SecretBox(bytes(32))
    keys = SigningKeys.open(folder / "keys.json", box=box, clock=clock, purposes=(KeyPurpose.CHECKPOINT,))
    with closing(open_database(folder / "clearhold.duckdb")) as database:
        log = CheckpointLog(database, folder / "record")
        office = RecordCheckpoints(
            database,
            log,
            signing_keys=keys,
            clock=clock,
            origin_of=lambda _, chain: f"risk.example.test/first-bank/{chain}",
        )
        record(database, folder / "record", [a_fact(number) for number in range(4)])
        (folder / "older.txt").write_text(office.sign(OPERATOR, Chain.DISPOSITIONS).note, "utf-8")
        replaced = keys.signing(KeyPurpose.CHECKPOINT)
        keys.announce(KeyPurpose.CHECKPOINT)
        clock.advance(ANNOUNCED_FOR_US)
        actions = [a_fact(number, chain="actions") for number in range(4)]
        record(database, folder / "record", [*(a_fact(number) for number in range(4, 7)), *actions])
        for chain in Chain:
            (folder / f"{chain}.txt").write_text(office.sign(OPERATOR, chain).note, "utf-8")
        reader = RecordReader(database, lambda _: [POLICY])
        lines = [json.decode(line) for batch in reader.export(OPERATOR, RecordFilter(), 3) for line in batch]
    (folder / "jwks.json").write_bytes(jwks_of(keys))
    keys.remove(replaced.kid)
    (folder / "jwks-without.json").write_bytes(jwks_of(keys))
    assert len(lines) == PLAIN + LINKS
    return Kept(folder, lines)


def jwks_of(keys: SigningKeys) -> bytes:
    published = [{"kty": "OKP", "crv": "Ed25519", "x": key.x, "kid": key.kid} for key in keys.published()]
    return json.encode({"keys": published})


def examined(kept: Kept, export: Path, *checkpoints: Path, jwks: str = "jwks.json") -> list[tuple[int, str]]:
    """Exit code and words of the script, and of the command."""
    arguments = [str(path) for path in (export, kept.folder / jwks, *checkpoints)]
    return [script(*arguments), command(*arguments)]


def script(*arguments: str) -> tuple[int, str]:
    """The script, in this process: a start of its own for each of many small changes would take minutes."""
    printed, given = StringIO(), sys.argv
    sys.argv = [str(SCRIPT), *arguments]
    try:
        with redirect_stdout(printed), warnings.catch_warnings(action="ignore", category=ResourceWarning):
            runpy.run_path(str(SCRIPT))
    except SystemExit as end:
        return 1, f"{printed.getvalue()}{end.code}"
    finally:
        sys.argv = given
    return 0, printed.getvalue()


def command(*arguments: str) -> tuple[int, str]:
    run = CliRunner().invoke(app, ["verify", *arguments])
    assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
    return run.exit_code, run.output


def assert_refused(kept: Kept, lines: list[Line], *checkpoints: str) -> None:
    export = kept.write("changed.ndjson", lines)
    for code, printed in examined(kept, export, *kept.checkpoints(*(checkpoints or CHAINS))):
        assert code == 1, printed
        assert "FAIL: " in printed, printed


def test_given_the_script_then_it_is_short_enough_to_be_read() -> None:
    assert len(SCRIPT.read_text("utf-8").splitlines()) <= 125


def test_given_the_script_and_the_command_when_run_as_they_are_shipped_then_the_record_holds(kept: Kept) -> None:
    paths = [kept.write("whole.ndjson", kept.lines), kept.folder / "jwks.json", *kept.checkpoints(*CHAINS)]

    for how in ([str(SCRIPT)], ["-c", COMMAND, "verify"]):
        run = subprocess.run([sys.executable, *how, *map(str, paths)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout.count("ok ") == 2


def test_given_an_export_as_it_was_made_when_examined_then_it_holds(kept: Kept) -> None:
    export = kept.write("whole.ndjson", kept.lines)

    for code, printed in examined(kept, export, *kept.checkpoints(*CHAINS, "older")):
        assert code == 0, printed
        assert "7 links, the checkpoint is over 7" in printed
        assert "4 links, the checkpoint is over 4" in printed
    for code, printed in examined(kept, export, *kept.checkpoints("older", "actions")):
        assert code == 0, printed
        assert "7 links, the checkpoint is over 4" in printed


@pytest.mark.parametrize("at", range(PLAIN + LINKS))
def test_given_a_line_deleted_or_edited_when_examined_then_it_is_found(kept: Kept, at: int) -> None:
    body = kept.lines[at]["body"]
    name = max(body)
    edited = kept.lines[at] | {"body": body | {name: "something else"}}

    assert_refused(kept, kept.lines[:at] + kept.lines[at + 1 :])
    assert_refused(kept, [*kept.lines[:at], edited, *kept.lines[at + 1 :]])


@pytest.mark.parametrize("at", [PLAIN, PLAIN + 3, PLAIN + 5, PLAIN + LINKS - 2])
def test_given_two_links_swapped_when_examined_then_it_is_found(kept: Kept, at: int) -> None:
    swapped = list(kept.lines)
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    renumbered = list(swapped)
    renumbered[at], renumbered[at + 1] = (
        swapped[at] | {"seq": kept.lines[at]["seq"]},
        swapped[at + 1] | {"seq": kept.lines[at + 1]["seq"]},
    )

    assert_refused(kept, swapped)
    assert_refused(kept, renumbered)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "action"},
        {"kind": "alert"},
        {"chain": "actions"},
        {"chain": None},
        {"seq": 5},
        {"prevHash": "0" * 64},
        {"hash": "0" * 64},
        {"more": 1},
    ],
)
def test_given_a_field_of_a_line_changed_when_examined_then_it_is_found(kept: Kept, change: Line) -> None:
    at = PLAIN + 2

    assert_refused(kept, [*kept.lines[:at], kept.lines[at] | change, *kept.lines[at + 1 :]])


@pytest.mark.parametrize("left", [PLAIN + 6, PLAIN + LINKS - 1, PLAIN, 0])
def test_given_a_cut_end_when_examined_then_it_is_found(kept: Kept, left: int) -> None:
    assert_refused(kept, kept.lines[:left])


def rewritten(kept: Kept) -> list[Line]:
    """History as somebody with the database would write it: another narrative, every hash right."""
    lines, heads = [], dict[str, tuple[int, str | None]]()
    for line in kept.lines:
        if line["chain"] is None:
            lines.append(line)
            continue
        seq, head = heads.get(line["chain"], (0, None))
        body = line["body"] | ({"narrative": "All was well."} if seq == 1 else {})
        hash_ = link_hash(head, canonical(body))
        lines.append(line | {"body": body, "prevHash": head, "hash": hash_})
        heads[line["chain"]] = (seq + 1, hash_)
    return lines


@pytest.mark.parametrize("checkpoints", [CHAINS, ("older", "actions"), ("dispositions", "actions", "older")])
def test_given_a_history_written_anew_when_examined_then_a_kept_checkpoint_tells(
    kept: Kept, checkpoints: tuple[str, ...]
) -> None:
    assert_refused(kept, rewritten(kept), *checkpoints)


def test_given_an_alert_line_that_no_link_cites_when_examined_then_it_is_found(kept: Kept) -> None:
    stray = kept.lines[1] | {"body": {"id": "never opened"}}

    assert_refused(kept, [stray, *kept.lines])


def test_given_a_line_that_is_not_canonical_when_examined_then_it_is_found(kept: Kept) -> None:
    for spell in (lambda raw: raw.replace(b":", b": ", 1), lambda raw: raw.replace(b"\xe2\x80\x9c", b"\\u201c")):
        respelt: Callable[[bytes], bytes] = spell
        export = kept.write("respelt.ndjson", kept.lines)
        export.write_bytes(respelt(export.read_bytes()))
        for code, printed in examined(kept, export, *kept.checkpoints(*CHAINS)):
            assert code == 1, printed
            assert "FAIL: " in printed


def test_given_no_checkpoint_of_a_chain_when_examined_then_a_cut_end_cannot_be_ruled_out(kept: Kept) -> None:
    for code, printed in examined(kept, kept.write("whole.ndjson", kept.lines), *kept.checkpoints("dispositions")):
        assert code == 1
        assert "cannot be ruled out" in printed


def test_given_a_checkpoint_that_was_changed_or_signed_by_another_when_examined_then_it_is_found(kept: Kept) -> None:
    export, (note,) = kept.write("whole.ndjson", kept.lines), kept.checkpoints("older")
    changed = kept.folder / "changed.txt"
    changed.write_text(note.read_text("utf-8").replace("\n4\n", "\n3\n"), "utf-8")
    box = SecretBox(bytes(32))
    other = SigningKeys.open(
        kept.folder / "other.json", box=box, clock=FrozenClock(), purposes=(KeyPurpose.CHECKPOINT,)
    )
    (kept.folder / "other-jwks.json").write_bytes(jwks_of(other))

    runs = [
        *examined(kept, export, changed, *kept.checkpoints("actions")),
        *examined(kept, export, *kept.checkpoints(*CHAINS), jwks="other-jwks.json"),
    ]

    assert [code for code, _ in runs] == [1, 1, 1, 1]
    assert all("FAIL" in printed for _, printed in runs)


def test_given_a_key_that_was_removed_when_examined_then_its_checkpoints_count_no_more_and_later_ones_do(
    kept: Kept,
) -> None:
    export, jwks = kept.write("whole.ndjson", kept.lines), "jwks-without.json"

    with_older = examined(kept, export, *kept.checkpoints(*CHAINS, "older"), jwks=jwks)
    without = examined(kept, export, *kept.checkpoints(*CHAINS), jwks=jwks)

    assert [code for code, _ in with_older] == [1, 1]
    assert [code for code, _ in without] == [0, 0]


def test_given_an_export_of_a_range_when_verified_as_one_then_continuity_is_checked(kept: Kept) -> None:
    links = kept.lines[PLAIN + 2 : PLAIN + 5]
    cited = {line["body"]["alertSha256"] for line in links} | {line["body"]["policySha256"] for line in links}
    plain = [line for line in kept.lines[:PLAIN] if link_hash(None, canonical(line["body"])) in cited]
    jwks = str(kept.folder / "jwks.json")
    export = str(kept.write("range.ndjson", plain + links))

    code, printed = command(export, jwks, "--range")
    broken, _ = command(str(kept.write("hole.ndjson", [*plain, links[0], links[2]])), jwks, "--range")
    as_whole, _ = command(export, jwks, *map(str, kept.checkpoints(*CHAINS)))

    assert code == 0, printed
    assert "3 links follow one another" in printed
    assert (broken, as_whole) == (1, 1)


def test_given_files_that_are_none_when_verified_then_it_says_so_and_does_not_begin(kept: Kept) -> None:
    export, jwks = str(kept.write("whole.ndjson", kept.lines)), str(kept.folder / "jwks.json")
    nowhere, no_jwks = str(kept.folder / "nowhere"), kept.folder / "no-jwks.json"
    no_jwks.write_text("{}")

    runs = [command(nowhere, jwks), command(export, str(no_jwks)), command(export, jwks, nowhere)]

    assert [code for code, _ in runs] == [2, 2, 2]
    assert all(printed for _, printed in runs)


@pytest.mark.parametrize("replaced", range(4))
def test_given_an_answer_of_the_service_that_is_an_error_when_kept_as_a_file_then_it_is_said(
    kept: Kept, replaced: int
) -> None:
    envelope = kept.folder / "envelope.json"
    envelope.write_bytes(json.encode({"error": "Too many requests of this kind.", "requestId": "r-1"}))
    paths = [kept.write("whole.ndjson", kept.lines), kept.folder / "jwks.json", *kept.checkpoints(*CHAINS)]
    paths[replaced] = envelope

    (code, printed), (code_of_command, printed_by_command) = (run(*map(str, paths)) for run in (script, command))

    assert (code, printed[:6]) == (1, "FAIL: ")
    assert code_of_command in {1, 2}
    assert printed_by_command
