"""Policies in tests: what the seeded lists say of a country, and entries that bring a version into force."""

from typing import Any

import msgspec

from features.core.log_entry import EntryKind, LogEntry
from features.core.policies import PolicyEntry
from features.policy.bodies import Body
from features.policy.book import PolicyBook
from features.policy.seeds import THRESHOLDS_V1
from tests.support.builders import a_log_entry


def seeded_lists_of(country: str | None) -> str | None:
    """The lists of a new tenant that a country is on."""
    return PolicyBook().thresholds(0).lists_of(country)


def thresholds(*cents: int, **over: Any) -> Body:
    """The seeded thresholds with other lines; ``over`` are further fields."""
    lines = tuple(map(str, cents)) or THRESHOLDS_V1.structuring_thresholds_cents
    return msgspec.structs.replace(THRESHOLDS_V1, structuring_thresholds_cents=lines, **over)


def a_policy_entry(version: str, body: Body, **over: Any) -> LogEntry:
    """The entry that brings a version into force on the program of ``a_log_entry``."""
    entry = PolicyEntry(
        tenant_id="ten_1",
        version=version,
        body=msgspec.to_builtins(body),
        action_id=over.pop("action_id", f"act-{version}"),
        of_program=over.pop("of_program", False),
        from_start=over.pop("from_start", False),
    )
    return a_log_entry(kind=EntryKind.POLICY, body=msgspec.json.encode(entry), **over)
