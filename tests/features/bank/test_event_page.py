"""The page and the schema of bank events: as committed, complete, and every example applies."""

import json
from pathlib import Path
from typing import Final

import jsonschema_rs
import pytest

from clearhold.api.ingest.routes import EXAMPLES
from clearhold.features.bank.event_schema import EVENT_SCHEMA
from clearhold.features.bank.event_types import KNOWN_FAMILIES, LISTED_TYPES, STATES, TRANSFER_RESOURCES
from clearhold.features.core.log_entry import MEANING_OF_RESULT, EntryKind, EventResult, LogEntry
from clearhold.features.core.rows.events import EventRow
from docs.pages.events import markdown
from tests.support.clock import T0
from tests.support.stories import ShardStory

PAGE: Final = Path(__file__).parents[3] / "docs" / "events.md"
OF_RAILS: Final = ("ach", "wire", "intl_wire", "realtime", "book", "check", "card")


def applied(name: str) -> EventRow:
    body = json.dumps(EXAMPLES[name]).encode()
    return ShardStory().apply(LogEntry(0, 1 << 20, EntryKind.BANK, "prg_1", T0 + 10**14, body)).one(EventRow)


def test_given_the_code_that_reads_events_then_the_page_is_made_from_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown()


def test_given_the_page_then_it_has_every_family_resource_and_result() -> None:
    page = markdown()

    assert not [family for family in KNOWN_FAMILIES if f"| `{family}." not in page]
    assert not [resource for resource in TRANSFER_RESOURCES if f"| `{resource}.` |" not in page]
    assert set(MEANING_OF_RESULT) == set(EventResult)
    assert not [result for result in EventResult if f"| `{result}` |" not in page]
    assert {resource.partition(".")[0] for resource in STATES} == KNOWN_FAMILIES


def test_given_the_examples_then_each_rail_and_each_kind_of_party_has_one() -> None:
    assert set(EXAMPLES) == {*OF_RAILS, "identity", "account", "counterparty", "dispute"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_given_an_example_when_it_is_applied_then_it_takes_effect_and_there_is_nothing_to_say(name: str) -> None:
    row = applied(name)

    expected = ("waiting", "data.transfer_id") if name == "dispute" else ("applied", None)
    assert (row.result, row.path) == expected, row.reason
    assert EXAMPLES[name]["type"] in LISTED_TYPES


@pytest.mark.parametrize("name", EXAMPLES)
def test_given_an_example_when_it_is_held_against_the_schema_then_it_fits(name: str) -> None:
    validator = jsonschema_rs.validator_for(EVENT_SCHEMA, validate_formats=True)

    assert [str(error) for error in validator.iter_errors(EXAMPLES[name])] == []
    assert not validator.is_valid({"id": "", "type": "x", "created_at": "2026-03-02T14:00:00Z"})
