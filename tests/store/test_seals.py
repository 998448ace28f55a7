"""A seal holds for one entry at one place in one log, and for no other."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.store.seals import EntrySeals, number_of
from tests.support.duck_rows import AT

SEALS = EntrySeals.under(bytes(range(32)))
OTHERS = EntrySeals.under(bytes(range(1, 33)))
CONTENTS: tuple[str, str, int, bytes] = (EntryKind.DECISION, "prg_1", AT, b'{"decision":"close"}')


def an_entry(seals: EntrySeals = SEALS, **over: Any) -> LogEntry:
    kind, program_id, at, body = CONTENTS
    seal = seals.seal("log:3", kind, program_id, at, body)
    return msgspec.structs.replace(LogEntry(3, 1, kind, program_id, at, body, seal), **over)


def test_given_an_entry_as_written_when_checked_then_it_is_genuine_also_by_a_process_with_the_derived_key() -> None:
    entry = an_entry()

    assert SEALS.checked("log:3", entry) is entry
    assert EntrySeals(SEALS.key).checked("log:3", entry) is entry
    assert an_entry().seal != entry.seal  # a repeated entry can be told from an equal one


@pytest.mark.parametrize(
    ("stream", "over"),
    [
        ("log:4", {}),
        ("log:tenant:3", {}),
        ("log:3", {"kind": "action"}),
        ("log:3", {"program_id": "prg_2"}),
        ("log:3", {"program_id": ""}),
        ("log:3", {"appended_at": AT + 1}),
        ("log:3", {"body": b'{"decision":"hold"}'}),
        ("log:3", {"kind": "decisio", "program_id": "nprg_1"}),  # the same bytes, cut in another place
        ("log:3", {"seal": b""}),
        ("log:3", {"seal": b"\x00" * 24}),
        ("log:3", {"seal": an_entry().seal[:-1]}),
        ("log:3", {"seal": an_entry().seal + b"\x00"}),
        ("log:3", {"seal": an_entry().seal[8:]}),
        ("log:3", {"seal": an_entry(OTHERS).seal}),
    ],
)
def test_given_a_genuine_entry_when_it_stands_elsewhere_or_differs_then_it_is_forged(
    stream: str, over: dict[str, Any]
) -> None:
    checked = SEALS.checked(stream, an_entry(**over))

    assert checked == an_entry(**over, seal=checked.seal, is_forged=True) if "seal" not in over else checked.is_forged


def test_given_a_bank_event_then_it_has_no_seal_and_needs_none() -> None:
    event = LogEntry(3, 1, "bank", "prg_1", AT, b"{}")

    assert SEALS.seal("log:3", EntryKind.BANK, "prg_1", AT, b"{}") == b""
    assert SEALS.checked("log:3", event) is event
    assert SEALS.checked("log:3", msgspec.structs.replace(event, seal=b"\xff" * 24)) == event


def test_given_a_shards_entry_then_its_seal_begins_with_its_number() -> None:
    seal = SEALS.seal("log:3", *CONTENTS, number=2**40 + 7)
    entry = an_entry(seal=seal)

    assert SEALS.checked("log:3", entry) is entry
    assert number_of(entry) == 2**40 + 7
    assert SEALS.checked("log:3", an_entry(seal=(2**40 + 8).to_bytes(8) + seal[8:])).is_forged
