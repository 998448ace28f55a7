"""Cards of a tenant and of its programs, changed in any order: what is shown to score and to run in shadow does so."""

from random import Random
from typing import Any, Final

from clearhold.features.scorers.cards import score_version
from clearhold.features.scorers.trs_v1.scorer import SCORER
from clearhold.flows.engine import restore_lost_policies
from clearhold.store.control.registry import Registry
from clearhold.store.control.scorecard_registry import ScorecardRegistry
from tests.support.running_app import RunningApp
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import a_card

STEPS: Final = 40
SEED: Final = 5
"""Brings about that a program follows its tenant."""
MOST_PROGRAMS: Final = 4


def shown(registry: Registry, cards: ScorecardCalls, program_id: str) -> tuple[str, str | None]:
    """The versions of the champion and the challenger of a program, as the control stream has them."""
    tenant_id = cards.tenant["id"]
    champion = ScorecardRegistry(registry, clock=cards.api.clock).champion(tenant_id, program_id)
    scorecards = registry.tenancy.scorecards[tenant_id]
    challenger = scorecards.shadow(program_id) or scorecards.shadow(None)
    if challenger is not None and champion is not None and challenger == champion.version:
        challenger = None
    return score_version(SCORER, None if champion is None else champion.version), (
        None if challenger is None else score_version(SCORER, challenger)
    )


def change_something(random: Random, cards: ScorecardCalls, programs: list[str]) -> None:
    """Any call that changes cards, or a new program; what is refused changes nothing."""
    place, versions = random.choice([None, *programs]), [each["version"] for each in cards.read()]
    version = random.choice(versions)
    match random.choice(("propose", "program", "activate", "activate", "go back", "go back", "shadow", "end")):
        case "propose":
            card = a_card(points=len(versions))
            cards.report(cards.propose(card, program_id=place).json()["version"], card)
        case "activate" | "go back" as call:
            body = {} if call == "activate" or place is None else {"programId": place}
            requested = cards.activate(version if call == "activate" else random.choice(("trs-v1", "tenant")), **body)
            if requested.status_code == 201:
                assert cards.approve(requested.json()["id"])["status"] == "executed"
        case "shadow" | "end" as call:
            cards.send("POST" if call == "shadow" else "DELETE", f"/{version}/shadow")
        case "program" if len(programs) < MOST_PROGRAMS:
            programs.append(cards.api.create_program(cards.tenant, slug=f"program-{len(programs)}")["id"])


def test_given_changes_in_any_order_then_what_is_shown_scores_and_runs_in_shadow(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    random, programs, seen = Random(SEED), [program["id"]], set[tuple[str, str | None]]()

    for _ in range(STEPS):
        change_something(random, cards, programs)
        for program_id in programs:
            counts = cards.of_program(program_id)
            seen.add(counts)
            assert counts == shown(api.registry, cards, program_id) == shown(api.reloaded_registry(), cards, program_id)

    entries = api.stored()
    api.on_loop(lambda: restore_lost_policies(api.registry, api.stores.owner))
    assert api.stored() == entries
    assert len(seen) >= 8
