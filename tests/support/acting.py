"""Actions to test with: an application with a tenant and a program beside a simulated bank, and the calls on both."""

from typing import Any, Final

import httpx

from clearhold.demo.bank_api import TEST_KEY, BankApi, TakenAction
from tests.support.running_app import RunningApp, content_of_201

CANCEL: Final = {"type": "cancel_transfer", "targetType": "transfer", "targetId": "acht_1"}
FREEZE: Final = {"type": "freeze_account", "targetType": "account", "targetId": "bacc_1"}
ENDING: Final = {"note": "The payee confirmed the invoice by telephone."}
EXECUTED_AT_ONCE: Final = {
    "clear_hold": ("transfer", "acht_held", "/transfers/ach/acht_held/clear"),
    "cancel_transfer": ("transfer", "acht_1", "/transfers/ach/acht_1/cancel"),
    "pause_card": ("card", "card_1", "/cards/card_1/pause"),
}
OF_TWO: Final = {
    "suspend_card_account": ("card_account", "cacc_1", "/card-accounts/cacc_1/suspend"),
    "freeze_account": ("account", "bacc_1", "/bank-accounts/bacc_1/freeze"),
}
_LINKS: Final = "SELECT body FROM record_chain WHERE tenant_id = ? AND chain = 'actions' ORDER BY seq"


class Acting:
    """A tenant of its own. ``ann`` requests and ``bob`` approves, unless a test says otherwise."""

    def __init__(self, api: RunningApp, bank: BankApi) -> None:
        self.api, self.bank = api, bank
        self.tenant = api.create_tenant(f"bank-{api.new_id()[-8:]}")
        self.program = api.create_program(self.tenant)
        self.put_key(TEST_KEY)
        self._taken_before = len(bank.actions)

    @property
    def taken(self) -> tuple[TakenAction, ...]:
        """The actions that the bank took since this was created."""
        return self.bank.actions[self._taken_before :]

    def put_key(self, key: str) -> None:
        path = f"/api/admin/tenants/{self.tenant['id']}/bank-key"
        assert self.api.client.put(path, json={"key": key}, headers=self.api.admin).status_code == 204

    def remove_key(self) -> None:
        path = f"/api/admin/tenants/{self.tenant['id']}/bank-key"
        assert self.api.client.delete(path, headers=self.api.admin).status_code == 204

    def send(self, body: dict[str, Any], *, by: str = "ann", headers: dict[str, str] | None = None) -> httpx.Response:
        """Request an action on the program, unless the body names another."""
        return self.api.client.post(
            "/api/actions",
            json={"programId": self.program["id"]} | body,
            headers=self.api.operator(self.tenant, by) if headers is None else headers,
        )

    def request(self, body: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return content_of_201(self.send(CANCEL if body is None else body, **more))

    def approve(
        self, action_id: str, *, by: str = "bob", json: Any = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        headers = self.api.operator(self.tenant, by) if headers is None else headers
        return self.api.client.post(f"/api/actions/{action_id}/approve", json=json, headers=headers)

    def approved(self, action_id: str, **more: Any) -> dict[str, Any]:
        answer = self.approve(action_id, **more)
        assert answer.status_code == 200, answer.text
        action: dict[str, Any] = answer.json()
        return action

    def end(
        self,
        action_id: str,
        how: str,
        by: str = "bob",
        *,
        json: Any = ENDING,
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Decline or withdraw an action; ``key`` is an Idempotency-Key."""
        headers = self.api.operator(self.tenant, by) if headers is None else headers
        if key is not None:
            headers = headers | {"Idempotency-Key": key}
        return self.api.client.post(f"/api/actions/{action_id}/{how}", json=json, headers=headers)

    def read(self, action_id: str) -> dict[str, Any]:
        answer = self.api.client.get(f"/api/actions/{action_id}", headers=self.api.operator(self.tenant))
        assert answer.status_code == 200, answer.text
        action: dict[str, Any] = answer.json()
        return action

    def listed(self, **query: Any) -> list[dict[str, Any]]:
        answer = self.api.client.get("/api/actions", params=query, headers=self.api.operator(self.tenant))
        assert answer.status_code == 200, answer.text
        page: list[dict[str, Any]] = answer.json()["data"]
        return page

    def links(self) -> list[dict[str, Any]]:
        """The bodies of the chain of actions, from its first link on."""
        with self.api.database.cursor() as cursor:
            rows = cursor.execute(_LINKS, [self.tenant["id"]]).fetchall()
        return [httpx.Response(200, content=body).json() for (body,) in rows]

    def steps(self, action_id: str) -> list[tuple[str, str]]:
        """The transitions of an action on the record, with who took each."""
        return [(each["transition"], each["actor"]) for each in self.links() if each["actionId"] == action_id]

    def verified(self, **query: str) -> dict[str, Any]:
        answer = self.api.client.get("/api/record/verify", params=query, headers=self.api.operator(self.tenant))
        assert answer.status_code == 200, answer.text
        report: dict[str, Any] = answer.json()
        return report
