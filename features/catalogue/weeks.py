"""The features of new parties over weeks, and of where a payment's money came from: in the order of the vector, after
those of ``flows.py``.

Two sides are acquainted by their first transfer with each other that moved money when first seen. All are None without
both sides, those of new parties also on a later payment of the pair and in the program's first week.

Window  7 and 30 days; the usual is of the days 30 to 90 before, as far as the program goes back
Source  FFIEC BSA/AML manual, appendix F (activity unlike the customer's own); gather-scatter as in IBM AMLSim and in
        FinCEN advisory FIN-2014-A005 (funnel accounts); the measure over the usual is proposed here
"""

from typing import Annotated

from clearhold.features.catalogue.feature import Group, feature

_OVER_USUAL = "30 days over 90"


class Weeks(Group, frozen=True):
    """New payees of the payer, new payers of the payee and of the payer, when the two first deal with each other."""

    payer_new_payees_7d: Annotated[
        int | None, feature("payer.newPayees7d"), "As payer.newPayees90d; null in the program's first 7 days."
    ]
    payer_new_payees_30d: Annotated[
        int | None, feature("payer.newPayees30d"), "As payer.newPayees90d; null in the program's first 7 days."
    ]
    payee_new_payers_7d: Annotated[
        int | None, feature("payee.newPayers7d"), "As payee.newPayers90d; null in the program's first 7 days."
    ]
    payee_new_payers_30d: Annotated[
        int | None, feature("payee.newPayers30d"), "As payee.newPayers90d; null in the program's first 7 days."
    ]
    payer_new_payers_30d: Annotated[
        int | None,
        feature("payer.newPayers30d"),
        "Payers new to the payer, who paid it before; null in the program's first 7 days.",
    ]
    payer_new_payees_over_usual_percent: Annotated[
        int | None,
        feature("payer.newPayeesOverUsualPercent", _OVER_USUAL),
        "payer.newPayees30d against 1 and the usual number of 30 days; null in the program's first 44 days.",
    ]
    payee_new_payers_over_usual_percent: Annotated[
        int | None,
        feature("payee.newPayersOverUsualPercent", _OVER_USUAL),
        "payee.newPayers30d against 1 and the usual number of 30 days; null in the program's first 44 days.",
    ]
    payer_new_payers_over_usual_percent: Annotated[
        int | None,
        feature("payer.newPayersOverUsualPercent", _OVER_USUAL),
        "payer.newPayers30d against 1 and the usual number of 30 days; null in the program's first 44 days.",
    ]


class PairPast(Group, frozen=True):
    """What the entity had with this party before; None where no signal could fire on it."""

    pair_count_of_newest_64: Annotated[
        int | None,
        feature("pair.countOfNewest64", "the newest 64"),
        "Of the entity's newest 64 transfers before that moved money the same way, those with this party; null below "
        "60 earlier transfers of the entity and 5 of the program with the counterparty.",
    ]


class FundsOrigin(Group, frozen=True):
    """What the payer received before it pays, and how the money reached it; None on cards and without both sides."""

    payer_last_receipt_hours: Annotated[
        int | None,
        feature("payer.lastReceiptHours", "72 hours", unit="hours"),
        "Whole hours since the newest earlier payment to the payer; null without one.",
    ]
    payer_last_receipt_cents: Annotated[
        int | None, feature("payer.lastReceiptCents", "72 hours"), "Cents of that payment; null without it."
    ]
    payer_received_cents_30d: Annotated[
        int | None,
        feature("payer.received30dCents"),
        "Money that the entity received, without cards; null unless it makes a first payment to the payee.",
    ]
    payer_sent_cents_30d: Annotated[
        int | None,
        feature("payer.sent30dCents"),
        "Money that the entity sent, without cards, with this transfer; null as payer.received30dCents.",
    ]
    first_chain_hops_14d: Annotated[
        int | None,
        feature("first.chain14dHops"),
        "First payments in a row behind the payer, at most 5: the newest by which it was first paid by a party, the "
        "newest before that by which this party was, and on; null for a later payment of the pair and in the program's "
        "first 7 days.",
    ]
    first_middles_30d: Annotated[
        int | None,
        feature("first.middles30d"),
        "Payers of the payee, this one too, that one party paid which also paid this payer, of its newest 64 payments; "
        "0 below 2, and where the party has over 3 times as many payees. Null for a later payment of the pair.",
    ]
