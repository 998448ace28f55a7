"""The random streams' parties: identities as events tell them, and objects as the bank's API answers them."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from tests.support import bank_events as bank

LATE: Final = (1, SECOND_US, HOUR_US, DAY_US, 2 * DAY_US, 7 * DAY_US, 30 * DAY_US, 60 * DAY_US)
ACCOUNTS: Final = ("bacc_1", "bacc_2", "bacc_3", "bacc_4")
OWNERS: Final = ("enti_1", "enti_2", "enti_1", "enti_3")
VERIFICATIONS: Final = ("verified", "verified", "pending", "manual_review", "denied")
PEPS: Final = ("no", "no", "yes", "potential", "not_checked")
REVIEWS: Final[tuple[list[str] | None, ...]] = (
    [],
    ["ssn_mismatch"],
    ["fraud_risk"],
    ["name_mismatch", "fraud_risk"],
    None,
)

Data = dict[str, Any]


def verified(chance: Random, event_at: int) -> tuple[str, Data]:
    """The outcome of a verification, with the whole entity or only what changed."""
    word = chance.choice(VERIFICATIONS)
    data: Data = {"id": chance.choice(OWNERS), "verification_status": word.upper()}
    if chance.random() < 0.7:
        data = bank.an_entity(
            **data,
            review_reasons=chance.choice(REVIEWS),
            is_high_risk=chance.random() < 0.3,
            requires_screening=chance.random() < 0.5,
            last_screened_at=bank.rfc3339(event_at - chance.choice(LATE)) if chance.random() < 0.5 else None,
            created_at=bank.rfc3339(event_at - 30 * DAY_US) if chance.random() < 0.5 else None,
            updated_at=bank.rfc3339(event_at),
        )
        data["person_details"] = {**data["person_details"], "pep_status": chance.choice(PEPS)}
    return word, data


def account_on_file(chance: Random, _fetched_at: int) -> Data:
    """An account object has no ``updated_at``; now and then it has no owners."""
    account = chance.choice((*ACCOUNTS, "bacc_9"))
    owner = (*OWNERS, "enti_9")[(*ACCOUNTS, "bacc_9").index(account)]
    return bank.an_account(id=account, owners=[owner][: chance.choice((0, 1, 1, 1))])


def entity_on_file(chance: Random, fetched_at: int) -> Data:
    return verified(chance, fetched_at - chance.choice((0, DAY_US)))[1]


def counterparty_on_file(chance: Random, fetched_at: int) -> Data:
    which, country = chance.randint(1, 6), chance.choice(("US", "DE", "IR", None))
    number = chance.choice(("000001111", "000002222", f"00000{str(which) * 4}"))
    data = bank.a_counterparty(id=f"cpty_{which}", name=f"Party {which}", account_number=number)
    return data | {"address": {"country_code": country}, "updated_at": bank.rfc3339(fetched_at)}


ON_FILE: Final[dict[str, Callable[[Random, int], Data]]] = {
    "account": account_on_file,
    "entity": entity_on_file,
    "counterparty": counterparty_on_file,
}
