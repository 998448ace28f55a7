"""Whatever is done to the export of a subject, the examiner's script and ``clearhold verify`` both see it."""

from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import json, structs

from clearhold.features.core.canonical import canonical, digest_of, link_hash
from clearhold.store.record.export_check import BrokenExportError, public_keys_of
from clearhold.store.record.signed_trees import opened_note
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.subjects.check import SubjectCheck
from tests.support.running_app import RunningApp
from tests.support.subjects import Line, export, keep, live
from tests.test_verify_script import command, script

CLOSED: Final = "It was explained by the program's documents."


class Examined:
    """An export of a subject as an examiner has it, with the published keys and a checkpoint of another day."""

    def __init__(self, folder: Path, content: bytes) -> None:
        self.folder, self.raw = folder, content.splitlines(keepends=True)
        self.lines: list[Line] = [json.decode(line) for line in self.raw]

    def at(self, table: str, nth: int = 0) -> int:
        """Where the nth line of a table is."""
        return [number for number, line in enumerate(self.lines) if line["table"] == table][nth]

    def run(self, content: bytes, *kept: str) -> list[tuple[int, str]]:
        path = self.folder / "changed.ndjson"
        path.write_bytes(content)
        paths = [str(path), str(self.folder / "jwks.json"), *(str(self.folder / name) for name in kept)]
        return [script(*paths), command(*paths)]

    def edited(self, at: int, **fields: Any) -> bytes:
        """With fields of one row changed, by somebody who writes a matching end."""
        lines = list(self.lines)
        lines[at] = lines[at] | {"row": lines[at]["row"] | fields}
        return ended(lines)


def ended(lines: list[Line]) -> bytes:
    """The lines with an end that counts and digests them."""
    raw = [json.encode(line) + b"\n" for line in lines[:-1]]
    tables = [line["table"] for line in lines[1:-1]]
    counts = {table: tables.count(table) for table in lines[0]["row"]["tables"]}
    end = {"counts": counts, "lines": len(raw), "sha256": sha256(b"".join(raw)).hexdigest()}
    return b"".join([*raw, json.encode({"table": "end", "row": end}) + b"\n"])


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory, redis_server: EmbeddedRedis) -> Examined:
    folder = tmp_path_factory.mktemp("subject")
    with closing(connect_sync(redis_server.socket_path)) as client, ExitStack() as opened:
        client.flushall()
        api = RunningApp(folder, redis_server.socket_path, opened)
        tenant = api.create_tenant()
        program = api.create_program(tenant)
        live(api, tenant, program)
        answer = export(api, tenant)
        keep(api, folder, answer.content)
        for name, size in (("same.txt", 2), ("older.txt", 1)):
            query = {"chain": "dispositions", "size": str(size)}
            note = api.client.get("/api/record/checkpoint", params=query, headers=api.operator(tenant)).text
            (folder / name).write_text(note, "utf-8")
        other = api.create_tenant("second-bank")
        query = {"chain": "dispositions"}
        note = api.client.get("/api/record/checkpoint", params=query, headers=api.operator(other)).text
        (folder / "other.txt").write_text(note, "utf-8")
    return Examined(folder, answer.content)


def assert_refused(runs: list[tuple[int, str]], why: str = "") -> None:
    for code, printed in runs:
        assert code == 1, printed
        assert "FAIL: " in printed, printed
    assert why in runs[1][1]


def test_given_an_export_as_it_was_made_when_examined_then_it_holds(examined: Examined) -> None:
    content = b"".join(examined.raw)

    for kept in ((), ("same.txt",), ("older.txt", "same.txt")):
        for code, printed in examined.run(content, *kept):
            assert code == 0, printed
            assert "entity enti_ada" in printed
            assert "none cut off" in printed
    assert examined.run(ended(examined.lines))[0][0] == 0  # so that what is refused below is refused for the change


@pytest.mark.parametrize("left", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_given_a_file_that_was_cut_anywhere_when_examined_then_it_is_seen(examined: Examined, left: float) -> None:
    content = b"".join(examined.raw)

    assert_refused(examined.run(content[: max(1, int(len(content) * left))]))


def test_given_a_file_without_its_last_line_or_its_last_byte_when_examined_then_it_is_seen(examined: Examined) -> None:
    content = b"".join(examined.raw)

    assert_refused(examined.run(b"".join(examined.raw[:-1])), "has no end")
    assert_refused(examined.run(content[:-1]), "is cut")
    assert_refused(examined.run(content + examined.raw[1]), "behind the end")


def test_given_any_line_deleted_repeated_or_changed_when_examined_then_it_is_seen(examined: Examined) -> None:
    for at in range(len(examined.raw) - 1):
        before, line, behind = examined.raw[:at], examined.raw[at], examined.raw[at + 1 :]
        changed = line.replace(b'"row":{', b'"row":{"more":1,', 1)
        for content in (before + behind, [*before, line, line, *behind], [*before, changed, *behind]):
            assert_refused(examined.run(b"".join(content)))


@pytest.mark.parametrize(
    ("table", "fields", "why"),
    [
        ("dispositions", {"narrative": "All was well."}, "row of the same id"),
        ("dispositions", {"decision": "hold"}, "row of the same id"),
        ("dispositions", {"decidedBy": "operator:eve"}, "row of the same id"),
        ("dispositions", {"id": "00000000-0000-4000-8000-00000000ffff"}, "row of the same id"),
        ("actions", {"targetId": "bacc_bob"}, "contradicts"),
        ("alerts", {"alertSha256": "0" * 64}, "missing"),
        ("alert_bodies", {"body": {"id": "never opened"}}, "digest"),
        ("policies", {"body": {"version": "policy-v9"}}, "digest"),
        ("record_checkpoints", {"note": "a\n1\nb\n\nc d e\n"}, "proves nothing"),
        ("record_chain", {"hash": "0" * 64}, "hash"),
        ("record_chain", {"seq": 1}, "not in the tree"),
        ("record_chain", {"seq": -1}, "not in the tree"),
        ("record_chain", {"seq": 10**9}, "not in the tree"),
        ("record_chain", {"proof": []}, "not in the tree"),
        ("record_chain", {"proof": ["A" * 43 + "="]}, "not in the tree"),
        ("record_chain", {"chain": "labels"}, "without a checkpoint"),
    ],
)
def test_given_a_row_changed_by_somebody_who_writes_a_matching_end_when_examined_then_it_is_seen(
    examined: Examined, table: str, fields: Line, why: str
) -> None:
    assert_refused(examined.run(examined.edited(examined.at(table), **fields)), why)


def test_given_a_decision_rewritten_with_its_link_when_examined_then_the_checkpoint_tells(examined: Examined) -> None:
    lines = [dict(line) for line in examined.lines]
    row, link = lines[examined.at("dispositions")], lines[examined.at("record_chain")]
    body = link["row"]["body"] | {"narrative": "All was well."}
    assert link["row"]["body"]["narrative"] == CLOSED
    row["row"] = row["row"] | {"narrative": "All was well."}
    link["row"] = link["row"] | {"body": body, "hash": link_hash(link["row"]["prevHash"], canonical(body))}

    assert_refused(examined.run(ended(lines)), "not in the tree")


def test_given_rows_left_out_with_a_matching_end_when_examined_then_what_belongs_together_is_missed(
    examined: Examined,
) -> None:
    for table in ("dispositions", "actions", "record_chain", "alert_bodies", "policies", "record_checkpoints"):
        without = [line for line in examined.lines if line["table"] != table]
        assert_refused(examined.run(ended(without)))


@pytest.mark.parametrize("status", ["executed", "declined"])
def test_given_an_action_shown_with_another_end_when_examined_then_its_last_link_tells(
    examined: Examined, status: str
) -> None:
    rows = [line["row"].get("status") if line["table"] == "actions" else None for line in examined.lines]
    at = rows.index(status)

    assert_refused(examined.run(examined.edited(at, status="refused")), "last link")
    assert_refused(examined.run(ended([*examined.lines[:at], *examined.lines[at + 1 :]])), "last link")


def test_given_an_alert_body_replaced_with_its_digest_when_examined_then_its_alert_misses_it(
    examined: Examined,
) -> None:
    at = examined.at("alert_bodies")
    body = examined.lines[at]["row"]["body"] | {"severity": "low"}

    assert_refused(examined.run(examined.edited(at, body=body, sha256=digest_of(canonical(body)))), "missing")


def test_given_another_tenants_manifest_or_format_when_examined_then_it_is_seen(examined: Examined) -> None:
    assert_refused(examined.run(examined.edited(0, tenant="second-bank")), "another chain")
    assert_refused(examined.run(examined.edited(0, tables={})))


def test_given_a_checkpoint_of_another_tenant_when_examined_then_it_says_nothing(examined: Examined) -> None:
    for code, printed in examined.run(b"".join(examined.raw), "other.txt"):
        assert code == 0, printed


def test_given_a_kept_checkpoint_that_says_otherwise_when_examined_then_it_is_seen(examined: Examined) -> None:
    keys = public_keys_of((examined.folder / "jwks.json").read_bytes())
    own = opened_note((examined.folder / "same.txt").read_text("utf-8"), keys)
    check = SubjectCheck(keys, [structs.replace(own, root=bytes(32))])
    for raw in examined.raw:
        check.take(raw)

    with pytest.raises(BrokenExportError, match="the checkpoint that you kept"):
        check.finish()


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b'{"table":1,"row":{}}\n',
        b'{"table":"alerts","row":[]}\n',
        b'{"table":"alerts","row":{}}\n',
        b'{"table":"dispositions","row":{"id":[]}}\n',
        b'{"table":"policies","row":{"sha256":[],"body":{}}}\n',
        b'{"table":"policies","row":{"sha256":"a","body":1e300}}\n',
        b'{"table":"record_chain","row":{"chain":"actions"}}\n',
        b'{"table":"record_chain","row":{"chain":[]}}\n',
        b'{"table":"manifest","row":{}}\n',
        b'{"table":"end","row":{}}\n',
        b'{"table":"end","row":{"counts":[],"sha256":1}}\n',
        b'{"table":"end","row":{"counts":{},"sha256":null}}\n',
        b'{"table":"alerts","row":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001 + b"\n",
        b"\xff\xfe\n",
        b'{"table":"\\ud800","row":{}}\n',
    ],
)
def test_given_a_line_of_anything_when_examined_then_it_is_refused_in_a_sentence(
    examined: Examined, line: bytes
) -> None:
    first, *others = examined.raw

    assert_refused(examined.run(b"".join([first, line, *others])))
    for code, printed in examined.run(line + b"".join(examined.raw)):
        assert code == 1, printed
        assert "FAIL: " in printed
