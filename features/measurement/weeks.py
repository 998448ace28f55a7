"""The part of the vector on new parties over weeks, each beside the party's own usual number of 30 days.

Measured on first payments of a pair alone, so that a later payment costs nothing more.

Unit    parties; percent of one and the usual number, rounded down
Window  7 and 30 days with this transfer; the usual is of the days 30 to 90 before, as far as the program goes back
Errors  none: None without both sides, for a later payment, in the first 7 days, and of the usual in the first 44
Bounds  exact; three searches in the sorted instants of a side, whatever it has
"""

from typing import Final

from clearhold.features.catalogue.weeks import Weeks
from clearhold.features.core.instants import DAY_US, DAYS_7, DAYS_30, DAYS_90
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.acquaintances import Novelty

KNOWN_FROM_US: Final = DAYS_7
USUAL_FROM_US: Final = 14 * DAY_US  # of the days before the newest 30
_NOT_MEASURED: Final = Weeks(None, None, None, None, None, None, None, None)


def weeks_of(subject: Subject, program: ProgramSeries, novelty: Novelty, at: int, *, known_since: int | None) -> Weeks:
    """``known_since`` is the instant of the program's first transfer."""
    payer, payee = subject.payer, subject.payee
    if subject.actor is None or payer is None or payee is None or not novelty.is_new_pair:
        return _NOT_MEASURED
    if known_since is None or known_since > at - KNOWN_FROM_US:
        return _NOT_MEASURED
    since = (at - DAYS_90, at - DAYS_30, at - DAYS_7)
    acquaintances, met_at = program.acquaintances, novelty.met_at
    also = 1 if subject.moved and (met_at is None or met_at > at) else 0
    payees = acquaintances.met_in(payer, since, at, as_payer=True)
    payers = acquaintances.met_in(payee, since, at, as_payer=False)
    senders = acquaintances.met_in(payer, since, at, as_payer=False)
    days_before = min(DAYS_90, at - known_since) - DAYS_30
    return Weeks(
        payer_new_payees_7d=payees[2] + also,
        payer_new_payees_30d=payees[1] + also,
        payee_new_payers_7d=payers[2] + also,
        payee_new_payers_30d=payers[1] + also,
        payer_new_payers_30d=senders[1],
        payer_new_payees_over_usual_percent=_over_usual(payees, also, days_before),
        payee_new_payers_over_usual_percent=_over_usual(payers, also, days_before),
        payer_new_payers_over_usual_percent=_over_usual(senders, 0, days_before),
    )


def _over_usual(counts: tuple[int, int, int], also: int, before_us: int) -> int | None:
    """Of 90 and 30 days: the number of 30 days over that of ``before_us``, the time before them."""
    if before_us < USUAL_FROM_US:
        return None
    of_90d, of_30d, _ = counts
    return 100 * (of_30d + also) * before_us // (before_us + (of_90d - of_30d) * DAYS_30)
