"""ACH return rates: returns delivered in 60 days over entries originated in them, not a matched cohort.

Source  Nacha Operating Rules. Credits count in no rate of debits, dishonoured returns in none, and R61-R77 and NOCs are
        no returns; RCK entries are left out of the overall rate, and entries of no amount (prenotes) of all of them.
"""

from typing import Final

from clearhold.features.core.entries.kris import KriName
from clearhold.features.core.instants import DAYS_60
from clearhold.features.kris.reading import Reading, ratio
from clearhold.features.state.kri_windows import ACH_CREDITS, ACH_DEBITS, RCK_DEBITS
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.series_kinds import SeriesKind

FEW_DEBITS: Final = 200
_FEW: Final = f"Under {FEW_DEBITS} debits, one return can cross the line."


def return_rates(program: ProgramState, now: int) -> dict[KriName, Reading]:
    count, after = program.kri_windows.count, now - DAYS_60
    debits, but_rck, credits_sent = count(ACH_DEBITS), count(ACH_DEBITS) - count(RCK_DEBITS), count(ACH_CREDITS)
    few = _FEW if 0 < debits < FEW_DEBITS else None

    def returned(kind: SeriesKind) -> int:
        series = program.series_by_kind.get(kind)
        returns: int = 0 if series is None else series.count_now(after, now)
        return returns

    return {
        KriName.ACH_UNAUTHORIZED_RETURN_RATE: ratio(returned(SeriesKind.UNAUTHORIZED_RETURN), debits, debits, few),
        KriName.ACH_ADMINISTRATIVE_RETURN_RATE: ratio(returned(SeriesKind.ADMINISTRATIVE_RETURN), debits, debits),
        KriName.ACH_OVERALL_RETURN_RATE: ratio(returned(SeriesKind.DEBIT_RETURN_BUT_RCK), but_rck, but_rck),
        KriName.ACH_CREDIT_RETURN_RATE: ratio(returned(SeriesKind.CREDIT_RETURN), credits_sent, credits_sent),
    }
