"""Shares of the transfers of 30 days: card declines, undeclared transfers, and the hold band."""

from clearhold.features.core.entries.kris import KriName
from clearhold.features.kris.reading import Reading, ratio
from clearhold.features.state.kri_windows import (
    AUTHORIZATIONS,
    COMPARABLE,
    DECLINES,
    FRAUD_DECLINES,
    IN_HOLD,
    OUTSIDE,
    SCORED,
)
from clearhold.features.state.program import ProgramState


def transfer_shares(program: ProgramState) -> dict[KriName, Reading]:
    count = program.kri_windows.count

    def share(part: int, whole: int) -> Reading:
        return ratio(count(part), count(whole), count(whole))

    return {
        KriName.CARD_DECLINE_RATE: share(DECLINES, AUTHORIZATIONS),
        KriName.CARD_FRAUD_DECLINE_SHARE: share(FRAUD_DECLINES, AUTHORIZATIONS),
        KriName.OUTSIDE_DECLARED_SHARE: share(OUTSIDE, COMPARABLE),
        KriName.HOLD_SHARE: share(IN_HOLD, SCORED),
    }
