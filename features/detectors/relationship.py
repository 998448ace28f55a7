"""Detectors of an entity's counterparties: large first transfers, many new ones, and several entities on one account.

Source  the reasons (``docs/reasons.md``); windows are [P]
"""

from typing import Final

from clearhold.features.core.instants import DAYS_30, HOURS_24
from clearhold.features.detectors.detector import HIGH, MEDIUM, ONCE, Detector, ReviewQuestion, Trigger
from clearhold.features.detectors.subjects import actor_subject, shared_account_subject, transfer_subject
from clearhold.features.scorers.trs_v1 import relationship as rules

DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="first_time_counterparty_large",
        opens_when="A large first transfer with a counterparty.",
        triggers=(Trigger(rules.FIRST_TIME_LARGE.id, transfer_subject, MEDIUM, ONCE),),
        features=("counterparty_first_time", "counterparty_n", "program_p95_cents"),
        thresholds={"floorCents": rules.LARGE_FIRST_CENTS},
        review=ReviewQuestion(
            unexplained="the purpose of a first transfer of this amount with this counterparty",
            next_step="ask for the contract or invoice and confirm the account details on a second channel",
        ),
    ),
    Detector(
        id="new_counterparty_burst",
        opens_when="Many new counterparties of one entity in a day.",
        triggers=(Trigger(rules.BURST.id, actor_subject, MEDIUM, HOURS_24),),
        features=("entity_new_counterparties_24h", "velocity_24h_count"),
        thresholds={"count24h": rules.NEW_COUNTERPARTIES},
        review=ReviewQuestion(
            unexplained="why many counterparties are new on the same day",
            next_step="check whether a list was imported or a campaign began, and look at two of the new ones",
        ),
    ),
    Detector(
        id="counterparty_shared",
        opens_when="Several entities deal with one account.",
        triggers=(Trigger(rules.SHARED.id, shared_account_subject, HIGH, DAYS_30),),
        features=("counterparty_shared_entities_30d", "counterparty_n"),
        thresholds={"entities30d": rules.SHARING_ENTITIES},
        review=ReviewQuestion(
            unexplained="how the entities that deal with one and the same account are related",
            next_step="list the entities and ask the program who owns the account",
        ),
    ),
)
