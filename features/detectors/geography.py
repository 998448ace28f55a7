"""Detectors of countries and rails: on a regulator's list, unknown, or undeclared by the program.

Source  the reasons (``docs/reasons.md``); windows are [P]
"""

from typing import Final

from clearhold.features.core.instants import HOURS_24
from clearhold.features.detectors.detector import HARD, LOW, MEDIUM, ONCE, Detector, ReviewQuestion, Trigger
from clearhold.features.detectors.subjects import program_subject, transfer_subject
from clearhold.features.scorers.trs_v1 import geography as rules

DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="high_risk_geography",
        opens_when=(
            "The counterparty's country is on a regulator's list; the increased-monitoring list gives a low alert."
        ),
        triggers=(
            Trigger(rules.CALLED.id, transfer_subject, HARD, ONCE),
            Trigger(rules.SANCTIONED.id, transfer_subject, HARD, ONCE),
            Trigger(rules.MONITORED.id, transfer_subject, LOW, ONCE),
        ),
        features=("counterparty_country", "counterparty_country_lists", "thresholds_version"),
        thresholds={},
        review=ReviewQuestion(
            unexplained="what business the entity has with the country named here",
            next_step=(
                "obtain the purpose and the parties behind the counterparty, and compare them with the lists in force"
            ),
        ),
    ),
    Detector(
        id="country_unknown",
        opens_when="An international wire without a country that can be read.",
        triggers=(Trigger(rules.UNKNOWN.id, transfer_subject, MEDIUM, ONCE),),
        features=("counterparty_country", "rail"),
        thresholds={},
        review=ReviewQuestion(
            unexplained="which country the money goes to or comes from",
            next_step="obtain the country from the payment message, and compare it with the lists in force",
        ),
    ),
    Detector(
        id="country_outside_declared",
        opens_when="A country that the program did not declare; one more alert a day on the program.",
        triggers=(
            Trigger(rules.OTHER_COUNTRY.id, transfer_subject, MEDIUM, ONCE),
            Trigger(rules.OTHER_COUNTRY.id, program_subject, MEDIUM, HOURS_24),
        ),
        features=("counterparty_country", "declared_countries"),
        thresholds={},
        review=ReviewQuestion(
            unexplained="why money goes to or comes from a country that the program did not declare",
            next_step="ask whether the declaration is out of date or the transfer is outside the program's business",
        ),
    ),
    Detector(
        id="rail_outside_declared",
        opens_when="A rail that the program did not declare; one more alert a day on the program.",
        triggers=(
            Trigger(rules.OTHER_RAIL.id, transfer_subject, MEDIUM, ONCE),
            Trigger(rules.OTHER_RAIL.id, program_subject, MEDIUM, HOURS_24),
        ),
        features=("declared_rails",),
        thresholds={},
        review=ReviewQuestion(
            unexplained="why a rail is used that the program did not declare",
            next_step="ask whether the declaration is out of date or the transfer is outside the program's business",
        ),
    ),
)
