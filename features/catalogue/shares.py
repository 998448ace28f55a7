"""The features of shares: how many of 1,000 of the program's transfers do as much. The last of the vector.

A share is 1,000 below the lowest step of its measure, null where the measure is null, and null below 200 transfers of
the program in 90 days: see ``features/windows/prevalence.py``. All are None in older stored vectors.

Source  the share of a value in the population is the empirical tail of anomaly detection by counts, as in Borgne et
        al., Fraud Detection Handbook, chapter 3; the measures have the sources of their signals
"""

from typing import Annotated

from clearhold.features.catalogue.feature import Group, feature

_SHARE = "per 1,000"
_DAYS_90 = "90 days"


class Shares(Group, frozen=True):
    """What a transfer makes of its actor's day, and how many of 1,000 of the program's transfers, cards apart, reach
    as much: the larger share of the completed days (UTC) of 90 and, from 200 transfers in them, of 7.
    """

    day_cents_over_usual: Annotated[
        int | None,
        feature("day.centsOverUsual", "24 hours", unit="per cent"),
        "velocity24hSumCents over a day's share of entity.sum30dCents, which is taken as a quarter of the program's "
        "median where it is less; null without an amount, an entity or a median.",
    ]
    day_count_over_usual: Annotated[
        int | None,
        feature("day.countOverUsual", "24 hours", unit="per cent"),
        "velocity24hCount over 1 and a day's share of entity.count30d; 0 below 3 transfers, null without an entity.",
    ]
    day_amount_over_usual: Annotated[
        int | None,
        feature("day.amountOverUsual", "24 hours", unit="per cent"),
        "Geometric mean of two ratios: the amount over the program's median, and velocity24hCount over 1 and a day's "
        "share of entity.count30d; 0 below 2 transfers, null without an amount, an entity or a median.",
    ]
    day_cents_over_usual_permille: Annotated[
        int | None,
        feature("day.centsOverUsualPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of day.centsOverUsual.",
    ]
    day_count_over_usual_permille: Annotated[
        int | None,
        feature("day.countOverUsualPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of day.countOverUsual.",
    ]
    day_amount_over_usual_permille: Annotated[
        int | None,
        feature("day.amountOverUsualPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of day.amountOverUsual.",
    ]
    velocity_1h_permille: Annotated[
        int | None,
        feature("velocity1hPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of velocity1hCount, from 2; null below 10 earlier transfers of the entity.",
    ]
    velocity_6h_permille: Annotated[
        int | None,
        feature("velocity6hPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of velocity6hCount over a day's share of entity.count30d, which is at least 1; "
        "null below 10 earlier transfers of the entity.",
    ]
    repeated_amount_permille: Annotated[
        int | None,
        feature("repeatedAmount24hPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of repeatedAmount24hCount, from 3; null without an amount.",
    ]
    odd_hour_amount_permille: Annotated[
        int | None,
        feature("entity.oddHourAmountPermille", _DAYS_90, unit=_SHARE),
        "Transfers at an hour of at most 10 % by entity.usualHourPercent that reach as much of entity.p90Cents90d; "
        "null at another hour.",
    ]
    quick_hops_permille: Annotated[
        int | None,
        feature("typology.quickHopsPermille", _DAYS_90, unit=_SHARE),
        "Transfers that reach as much of typology.quickHops; null below 10 earlier transfers of the entity.",
    ]
    last_receipt_permille: Annotated[
        int | None,
        feature("payer.lastReceiptPermille", _DAYS_90, unit=_SHARE),
        "Transfers as close to payer.lastReceiptCents: the smaller of it and the amount over the larger; null without "
        "either.",
    ]
    first_day_cents_permille: Annotated[
        int | None,
        feature("first.dayCentsPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of day.centsOverUsual; null for a later payment.",
    ]
    first_amount_permille: Annotated[
        int | None,
        feature("first.amountPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of amountCents; null for a later payment.",
    ]
    first_payee_new_payers_permille: Annotated[
        int | None,
        feature("first.payeeNewPayersPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of payee.newPayers7d, from 2; null for a later payment.",
    ]
    first_payee_over_usual_permille: Annotated[
        int | None,
        feature("first.payeeOverUsualPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair to a payee with at least 2 new payers in 30 days that reach as much of "
        "payee.newPayersOverUsualPercent; null for others.",
    ]
    first_payer_new_payers_permille: Annotated[
        int | None,
        feature("first.payerNewPayersPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of payer.newPayers30d, from 1; null for a later payment.",
    ]
    first_payer_over_usual_permille: Annotated[
        int | None,
        feature("first.payerOverUsualPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair by a payer with at least 2 new payers in 30 days that reach as much of "
        "payer.newPayersOverUsualPercent; null for others.",
    ]
    quiet_pair_permille: Annotated[
        int | None,
        feature("first.quietPairPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair with at most 3 of payer.newPayees30d and of payee.newPayers30d; null for others.",
    ]
    quiet_amount_permille: Annotated[
        int | None,
        feature("first.quietAmountPermille", _DAYS_90, unit=_SHARE),
        "Those of first.quietPairPermille that reach as much of the amount over the program's median; null for others.",
    ]
    first_drained_permille: Annotated[
        int | None,
        feature("first.drainedPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair, not by card, that leave the program with as close an amount to entity.in48hCents: "
        "the smaller over the larger; null where nothing came in.",
    ]
    first_sent_permille: Annotated[
        int | None,
        feature("first.sentPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of payer.sent30dCents over payer.received30dCents; null where "
        "nothing was received.",
    ]
    first_chain_permille: Annotated[
        int | None,
        feature("first.chainPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of first.chain14dHops.",
    ]
    first_middles_permille: Annotated[
        int | None,
        feature("first.middlesPermille", _DAYS_90, unit=_SHARE),
        "First payments of a pair that reach as much of first.middles30d.",
    ]
    rarest_permille: Annotated[
        int | None, feature("rarestPermille", _DAYS_90, unit=_SHARE), "The least of these shares."
    ]
    common_signals: Annotated[
        str | None,
        feature("commonSignals", _DAYS_90, unit="reason ids"),
        "Signals by which more than 30 of 1,000 of the program's transfers have points, divided by spaces; signals of "
        "the bank's statements, of returns, lists and evasions of the law are not counted.",
    ]
