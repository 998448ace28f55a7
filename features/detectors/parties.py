"""Detectors of parties: their counterparties, returned debits, verification and screening, countries and rails, cards.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.core.instants import DAYS_7, DAYS_30, DAYS_60, HOURS_24, HOURS_48
from clearhold.features.detectors.detector import (
    HARD,
    HIGH,
    LOW,
    MEDIUM,
    ONCE,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    Trigger,
    account_subject,
    actor_subject,
    counterparty_subject,
    named_counterparty,
    program_subject,
    shared_account_subject,
    transfer_subject,
)
from clearhold.features.scorers.trs_v1 import identity as identity_rules
from clearhold.features.scorers.trs_v1 import relationship as relationship_rules
from clearhold.features.scorers.trs_v1 import returns as returns_rules
from clearhold.features.scorers.trs_v1 import timing as timing_rules

UNAUTHORIZED_RETURN: Final = "unauthorized_return"
UNAUTHORIZED_RETURNS: Final = 2
DENIED: Final = "kyc_denied_moving"
SANCTIONS_RETURN: Final = "sanctions_return"
SCREENING: Final = "screening_stale_or_hit"
UNVERIFIED_7D_CENTS: Final = 100_000


def returning_entity_subject(context: DetectionContext) -> AlertSubject | None:
    enough = context.vector.entity_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return actor_subject(context) if enough and context.actor is not None else None


def returning_counterparty_subject(context: DetectionContext) -> AlertSubject | None:
    party = context.counterparty
    enough = context.vector.counterparty_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return named_counterparty(party) if enough and party is not None and not party.unlisted else None


def grade_unverified(context: DetectionContext, _subject: AlertSubject) -> Grade | None:
    return MEDIUM if seven_day_cents(context) >= UNVERIFIED_7D_CENTS else None


def seven_day_cents(context: DetectionContext) -> int:
    """The sum that the actor moved in 7 days, with this transfer if it moved money."""
    return 0 if context.actor is None else context.actor.amounts.measure(context.at - DAYS_7, context.at)[1]


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="first_time_counterparty_large",
        opens_when="A large first transfer with a counterparty.",
        triggers=(Trigger(relationship_rules.FIRST_TIME_LARGE.id, transfer_subject, MEDIUM, ONCE),),
        features=("counterparty_first_time", "counterparty_n", "program_p95_cents"),
        thresholds={"floorCents": relationship_rules.LARGE_FIRST_CENTS},
        unexplained="the purpose of a first transfer of this amount with this counterparty",
        next_step="ask for the contract or invoice and confirm the account details on a second channel",
    ),
    Detector(
        id="new_counterparty_burst",
        opens_when="Many new counterparties of one entity in a day.",
        triggers=(Trigger(relationship_rules.BURST.id, actor_subject, MEDIUM, HOURS_24),),
        features=("entity_new_counterparties_24h", "velocity_24h_count"),
        thresholds={"count24h": relationship_rules.NEW_COUNTERPARTIES},
        unexplained="why many counterparties are new on the same day",
        next_step="check whether a list was imported or a campaign began, and look at two of the new ones",
    ),
    Detector(
        id="counterparty_shared",
        opens_when="Several entities deal with one account.",
        triggers=(Trigger(relationship_rules.SHARED.id, shared_account_subject, HIGH, DAYS_30),),
        features=("counterparty_shared_entities_30d", "counterparty_n"),
        thresholds={"entities30d": relationship_rules.SHARING_ENTITIES},
        unexplained="how the entities that deal with one and the same account are related",
        next_step="list the entities and ask the program who owns the account",
    ),
    Detector(
        id="return_code_abuse",
        opens_when=(
            "Many returns for the debits sent, accounts probed, or a debit repeated after an unauthorized return."
        ),
        triggers=(
            Trigger(returns_rules.ABUSE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(returns_rules.PROBING.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(returns_rules.REDEBIT.id, actor_subject, HARD, DAYS_30),
        ),
        features=(
            "entity_returns_30d",
            "entity_ach_debits_30d",
            "entity_probing_returns_30d",
            "counterparty_stop_return_days",
            "entity_prior_returns",
        ),
        thresholds={
            "returns30d": returns_rules.RETURNS_FLOOR,
            "sharePercent": returns_rules.RETURNS_SHARE_PERCENT,
            "probed30d": returns_rules.PROBED_COUNTERPARTIES,
            "redebitDays": returns_rules.REDEBIT_DAYS,
        },
        unexplained="why many debits are returned and how the program treats the accounts that refused them",
        next_step="ask the program for the authorizations of the returned debits and stop repeated debits",
    ),
    Detector(
        id=UNAUTHORIZED_RETURN,
        opens_when="The second unauthorized return in 60 days, of an entity's debits or of debits with a counterparty.",
        triggers=(
            Trigger(returns_rules.UNAUTHORIZED.id, returning_entity_subject, HIGH, DAYS_60),
            Trigger(returns_rules.UNAUTHORIZED.id, returning_counterparty_subject, HIGH, DAYS_60),
        ),
        features=(
            "entity_unauthorized_returns_60d",
            "counterparty_unauthorized_returns_60d",
            "counterparty_prior_unauthorized_returns",
            "entity_ach_debits_60d",
        ),
        thresholds={"returns": UNAUTHORIZED_RETURNS},
        unexplained="whether the account holders authorized the debits that came back",
        next_step="obtain the authorizations of the returned debits and look at the other debits of the same party",
    ),
    Detector(
        id=SANCTIONS_RETURN,
        opens_when="An ACH entry was returned as R16: account frozen, or returned by an instruction of OFAC.",
        triggers=(Trigger(returns_rules.SANCTIONS_RETURN.id, counterparty_subject, HARD, DAYS_30),),
        features=("counterparty_frozen_returns", "counterparty_n"),
        thresholds={"returns": 1},
        unexplained="why the counterparty's account is frozen, and whether OFAC ordered the return",
        next_step="hold payments to the counterparty, screen it, and ask the bank which of the two causes applies",
    ),
    Detector(
        id="ach_float",
        opens_when="Money pulled by ACH debits leaves before they can come back.",
        triggers=(Trigger(returns_rules.FLOAT.id, actor_subject, HIGH, HOURS_48),),
        features=("entity_pulled_cents_2bd", "entity_fast_out_cents_2bd", "entity_age_days", "entity_ach_debits_all"),
        thresholds={"percent": returns_rules.FLOAT_PERCENT, "youngDays": returns_rules.FLOAT_YOUNG_DAYS},
        unexplained="why pulled money is spent before its debit can come back",
        next_step="wait for the return window of the debits before more leaves by a fast rail",
    ),
    Detector(
        id=DENIED,
        opens_when=(
            "A denied entity moves money, or is paid by a book transfer; or the bank denies an entity that moved some "
            "in the 90 days before."
        ),
        triggers=(Trigger(identity_rules.DENIED.id, actor_subject, HARD, DAYS_7),),
        features=("entity_verification_status",),
        unexplained="how an entity that was denied can still move money",
        next_step="ask the program to stop the entity and to explain which control let the transfer through",
    ),
    Detector(
        id="kyc_unverified_moving",
        opens_when="An entity whose verification is not finished moves at least $1,000 in 7 days.",
        triggers=(Trigger(identity_rules.UNVERIFIED.id, actor_subject, MEDIUM, DAYS_7, regrade=grade_unverified),),
        features=("entity_verification_status", "velocity_24h_sum_cents"),
        thresholds={"sum7dCents": UNVERIFIED_7D_CENTS},
        figures=lambda context: {"entity.sum7dCents": seven_day_cents(context)},
        unexplained="why verification is not finished while this much already moves",
        next_step="ask the program for the missing documents and for the date by which it will be done",
    ),
    Detector(
        id=SCREENING,
        opens_when=(
            "A politically exposed, high-risk, unscreened or long unscreened entity, or one whose review by the bank "
            "names a fraud risk or a list of sanctions, with its next transfer; if it moved money in the 90 days "
            "before, with the bank's statement. A wallet on a sanctions list: of an agent, or of a counterparty that "
            "pays one."
        ),
        hard_when="for a listed wallet",
        severities=(HARD.severity,),
        triggers=(
            Trigger(identity_rules.PEP.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(identity_rules.PEP_POTENTIAL.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(identity_rules.HIGH_RISK.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(identity_rules.NEVER_SCREENED.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(identity_rules.SCREENING_STALE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(identity_rules.FRAUD_RISK.id, actor_subject, MEDIUM, DAYS_30),
        ),
        features=(
            "entity_pep_status",
            "entity_is_high_risk",
            "entity_requires_screening",
            "entity_screening_age_days",
            "entity_rescreen_days",
            "entity_fraud_risk",
        ),
        unexplained="whether the entity's screening is complete, recent and cleared",
        next_step="screen the entity again and record who cleared the matches",
    ),
    Detector(
        id="high_risk_geography",
        opens_when=(
            "The counterparty's country is on a regulator's list; the increased-monitoring list gives a low alert."
        ),
        triggers=(
            Trigger(identity_rules.CALLED.id, transfer_subject, HARD, ONCE),
            Trigger(identity_rules.SANCTIONED.id, transfer_subject, HARD, ONCE),
            Trigger(identity_rules.MONITORED.id, transfer_subject, LOW, ONCE),
        ),
        features=("counterparty_country", "counterparty_country_lists", "thresholds_version"),
        unexplained="what business the entity has with the country named here",
        next_step=(
            "obtain the purpose and the parties behind the counterparty, and compare them with the lists in force"
        ),
    ),
    Detector(
        id="country_unknown",
        opens_when="An international wire without a country that can be read.",
        triggers=(Trigger(identity_rules.UNKNOWN.id, transfer_subject, MEDIUM, ONCE),),
        features=("counterparty_country", "rail"),
        unexplained="which country the money goes to or comes from",
        next_step="obtain the country from the payment message, and compare it with the lists in force",
    ),
    Detector(
        id="country_outside_declared",
        opens_when="A country that the program did not declare; one more alert a day on the program.",
        triggers=(
            Trigger(identity_rules.OTHER_COUNTRY.id, transfer_subject, MEDIUM, ONCE),
            Trigger(identity_rules.OTHER_COUNTRY.id, program_subject, MEDIUM, HOURS_24),
        ),
        features=("counterparty_country", "declared_countries"),
        unexplained="why money goes to or comes from a country that the program did not declare",
        next_step="ask whether the declaration is out of date or the transfer is outside the program's business",
    ),
    Detector(
        id="rail_outside_declared",
        opens_when="A rail that the program did not declare; one more alert a day on the program.",
        triggers=(
            Trigger(identity_rules.OTHER_RAIL.id, transfer_subject, MEDIUM, ONCE),
            Trigger(identity_rules.OTHER_RAIL.id, program_subject, MEDIUM, HOURS_24),
        ),
        features=("declared_rails",),
        unexplained="why a rail is used that the program did not declare",
        next_step="ask whether the declaration is out of date or the transfer is outside the program's business",
    ),
    Detector(
        id="card_testing",
        opens_when="Repeated attempts on one card; hard with attempts on many cards at one program.",
        triggers=(
            Trigger(timing_rules.TESTING.id, account_subject, HIGH, HOURS_24),
            Trigger(timing_rules.TESTING_PROGRAM.id, program_subject, HARD, HOURS_24),
        ),
        features=(
            "card_declines_1h",
            "card_small_count_1h",
            "program_card_attempts_1h",
            "program_card_declines_1h",
            "program_card_small_count_1h",
        ),
        thresholds={
            "declines1h": timing_rules.CARD_DECLINES,
            "small1h": timing_rules.CARD_SMALL_COUNT,
            "programAttempts1h": timing_rules.PROGRAM_ATTEMPTS,
            "programDeclinedPercent": timing_rules.PROGRAM_DECLINED_PERCENT,
        },
        unexplained="whether cards are being tested here",
        next_step=(
            "look at the declined attempts and their reasons, and pause the card or the merchant until it is known"
        ),
    ),
    Detector(
        id="card_decline_mix",
        opens_when="More of a program's card attempts are declined for fraud than usual.",
        triggers=(Trigger(timing_rules.DECLINE_MIX.id, program_subject, MEDIUM, HOURS_24),),
        features=(
            "program_card_attempts_24h",
            "program_card_fraud_declines_24h",
            "program_card_attempts_30d",
            "program_card_fraud_declines_30d",
        ),
        thresholds={
            "attempts24h": timing_rules.MIX_ATTEMPTS,
            "percent": timing_rules.MIX_PERCENT,
            "factor": timing_rules.MIX_FACTOR,
        },
        unexplained="why fraud declines are more frequent than before",
        next_step="look at merchants, entry modes and times of the declined attempts",
    ),
)
