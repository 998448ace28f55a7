"""A service beside a bank whose directory it reads: transfers as the bank sends them, and what is known afterwards."""

import contextlib
import http.client
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from clearhold.demo.bank_api import TEST_KEY, BankApi
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.running_service import ADMIN_TOKEN, RunningService, post_until_taken

ACCOUNT: Final[dict[str, Any]] = {"id": "bacc_1", "type": "CHECKING", "owners": ["enti_1"], "status": "open"}
ENTITY: Final[dict[str, Any]] = {
    "id": "enti_1",
    "type": "PERSON",
    "verification_status": "VERIFIED",
    "person_details": {"first_name": "Dana", "last_name": "Rivers", "ssn": "918273645"},
}
COUNTERPARTY: Final[dict[str, Any]] = {
    "id": "cpty_1",
    "name": "Muster GmbH",
    "routing_number": "021000021",
    "account_number": "000918276789",
    "local_bank_country_code": "DE",
}
PATHS: Final = {"/bank-accounts/bacc_1", "/entities/enti_1", "/counterparties/cpty_1"}
WITHIN_S: Final = 60.0


def until(is_true: Callable[[], bool], *, within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class ServedDirectory:
    """A tenant with one program; the bank knows the parties of its transfers."""

    def __init__(self, folder: Path, *, rate: int = 200) -> None:
        self.bank = BankApi()
        self.bank.put_account(ACCOUNT)
        self.bank.put_entity(ENTITY)
        self.bank.put_counterparty(COUNTERPARTY)
        environment = {
            "CLEARHOLD_BANK_URL": f"{self.bank.url}/",
            "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1",
            "CLEARHOLD_BANK_RATE": str(rate),
        }
        self.service = RunningService(folder / "data", "--metrics-port", "0", environment=environment)
        self._events = 0

    def __enter__(self) -> Self:
        self.bank.__enter__()
        self.service.__enter__()
        self.tenant = self.service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        program = {"tenantId": self.tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = self.service.admin("/api/admin/programs", program)
        return self

    def __exit__(self, *raised: object) -> None:
        self.service.__exit__(*raised)
        self.bank.__exit__(*raised)

    def put_key(self, key: str = TEST_KEY) -> int:
        """The status of the answer."""
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root", "Content-Type": "application/json"}
        body = msgspec.json.encode({"key": key})
        with contextlib.closing(self.service.connect()) as connection:
            connection.request("PUT", f"/api/admin/tenants/{self.tenant['id']}/bank-key", body, headers)
            return connection.getresponse().status

    def wire(self, **over: Any) -> str:
        """Post a wire that names an account and a counterparty and says nothing about them; its id."""
        self._events += 1
        wire_id = f"wire_{self._events}"
        at = bank.rfc3339(T0 + self._events * 1_000_000)
        usual = {
            "id": wire_id,
            "bank_account_id": "bacc_1",
            "counterparty_id": "cpty_1",
            "beneficiary_name": None,
            "beneficiary_account_number": None,
            "creditor_agent_routing_number": None,
            "created_at": at,
            "updated_at": at,
        }
        data = bank.a_wire(**usual | over)
        data.pop("entity_id", None)
        event = {"id": f"evnt_{self._events}", "created_at": at, "type": "wire.outgoing_transfer.completed"}
        post_until_taken(self.service, self.program, [msgspec.json.encode(event | {"data": data})], within_s=60)
        until(lambda: self.read(f"transfers/{wire_id}") is not None)
        return wire_id

    def read(self, path: str) -> dict[str, Any] | None:
        """A resource of the tenant's; None while there is none."""
        headers = {"Authorization": f"Bearer {self.tenant['operatorToken']}", "X-Operator": "ann"}
        with contextlib.closing(self.service.connect()) as connection:
            connection.request("GET", f"/api/{path}", headers=headers)
            answer = connection.getresponse()
            content = answer.read()
        if answer.status != http.client.OK:
            return None
        decoded: dict[str, Any] = msgspec.json.decode(content)
        return decoded

    def entity_name(self) -> str | None:
        entity = self.read("entities/enti_1")
        return None if entity is None else entity["name"]

    def counterparty_country(self) -> str | None:
        party = self.read("counterparties/cpty_1")
        return None if party is None else party["countryCode"]

    def wait_until_known(self) -> None:
        until(lambda: self.entity_name() == "Dana Rivers" and self.counterparty_country() == "DE")

    @property
    def answered(self) -> Counter[str]:
        """How often the bank answered for each path with an object."""
        return Counter(each.path for each in self.bank.requests if each.status == http.client.OK)
