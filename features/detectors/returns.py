"""Detectors of returned ACH debits: abuse of return codes, unauthorized returns, and spending before a return.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.core.instants import DAYS_30, DAYS_60, HOURS_48
from clearhold.features.core.reason import Reason
from clearhold.features.detectors.detector import (
    HARD,
    HIGH,
    MEDIUM,
    AlertSubject,
    DetectionContext,
    Detector,
    ReviewQuestion,
    Trigger,
)
from clearhold.features.detectors.subjects import actor_subject, counterparty_subject, named_counterparty
from clearhold.features.scorers.trs_v1 import returns as rules

UNAUTHORIZED_RETURN: Final = "unauthorized_return"
UNAUTHORIZED_RETURNS: Final = 2
SANCTIONS_RETURN: Final = "sanctions_return"


def returning_entity_subject(context: DetectionContext, reason: Reason) -> AlertSubject | None:
    enough = context.vector.entity_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return actor_subject(context, reason) if enough and context.actor is not None else None


def returning_counterparty_subject(context: DetectionContext, _reason: Reason) -> AlertSubject | None:
    party = context.counterparty
    enough = context.vector.counterparty_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return named_counterparty(party) if enough and party is not None and not party.unlisted else None


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="return_code_abuse",
        opens_when=(
            "Many returns for the debits sent, accounts probed, or a debit repeated after an unauthorized return."
        ),
        triggers=(
            Trigger(rules.ABUSE.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.PROBING.id, actor_subject, MEDIUM, DAYS_30),
            Trigger(rules.REDEBIT.id, actor_subject, HARD, DAYS_30),
        ),
        features=(
            "entity_returns_30d",
            "entity_ach_debits_30d",
            "entity_probing_returns_30d",
            "counterparty_stop_return_days",
            "entity_prior_returns",
        ),
        thresholds={
            "returns30d": rules.RETURNS_FLOOR,
            "sharePercent": rules.RETURNS_SHARE_PERCENT,
            "probed30d": rules.PROBED_COUNTERPARTIES,
            "redebitDays": rules.REDEBIT_DAYS,
        },
        review=ReviewQuestion(
            unexplained="why many debits are returned and how the program treats the accounts that refused them",
            next_step="ask the program for the authorizations of the returned debits and stop repeated debits",
        ),
    ),
    Detector(
        id=UNAUTHORIZED_RETURN,
        opens_when="The second unauthorized return in 60 days, of an entity's debits or of debits with a counterparty.",
        triggers=(
            Trigger(rules.UNAUTHORIZED.id, returning_entity_subject, HIGH, DAYS_60),
            Trigger(rules.UNAUTHORIZED.id, returning_counterparty_subject, HIGH, DAYS_60),
        ),
        features=(
            "entity_unauthorized_returns_60d",
            "counterparty_unauthorized_returns_60d",
            "counterparty_prior_unauthorized_returns",
            "entity_ach_debits_60d",
        ),
        thresholds={"returns": UNAUTHORIZED_RETURNS},
        review=ReviewQuestion(
            unexplained="whether the account holders authorized the debits that came back",
            next_step="obtain the authorizations of the returned debits and look at the other debits of the same party",
        ),
    ),
    Detector(
        id=SANCTIONS_RETURN,
        opens_when="An ACH entry was returned as R16: account frozen, or returned by an instruction of OFAC.",
        triggers=(Trigger(rules.SANCTIONS_RETURN.id, counterparty_subject, HARD, DAYS_30),),
        features=("counterparty_frozen_returns", "counterparty_n"),
        thresholds={"returns": 1},
        review=ReviewQuestion(
            unexplained="why the counterparty's account is frozen, and whether OFAC ordered the return",
            next_step="hold payments to the counterparty, screen it, and ask the bank which of the two causes applies",
        ),
    ),
    Detector(
        id="ach_float",
        opens_when="Money pulled by ACH debits leaves before they can come back.",
        triggers=(Trigger(rules.FLOAT.id, actor_subject, HIGH, HOURS_48),),
        features=("entity_pulled_cents_2bd", "entity_fast_out_cents_2bd", "entity_age_days", "entity_ach_debits_all"),
        thresholds={"percent": rules.FLOAT_PERCENT, "youngDays": rules.FLOAT_YOUNG_DAYS},
        review=ReviewQuestion(
            unexplained="why pulled money is spent before its debit can come back",
            next_step="wait for the return window of the debits before more leaves by a fast rail",
        ),
    ),
)
