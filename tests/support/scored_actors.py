"""Actors with a score, from what the bank sends: an entity that owns an account, and whom it pays every day."""

from datetime import date, timedelta
from typing import Any, Final

from tests.support.alerting import deliver, outgoing, party
from tests.support.running_app import RunningApp

DAYS: Final = 8
VERIFIED: Final[dict[str, Any]] = {"type": "BUSINESS", "verification_status": "verified"}


FIRST_DAY: Final = date(2026, 2, 10)


def payments(account: str, payee: str, prefix: str, days: int, *, first: date = FIRST_DAY) -> list[bytes]:
    """One outgoing payment a day, from the account to the payee."""
    return [
        outgoing(
            f"acht_{prefix}_{day}",
            at=f"{first + timedelta(days=day)}T14:00:00Z",
            bank_account_id=account,
            counterparty_id=payee,
            amount=10_000 + 137 * day,
        )
        for day in range(days)
    ]


def score_actors(
    api: RunningApp, program: dict[str, Any], *, entity: str = "enti_1", payee: str = "cpty_1", days: int = DAYS
) -> None:
    """Bring an entity and its payee to a score of their own."""
    account = f"bacc_of_{entity}"
    at = "2026-02-09T14:00:00Z"
    deliver(
        api,
        program,
        party("identity", entity, at=at, **VERIFIED),
        party("account", account, at=at, owners=[entity], type="CHECKING", status="OPEN"),
        party("counterparty", payee, at=at, name="Example Supplies"),
        *payments(account, payee, entity, days),
    )
