"""Builders that fill every default, so that a test names only what it is about."""

from typing import Any

from features.log_entry import EntryKind, LogEntry
from features.program import Program
from tests.support.clock import T0


def a_program(**over: Any) -> Program:
    usual: dict[str, Any] = {"id": "prg_1", "tenant_id": "ten_1", "slug": "acme", "name": "Acme"}
    return Program(**usual | over)


def a_log_entry(**over: Any) -> LogEntry:
    usual: dict[str, Any] = {
        "shard": 0,
        "offset": 1,
        "kind": EntryKind.BANK,
        "program_id": "prg_1",
        "appended_at": T0,
        "body": b"{}",
    }
    return LogEntry(**usual | over)
