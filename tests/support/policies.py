"""Policies in tests: what the seeded lists say of a country, and entries that bring a version into force."""

from typing import Any

import msgspec

from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.policy.bodies import Body
from clearhold.features.policy.in_force import PolicyBook
from tests.support.clock import T0
from tests.support.stories import ShardStory


def seeded_lists_of(country: str | None) -> str | None:
    """The lists of a new tenant that a country is on."""
    return PolicyBook("prg_1").thresholds(0).lists_of(country)


def policy_entry(version: str, body: Body, **over: Any) -> bytes:
    """The body of the entry that brings a version into force, by an action named after it."""
    usual: dict[str, Any] = {
        "tenant_id": "ten_1",
        "version": version,
        "body": msgspec.to_builtins(body),
        "action_id": f"act-{version}",
        "of_program": False,
    }
    return msgspec.json.encode(PolicyEntry(**usual | over))


def in_force_at(story: ShardStory, version: str, body: Body, at: int, *, of_program: bool = False) -> None:
    """A version comes into force so many microseconds after T0."""
    entry = policy_entry(version, body, action_id=f"act-{version}-{at}", of_program=of_program)
    story.append(EntryKind.POLICY, entry, at=T0 + at)
