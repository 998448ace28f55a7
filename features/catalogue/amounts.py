"""The features of a transfer, its parties and its program, and of the actor's counts, amounts and passing money: their
types, names on the wire, units, windows and meanings, in the order of the vector.
"""

from typing import Annotated

from clearhold.features.catalogue.feature import ALL_HISTORY, THE_TRANSFER, Group, feature


class Facts(Group, frozen=True):
    """The transfer itself."""

    amount_cents: Annotated[
        int | None,
        feature("amountCents", THE_TRANSFER),
        "In US cents, at most ten billion dollars; null where the bank states no amount in US dollars: the transfer "
        "then is in no sum.",
    ]
    rail: Annotated[str, feature("rail", THE_TRANSFER), "ach, wire, realtime, book, intl_wire, check or card."]
    direction: Annotated[
        str, feature("direction", THE_TRANSFER), "incoming or outgoing, by the side that originated it."
    ]
    type: Annotated[str | None, feature("type", THE_TRANSFER), "CREDIT or DEBIT on ach, else null."]
    status: Annotated[
        str | None, feature("status", THE_TRANSFER), "The bank's status; null before the transfer landed."
    ]
    counterparty_country: Annotated[
        str | None, feature("counterpartyCountry", THE_TRANSFER, unit="ISO 3166-1"), "Null when not delivered."
    ]
    card_decision_reason: Annotated[
        str | None, feature("cardDecisionReason", THE_TRANSFER), "The normalised reason; card only."
    ]


class Identity(Group, frozen=True):
    """The bank's report on the entity; all None without one."""

    entity_verification_status: Annotated[
        str | None,
        feature("entity.verificationStatus", "as known at the transfer's time"),
        "Null until the bank reports the entity.",
    ]
    entity_pep_status: Annotated[str | None, feature("entity.pepStatus", "as known then"), "Null when not reported."]
    entity_is_high_risk: Annotated[
        bool | None, feature("entity.isHighRisk", "as known then"), "Null when not reported."
    ]
    entity_requires_screening: Annotated[
        bool | None, feature("entity.requiresScreening", "as known then"), "Null when not reported."
    ]
    entity_screening_age_days: Annotated[
        int | None,
        feature("entity.screeningAgeDays", "as known then"),
        "Whole days since the last screening; null when never screened.",
    ]


class Activity(Group, frozen=True):
    """Counts of the actor: velocity with the transfer, all others without it."""

    entity_count_30d: Annotated[int, feature("entity.count30d"), "Its other transfers."]
    velocity_24h_count: Annotated[int, feature("velocity24hCount", "24 hours"), "Of the entity, with this transfer."]
    velocity_24h_sum_cents: Annotated[
        int, feature("velocity24hSumCents", "24 hours"), "The entity's transfers, with this one."
    ]
    entity_prior_transfers: Annotated[int, feature("entity.priorTransfers", ALL_HISTORY), "Its earlier transfers."]
    entity_prior_returns: Annotated[
        int, feature("entity.priorReturns", ALL_HISTORY), "The entity's earlier ACH transfers that were returned."
    ]
    entity_ach_debits_60d: Annotated[int, feature("entity.achDebits60d"), "The entity's other originated ACH debits."]
    entity_unauthorized_returns_60d: Annotated[
        int,
        feature("entity.unauthorizedReturns60d"),
        "R05, R07, R10, R11, R29 and R51 delivered on ACH debits that the entity originated.",
    ]
    structuring_window_count: Annotated[
        int,
        feature("structuringWindowCount", "7 days"),
        "Transfers in 80-100 % of one reporting threshold, of the entity or to the counterparty, with this one.",
    ]


class Relationship(Group, frozen=True):
    """The program's history with the counterparty."""

    counterparty_first_time: Annotated[
        bool | None,
        feature("counterparty.firstTime", ALL_HISTORY),
        "No earlier transfer between program and counterparty; null when none was named.",
    ]
    counterparty_n: Annotated[int, feature("counterparty.n", ALL_HISTORY), "Earlier transfers with the counterparty."]
    counterparty_prior_returns: Annotated[
        int, feature("counterparty.priorReturns", ALL_HISTORY), "Returned transfers with the counterparty."
    ]
    counterparty_prior_unauthorized_returns: Annotated[
        int,
        feature("counterparty.priorUnauthorizedReturns", ALL_HISTORY),
        "Unauthorized returns of ACH debits sent to it.",
    ]


class ProgramFigures(Group, frozen=True):
    """The program's baseline and volume, beside its declaration."""

    program_n_90d: Annotated[
        int | None,
        feature("program.n90d"),
        "Transfers of the same rail and direction when at least 30, else of all; null below 5.",
    ]
    program_median_cents: Annotated[int | None, feature("program.medianCents", "90 days"), "Median, within 0.5 %."]
    program_p95_cents: Annotated[int | None, feature("program.p95Cents", "90 days"), "95th percentile, within 0.5 %."]
    program_daily_avg_cents_30d: Annotated[
        int | None,
        feature("program.dailyAvgCents30d", unit="cents a day"),
        "Volume over the days of the program's existence in them; null in its first 7 days.",
    ]
    program_declared_monthly_volume_cents: Annotated[
        int | None,
        feature("program.declaredMonthlyVolumeCents", "as declared then", unit="cents a month"),
        "Null when not declared.",
    ]
    program_unauthorized_return_rate_60d: Annotated[
        float | None,
        feature("program.unauthorizedReturnRate60d"),
        "Unauthorized returns received over ACH debits originated; null without a debit.",
    ]
    declared_countries: Annotated[
        str, feature("declared.countries", "as declared then", unit="ISO 3166-1 list"), "Comma-separated."
    ]


class Typologies(Group, frozen=True):
    """The shapes that the interface names, and the rails that the program declared."""

    typology_round_trip: Annotated[
        bool | None,
        feature("typology.roundTrip", "7 days"),
        "It ends a chain of at most 5 hops that began at its receiver, and 80 % came back; null without an actor.",
    ]
    typology_layering_hops: Annotated[
        int | None,
        feature("typology.layeringHops", "72 hours a hop"),
        "Longest chain of transfers that ends in this one, each 80-105 % of the one before; null without an actor.",
    ]
    typology_dormant_days: Annotated[
        int | None,
        feature("typology.dormantDays", ALL_HISTORY),
        "Whole days since the entity's (else the account's) previous transfer; null for its first.",
    ]
    typology_just_below_threshold: Annotated[
        bool | None,
        feature("typology.justBelowThreshold", THE_TRANSFER),
        "The amount lies in 90-100 % of a reporting threshold; null without an amount in US dollars.",
    ]
    declared_rails: Annotated[str, feature("declared.rails", "as declared then", unit="rail list"), "Comma-separated."]


class History(Group, frozen=True):
    """Sums and counts of the actor's other transfers."""

    entity_sum_cents_30d: Annotated[int, feature("entity.sumCents30d"), "Its other transfers."]
    entity_n_90d: Annotated[int, feature("entity.n90d"), "Its other transfers."]
    entity_sum_cents_90d: Annotated[int, feature("entity.sumCents90d"), "Its other transfers."]
    structuring_count_24h: Annotated[int, feature("structuring24hCount"), "As structuringWindowCount."]
    counterparty_account_changed: Annotated[
        bool,
        feature("counterparty.accountChanged", ALL_HISTORY),
        "The first transfer to an account, after transfers to the same id or name under other account details.",
    ]
    entity_returns_30d: Annotated[int, feature("entity.returns30d"), "Returns of its ACH debits."]
    entity_ach_debits_30d: Annotated[int, feature("entity.achDebits30d"), "As entity.achDebits60d."]


class Amounts(Group, frozen=True):
    """The actor's age, its usual amount, similar amounts, and the money received and sent in 48 hours."""

    entity_age_days: Annotated[
        int | None,
        feature("entity.ageDays", "as known then"),
        "Since the entity's first transfer or reported creation, whichever is earlier; null without both.",
    ]
    entity_median_cents_90d: Annotated[
        int | None,
        feature("entity.medianCents90d"),
        "Median of its newest 64 other transfers, the larger ones of one instant counting as newer; null below 5.",
    ]
    repeated_amount_count_24h: Annotated[
        int,
        feature("repeatedAmount24hCount"),
        "The entity's newest 64 transfers within 10 % of this amount, with this one.",
    ]
    round_amount_count_30d: Annotated[
        int,
        feature("roundAmount30dCount"),
        "The entity's multiples of $1,000 from $5,000 on, without cards, with this one.",
    ]
    entity_in_cents_48h: Annotated[
        int, feature("entity.in48hCents"), "Money that the entity received, without cards, with this transfer."
    ]
    entity_out_cents_48h: Annotated[
        int, feature("entity.out48hCents"), "Money that the entity sent, without cards, with this transfer."
    ]


class Passing(Group, frozen=True):
    """The actor's busiest day of five weeks, and the money that passes through it; None where no rule needs it."""

    entity_busiest_day_count_35d: Annotated[
        int | None,
        feature("entity.busiestDay35dCount"),
        "Most transfers in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in "
        "days that end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ]
    entity_busiest_day_cents_35d: Annotated[
        int | None,
        feature("entity.busiestDay35dCents"),
        "Most cents in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in days "
        "that end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ]
    entity_peak_cents_48h: Annotated[
        int | None,
        feature("entity.peak48hCents"),
        "Highest balance of received and sent money, counted from 0; null unless it sends on 80 % of at least $1,000.",
    ]
    entity_left_cents_48h: Annotated[
        int | None,
        feature("entity.left48hCents"),
        "Last balance of received and sent money; null where entity.peak48hCents is null.",
    ]
    entity_new_money_cents_48h: Annotated[
        int | None,
        feature("entity.newMoney48hCents"),
        "Received from payers that are unknown or first paid it less than 60 days ago; null where "
        "entity.peak48hCents is null.",
    ]
