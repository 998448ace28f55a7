"""Scenarios as bytes: only what the bank sends, the same for the same arguments, and exact in every program."""

from itertools import chain
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.bank.event_types import LISTED_TYPES
from clearhold.features.core.errors import InvalidRequestError
from clearhold.features.core.instants import DAY_US, parse_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.vocabulary import Rail
from clearhold.features.detectors.table import DETECTOR_OF, PROGRAM_DETECTORS
from clearhold.features.sandbox.feed import ComposedEvents
from clearhold.features.sandbox.order import compose_event
from clearhold.features.sandbox.scenarios import MOST_REPETITIONS, SCENARIOS, ScenarioName, compose
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import PROGRAM, ShardStory

MOST_EVENTS_A_REPETITION: Final = 200
NOTHING_STATED: Final = "account.overdraft_released"  # the alert on an overdraft that is over states no balance


def composed(name: ScenarioName, **over: Any) -> ComposedEvents:
    usual: dict[str, Any] = {"program": a_program(id=PROGRAM), "seed": 7, "run": "run_1", "at": T0}
    return compose(SCENARIOS[name], **usual | over)


def events_of(events: ComposedEvents) -> list[dict[str, Any]]:
    return [msgspec.json.decode(body) for body in events.bodies]


def test_given_the_names_then_each_is_a_scenario_and_states_detectors_that_there_are() -> None:
    assert set(SCENARIOS) == set(ScenarioName)
    assert set(chain.from_iterable(each.expects for each in SCENARIOS.values())) <= set(DETECTOR_OF)
    assert all(list(each.expects) == sorted(each.expects) for each in SCENARIOS.values())


@pytest.mark.parametrize("name", list(ScenarioName))
def test_given_the_same_arguments_when_composed_then_the_bytes_are_the_same(name: ScenarioName) -> None:
    assert composed(name) == composed(name)
    assert composed(name, count=2).bodies[0] == composed(name, count=2).bodies[0]


@pytest.mark.parametrize("name", list(ScenarioName))
def test_given_another_run_when_composed_then_the_same_happens_to_other_people(name: ScenarioName) -> None:
    first, second = composed(name), composed(name, run="run_2")
    stories = [[(event["type"], amounts_in(event)) for event in events_of(each)] for each in (first, second)]

    assert not set(first.event_ids) & set(second.event_ids)
    assert not ids_in(first) & ids_in(second)
    assert stories[0] == stories[1]


def amounts_in(event: dict[str, Any]) -> list[int]:
    return [value for field, value in event["data"].items() if field.endswith("amount") and isinstance(value, int)]


def ids_in(events: ComposedEvents) -> set[str]:
    """Ids, names and account numbers of everybody and everything in them."""
    fields = ("id", "bank_account_id", "counterparty_id", "beneficiary_name", "beneficiary_account_number")
    return {event["data"][field] for event in events_of(events) for field in fields if event["data"].get(field)}


def test_given_many_runs_when_composed_then_each_company_of_an_ach_entry_has_a_name_of_its_own() -> None:
    """Names have 16 characters there; one name from two banks looks like invoice fraud."""
    companies = {}
    for run in range(1_000):
        for event in events_of(composed(ScenarioName.ACH_INCOMING_DEBIT_NSF, run=f"run_{run}")):
            if "company_name" in event["data"] and event["data"]["is_incoming"]:
                companies[event["data"]["odfi_routing_number"]] = event["data"]["company_name"]

    assert len(set(companies.values())) == len(companies) == 1_000
    assert all(len(name) <= 16 for name in companies.values())


@pytest.mark.parametrize("name", [each for each in ScenarioName if SCENARIOS[each].rails])
def test_given_another_seed_when_composed_then_amounts_differ_under_the_same_ids(name: ScenarioName) -> None:
    first, second = composed(name), composed(name, seed=8)

    assert first.event_ids == second.event_ids
    assert first.bodies != second.bodies


@pytest.mark.parametrize("name", list(ScenarioName))
def test_given_a_scenario_when_composed_then_it_is_what_the_bank_sends_oldest_first_and_ends_now(
    name: ScenarioName,
) -> None:
    events = events_of(composed(name, count=MOST_REPETITIONS))
    times = [parse_instant(event["created_at"]) or 0 for event in events]

    assert {event["type"] for event in events} <= LISTED_TYPES
    assert len({event["id"] for event in events}) == len(events) <= MOST_EVENTS_A_REPETITION * MOST_REPETITIONS
    assert not [event for event in events if "entity_id" in event["data"]]
    assert times == sorted(times)
    assert T0 - DAY_US < times[-1] <= T0


@pytest.mark.parametrize(
    "declared",
    [
        {"declared_rails": tuple(Rail), "declared_countries": ("US", "PT")},
        {"declared_rails": tuple(each for each in Rail if each is not Rail.CARD)},
        {"declared_rails": (), "declared_countries": ("MX", "GT")},
    ],
    ids=["all rails", "no cards", "no rails, another country"],
)
def test_given_a_program_when_the_scenarios_of_its_rails_are_run_in_it_then_each_opens_exactly_what_it_states(
    declared: dict[str, Any],
) -> None:
    program = a_program(id=PROGRAM, **declared)
    story = ShardStory(program)
    rails = set(program.declared_rails or Rail)
    names = [name for name in ScenarioName if rails.issuperset(SCENARIOS[name].rails)]

    assert len(names) >= len(ScenarioName) - 1
    for run, name in enumerate([*names, *reversed(names)]):
        rows = played(story, composed(name, program=program, run=f"run_{run}", at=T0 + run))
        events = [row for row in rows if isinstance(row, EventRow)]

        assert detectors_in(rows) == list(SCENARIOS[name].expects), name
        assert not [row for row in events if row.reason is not None and row.type != NOTHING_STATED]


@pytest.mark.parametrize("seeds", [[7] * 8, [*range(8)]], ids=["one seed", "a seed each"])
def test_given_a_program_of_nothing_but_scenarios_when_they_go_on_then_they_stay_exact(seeds: list[int]) -> None:
    story = ShardStory(a_program(id=PROGRAM))

    for run, seed in enumerate(seeds):
        for name in ScenarioName:
            rows = played(story, composed(name, seed=seed, run=f"run_{run}", at=T0 + run))
            assert detectors_in(rows) == list(SCENARIOS[name].expects), (name, run)


def played(story: ShardStory, events: ComposedEvents) -> list[msgspec.Struct]:
    """Have the events applied; the rows that they led to."""
    before = len(story.rows)
    for body in events.bodies:
        story.append(EntryKind.BANK, body, at=T0 + DAY_US)
    return story.rows[before:]


def detectors_in(rows: list[msgspec.Struct]) -> list[str]:
    """Of the alerts but those of snapshots, by name; each is the only one of its detector on its subject."""
    of_snapshots = {detector.id for detector in PROGRAM_DETECTORS}
    alerts = {row.id: row for row in rows if isinstance(row, AlertRow) and row.detector not in of_snapshots}
    subjects = {(row.detector, row.subject_type, row.subject_id) for row in alerts.values()}
    assert len(subjects) == len(alerts)
    return sorted({row.detector for row in alerts.values()})


def test_given_repetitions_when_played_then_each_opens_its_alert_on_somebody_else() -> None:
    story = ShardStory(a_program(id=PROGRAM))

    rows = played(story, composed(ScenarioName.ENTITY_DENIED, count=3))
    alerts = {row.id: row for row in rows if isinstance(row, AlertRow)}.values()

    assert len({row.subject_id for row in alerts}) == len(alerts) == 3


@pytest.mark.parametrize("declared", [(), ("US", "PT", "NL", "NZ", "DK", "IE")])
def test_given_no_undeclared_country_when_it_is_to_be_one_then_the_sentence_says_so(declared: tuple[str, ...]) -> None:
    program = a_program(id=PROGRAM, declared_countries=declared)

    with pytest.raises(InvalidRequestError, match="declares countries"):
        composed(ScenarioName.INTL_WIRE_UNDECLARED_COUNTRY, program=program)


@pytest.mark.parametrize("kind", ["identity.created", "identity.updated", "account.frozen"])
@pytest.mark.parametrize("status", [[], {"word": "PENDING"}, ["PENDING"], 7])
def test_given_a_status_that_is_no_word_when_an_event_is_composed_then_it_is_sent_unchanged(
    kind: str, status: object
) -> None:
    data = {"id": "enti_1", "verification_status": status}

    (event,) = events_of(compose_event(PROGRAM, kind, data, run="run_1", at=T0))

    assert (event["type"], event["data"]) == (kind, data)
