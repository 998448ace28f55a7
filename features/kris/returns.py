"""ACH return rates: returns delivered in 60 days over entries originated in them, not a matched cohort.

Source  Nacha Operating Rules. Credits count in no rate of debits, dishonoured returns in none, and R61-R77 and NOCs are
        no returns; RCK entries are left out of the overall rate.
"""

from typing import Final

from features.core.instants import DAYS_60
from features.core.kris import KriName
from features.kris.reading import Reading, ratio
from features.state.kri_windows import ACH_CREDITS, RCK_DEBITS
from features.state.program import ProgramState
from features.windows.series_kinds import SeriesKind

FEW_DEBITS: Final = 200
_FEW: Final = f"Under {FEW_DEBITS} debits, one return can cross the line."


def return_rates(program: ProgramState, now: int) -> dict[KriName, Reading]:
    after, windows = now - DAYS_60, program.kri_windows
    debits = program.originated.measure_now(after, now)[0]
    unauthorized = program.unauthorized.count_now(after, now)
    few = _FEW if 0 < debits < FEW_DEBITS else None

    def returned(kind: SeriesKind) -> int:
        series = program.series_by_kind.get(kind)
        count: int = 0 if series is None else series.count_now(after, now)
        return count

    but_rck, credits_sent = debits - windows.count(RCK_DEBITS), windows.count(ACH_CREDITS)
    return {
        KriName.ACH_UNAUTHORIZED_RETURN_RATE: ratio(unauthorized, debits, debits, few),
        KriName.ACH_ADMINISTRATIVE_RETURN_RATE: ratio(returned(SeriesKind.ADMINISTRATIVE_RETURN), debits, debits),
        KriName.ACH_OVERALL_RETURN_RATE: ratio(returned(SeriesKind.DEBIT_RETURN_BUT_RCK), but_rck, but_rck),
        KriName.ACH_CREDIT_RETURN_RATE: ratio(returned(SeriesKind.CREDIT_RETURN), credits_sent, credits_sent),
    }
