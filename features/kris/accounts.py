"""Accounts that were overdrafted, and freezes, of 30 days."""

from clearhold.features.core.entries.kris import KriName
from clearhold.features.kris.reading import UNMEASURED, Reading
from clearhold.features.state.program import ProgramState


def account_events(program: ProgramState) -> dict[KriName, Reading]:
    facts, n = program.kri_facts, program.accounts.count
    return {
        KriName.OVERDRAFT_EVENTS: Reading(facts.overdrafted, n) if n else UNMEASURED,
        KriName.FREEZE_EVENTS: Reading(facts.freezes, n) if n else UNMEASURED,
    }
