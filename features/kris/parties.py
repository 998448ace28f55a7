"""Entities: how many were denied of those decided, and how many are past their screening cadence."""

from clearhold.features.core.entries.kris import KriName
from clearhold.features.kris.reading import Reading, ratio
from clearhold.features.policy.in_force import ladder_in_force
from clearhold.features.state.program import ProgramState


def entity_shares(program: ProgramState, now: int) -> dict[KriName, Reading]:
    facts = program.kri_facts
    denied, decided = facts.denied_and_decided()
    days = ladder_in_force(program, now).rescreen_days
    stale, screened = facts.stale_and_screened(program.scores.actors, days, now)
    return {
        KriName.VERIFICATION_DENIAL_RATE: ratio(denied, decided, decided),
        KriName.STALE_SCREENING_SHARE: ratio(stale, screened, screened),
    }
