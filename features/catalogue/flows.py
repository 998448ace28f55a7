"""The features of the flows around a transfer, of returns, entries and cards, of new acquaintances and the policies in
force, and of the actor's rhythm: in the order of the vector, after those of ``amounts.py``.

Windows of hours leave out other transfers of the same instant, because they were booked together. Two are None in
older stored vectors: ``moved``, of vectors that count as moved, and the whole rhythm.
"""

from typing import Annotated

from clearhold.features.catalogue.feature import ALL_HISTORY, THE_TRANSFER, Group, feature


class Flow(Group, frozen=True):
    """The shape of the graph around the transfer: fans, middlemen, new and shared counterparties."""

    fan_in_count_24h: Annotated[int, feature("fanIn24hCount"), "Distinct payers of the receiving side, with this one."]
    fan_in_count_7d: Annotated[int, feature("fanIn7dCount"), "Distinct payers of the receiving side, with this one."]
    fan_in_usual_week: Annotated[
        int | None,
        feature("fanInUsualWeek", "12 weeks"),
        "Median of the receiving side's distinct payers in the completed weeks (from Monday, UTC) since its first; "
        "null before one is completed.",
    ]
    fan_out_count_8h: Annotated[int, feature("fanOut8hCount"), "Distinct payees of the paying side, with this one."]
    fan_out_count_24h: Annotated[int, feature("fanOut24hCount"), "Distinct payees of the paying side, with this one."]
    fan_out_count_7d: Annotated[int, feature("fanOut7dCount"), "Distinct payees of the paying side, with this one."]
    fan_out_usual_week: Annotated[
        int | None,
        feature("fanOutUsualWeek", "12 weeks"),
        "Median of the paying side's distinct payees in the completed weeks (from Monday, UTC) since its first; "
        "null before one is completed.",
    ]
    fan_out_new_count_24h: Annotated[
        int | None,
        feature("fanOutNew24hCount"),
        "Of the paying side's newest 64 payments with this one, payees first paid less than 14 days ago; null below "
        "5 payees in 24 hours or 3 times the usual week.",
    ]
    gathered_count_24h: Annotated[int, feature("gathered24hCount"), "Distinct payers of the paying side."]
    gathered_count_7d: Annotated[int, feature("gathered7dCount"), "Distinct payers of the paying side."]
    gathered_usual_week: Annotated[
        int | None,
        feature("gatheredUsualWeek", "12 weeks"),
        "Median of the paying side's distinct payers in the completed weeks (from Monday, UTC) since its first; "
        "null before one is completed.",
    ]
    scatter_gather_middles: Annotated[
        int,
        feature("typology.scatterGatherMiddles", "7 days"),
        "Payers of the receiving side that one common third party had paid before.",
    ]
    layering_least_cents: Annotated[
        int | None,
        feature("typology.layeringLeastCents", "72 hours a hop"),
        "Smallest amount of the chain of typology.layeringHops; null without one.",
    ]
    entity_new_counterparties_24h: Annotated[
        int,
        feature("entity.newCounterparties24h"),
        "Counterparties new to the program in the entity's newest 64 transfers of that time, with this one.",
    ]
    counterparty_shared_entities_30d: Annotated[
        int,
        feature("counterparty.sharedEntities30d"),
        "Entities that dealt with the same routing number and last four, with this one.",
    ]


class Returns(Group, frozen=True):
    """Returns that probe for accounts, and days since one after which a debit must not be repeated."""

    entity_probing_returns_30d: Annotated[
        int,
        feature("entity.probingReturns30d"),
        "Counterparties on whose outgoing ACH entries R02, R03, R04 or R20 was delivered.",
    ]
    counterparty_stop_return_days: Annotated[
        int | None,
        feature("counterparty.stopReturnDays", ALL_HISTORY),
        "Whole days since the newest R07, R10, R11 or R29 on a debit to the counterparty; null without one.",
    ]


class AchEntries(Group, frozen=True):
    """ACH debits of the actor, its fast payments beside them, and micro-entries."""

    entity_ach_debits_all: Annotated[int, feature("entity.achDebits", ALL_HISTORY), "Its earlier ACH debits."]
    entity_pulled_cents_2bd: Annotated[
        int, feature("entity.pulled2bdCents"), "Cents of the entity's originated ACH debits."
    ]
    entity_fast_out_cents_2bd: Annotated[
        int,
        feature("entity.fastOut2bdCents"),
        "Cents that the entity sent by realtime, wire and card, with this transfer.",
    ]
    entity_micro_entries_24h: Annotated[
        int, feature("entity.microEntries24h"), "The entity's ACH entries under $1, with this one."
    ]
    program_micro_entries_24h: Annotated[
        int, feature("program.microEntries24h"), "The program's ACH entries under $1, with this one."
    ]
    entity_forward_debits_24h: Annotated[
        int, feature("entity.forwardDebits24h"), "The entity's other originated ACH debits of $1 and more."
    ]


class Cards(Group, frozen=True):
    """Attempts, declines and small attempts of the card (None if unknown) and the program; 0 on other rails."""

    card_declines_1h: Annotated[
        int | None,
        feature("card.declines1h"),
        "Declined attempts on the card (else its account, else its entity), with this one; null when none of them "
        "is known, and before landing when the entity has several cards; 0 on other rails.",
    ]
    card_small_count_1h: Annotated[
        int | None,
        feature("card.smallAuthorizations1h"),
        "Attempts under $5 on the same card, with this one; null as above; 0 on other rails.",
    ]
    program_card_attempts_1h: Annotated[
        int, feature("program.cardAttempts1h"), "Card attempts, with this one; 0 on other rails."
    ]
    program_card_declines_1h: Annotated[int, feature("program.cardDeclines1h"), "Declined attempts."]
    program_card_small_count_1h: Annotated[int, feature("program.cardSmall1h"), "Attempts up to $5."]
    program_card_attempts_24h: Annotated[
        int, feature("program.cardAttempts24h"), "Card attempts, with this one; 0 on other rails."
    ]
    program_card_fraud_declines_24h: Annotated[
        int,
        feature("program.cardFraudDeclines24h"),
        "Card attempts declined for suspected fraud or failed authentication.",
    ]
    program_card_attempts_30d: Annotated[
        int, feature("program.cardAttempts30d"), "Card attempts, with this one; 0 on other rails."
    ]
    program_card_fraud_declines_30d: Annotated[
        int,
        feature("program.cardFraudDeclines30d"),
        "Card attempts declined for suspected fraud or failed authentication.",
    ]


class Novelties(Group, frozen=True):
    """The bank's fraud mark, the screening cadence, and how new payer and payee are to each other."""

    entity_fraud_risk: Annotated[
        bool | None,
        feature("entity.fraudRisk", "as known then"),
        "The bank's review reasons name a fraud risk or a list of sanctions; null without a report on the entity.",
    ]
    entity_rescreen_days: Annotated[
        int | None,
        feature("entity.rescreenDays", "as known then"),
        "Days between screenings of the entity's band by policy; null without a stated duty to screen.",
    ]
    pair_first_time: Annotated[
        bool | None,
        feature("pair.firstTime", ALL_HISTORY),
        "Payer and payee have had no transfer with each other; null when one is unknown.",
    ]
    payer_new_payees_90d: Annotated[
        int | None,
        feature("payer.newPayees90d"),
        "Payees new to the payer, with this one; null in the program's first 90 days.",
    ]
    payee_new_payers_90d: Annotated[
        int | None,
        feature("payee.newPayers90d"),
        "Payers new to the payee, with this one; null in the program's first 90 days.",
    ]
    program_rare_pairs_90d: Annotated[
        int,
        feature("program.rarePairs90d"),
        "Other first transfers between two sides with at most 3 new acquaintances each.",
    ]
    program_transfers_90d: Annotated[int, feature("program.transfers90d"), "The program's other transfers."]


class Standing(Group, frozen=True):
    """Whether money moved, relevant returns with the counterparty, and whether the payment is regular or rare."""

    moved: Annotated[
        bool | None,
        feature("moved", THE_TRANSFER),
        "False for an attempt (declined, rejected, canceled), which counts itself in no window but those of card "
        "attempts; null in vectors kept before this was measured.",
    ]
    counterparty_unauthorized_returns_60d: Annotated[
        int, feature("counterparty.unauthorizedReturns60d"), "As counterparty.priorUnauthorizedReturns."
    ]
    counterparty_frozen_returns: Annotated[
        int,
        feature("counterparty.frozenReturns", ALL_HISTORY),
        "R16 (account frozen, or returned by instruction of OFAC) on ACH entries sent to the counterparty.",
    ]
    pair_regular: Annotated[
        bool | None,
        feature("pair.regular", "90 days"),
        "The payer paid this payee within 10 % of this from 90 to 14 days ago and nothing in 5 days (of the payee's "
        "newest 64 in each); null below 3 under one threshold in 24 hours, 4 in 7 days and 5 alike.",
    ]
    program_paired_count_90d: Annotated[
        int | None,
        feature("program.pairedCount90d"),
        "As program.transfers90d, counted from the program's 90th day on, when rare pairs are first recognised.",
    ]


class MeasuredInForce(Group, frozen=True):
    """Policy on the counterparty's country, the thresholds, and the versions in force."""

    counterparty_country_lists: Annotated[
        str | None,
        feature("counterparty.countryLists", "in force then", unit="names of lists"),
        "The lists of policy that its country is on, comma-separated: call_for_action, comprehensively_sanctioned, "
        "increased_monitoring; empty on none, null without a country.",
    ]
    structuring_thresholds: Annotated[
        str,
        feature("policy.structuringThresholds", "in force then", unit="cents list"),
        "The reporting thresholds that amounts are compared with, comma-separated.",
    ]
    thresholds_version: Annotated[
        str, feature("policy.thresholdsVersion", "in force then", unit=""), "Version of the thresholds."
    ]
    ladder_version: Annotated[
        str,
        feature("policy.ladderVersion", "in force then", unit=""),
        "The version of the limit ladder behind entity.rescreenDays.",
    ]


class Rhythm(Group, frozen=True):
    """The actor's pace, hours and usual amounts, and money that goes on or back within hours; None without an actor."""

    entity_p90_cents_90d: Annotated[
        int | None, feature("entity.p90Cents90d"), "90th percentile of the transfers of entity.medianCents90d."
    ]
    velocity_count_1h: Annotated[
        int | None, feature("velocity1hCount"), "The entity's earlier transfers, with this one."
    ]
    velocity_count_6h: Annotated[
        int | None, feature("velocity6hCount"), "The entity's earlier transfers, with this one."
    ]
    entity_received_count_6h: Annotated[
        int | None,
        feature("entity.received6hCount"),
        "Earlier payments to the entity from known payers, with cards; the newest 64 and this transfer.",
    ]
    entity_paid_count_6h: Annotated[
        int | None,
        feature("entity.paid6hCount"),
        "Earlier payments by the entity to known payees, with cards; the newest 64 and this transfer.",
    ]
    entity_received_cents_2h: Annotated[
        int | None,
        feature("entity.received2hCents"),
        "Cents of the payments of entity.received6hCount, without this transfer.",
    ]
    entity_new_parties_6h: Annotated[
        int | None,
        feature("entity.newParties6h"),
        "Earlier payers and payees that were new to the entity, with this transfer.",
    ]
    entity_usual_hour_percent: Annotated[
        int | None,
        feature("entity.usualHourPercent", "90 days"),
        "Share of the entity's newest 64 other transfers within 90 minutes of this time of day, UTC; null below 20.",
    ]
    pair_other_way_cents_24h: Annotated[
        int | None,
        feature("pair.otherWay24hCents"),
        "Cents of the newest payment the other way between the two, in the entity's newest 64; null without one.",
    ]
    quick_hops_2h: Annotated[
        int | None,
        feature("typology.quickHops", "2 hours a hop"),
        "Most payments in a row, whatever their amounts, that ended at the payer; at most 3, and none beyond a side "
        "with over 8 in those 2 hours.",
    ]
