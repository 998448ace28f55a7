"""A small synchronous client: a bank's system, the demo and the tests call the service with it.

Errors  ``RefusedError`` is an answer outside 2xx, ``UnreachableError`` is no answer; both say so in one sentence
Retries events, reads and pre-flights with an ``idempotencyKey``, on 503 and lost connections; no other request,
        because its repeat could act twice
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx
import msgspec

from clearhold.client.answers import (
    SIGNATURE_HEADER,
    Delivery,
    Posted,
    RegisteredEndpoint,
    UnreachableError,
    ingest_path,
    refusal_of,
    signed_headers,
)
from clearhold.features.core.canonical import path_segment
from clearhold.features.core.instants import pause_after
from clearhold.features.core.rules import Backtest, Rule

ANSWER_TIMEOUT_S: Final = 10.0
EXPORT_TIMEOUT_S: Final = 120.0
"""Until the first line, and between two lines: the service searches all tables for one subject first."""

MAX_TRIES: Final = 6
FIRST_PAUSE_S: Final = 0.1
MAX_PAUSE_S: Final = 5.0

_SERVICE_UNAVAILABLE: Final = 503
_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


_LINES: Final = msgspec.json.Decoder(Posted)


def _lines_in(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines with their ends; the last line may lack one."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def _written(rule: Rule) -> dict[str, Any]:
    """A rule as a request: without a status."""
    body: dict[str, Any] = msgspec.to_builtins(rule)
    del body["status"]
    return body


def _rule_path(rule_id: str) -> str:
    return f"/api/rules/{path_segment(rule_id)}"


class ClearholdClient:
    """One service, one bearer token, one operator. Close it, or use it in a ``with``."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        operator: str | None = None,
        max_tries: int = MAX_TRIES,
        timeout_s: float = ANSWER_TIMEOUT_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        if operator is not None:
            headers["X-Operator"] = operator
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)
        self._url = url
        self._max_tries = max_tries
        self._pause = pause

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def post_event(
        self,
        program_id: str,
        secret: str,
        body: bytes,
        *,
        endpoint_id: str | None = None,
        signature_header: str = SIGNATURE_HEADER,
    ) -> Posted:
        """Deliver one bank event as signed bytes; a redelivery is harmless."""
        headers = signed_headers(secret, body, endpoint_id, signature_header) | {"Content-Type": "application/json"}
        answer = self._send("POST", ingest_path(program_id), content=body, headers=headers, safe=True)
        return self._decoded(answer, Posted)

    def post_events(
        self,
        program_id: str,
        secret: str,
        bodies: Sequence[bytes],
        *,
        endpoint_id: str | None = None,
        signature_header: str = SIGNATURE_HEADER,
    ) -> list[Posted]:
        """Deliver events, each without a newline, as one batch in order; a redelivery is harmless."""
        body = b"\n".join(bodies)
        headers = signed_headers(secret, body, endpoint_id, signature_header) | {"Content-Type": "application/x-ndjson"}
        answer = self._send("POST", f"{ingest_path(program_id)}/batch", content=body, headers=headers, safe=True)
        try:
            posted = _LINES.decode_lines(answer.content)
        except msgspec.DecodeError as error:
            raise self._of_another() from error
        if len(posted) != len(bodies):
            raise UnreachableError(f"{self._url} answered {len(posted)} of {len(bodies)} events.")
        return posted

    def preflight(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Score a transfer before it moves."""
        return self._object("POST", "/api/preflight", body=request, safe="idempotencyKey" in request)

    def transfer(self, transfer_id: str, *, program_id: str | None = None) -> dict[str, Any]:
        """A transfer with its newest score; name the program where several have this id."""
        query = {"programId": program_id} if program_id is not None else {}
        return self._object("GET", f"/api/transfers/{path_segment(transfer_id)}", query=query)

    def scorecard(self, version: str) -> dict[str, Any]:
        """A version of the scorecard, with its points and its status."""
        return self._object("GET", f"/api/scorecards/{path_segment(version)}")

    def transfers(self, **query: str) -> dict[str, Any]:
        """One page ``{data, hasMore, nextCursor}``; the query's names are the interface's own."""
        return self._object("GET", "/api/transfers", query=query)

    def alerts(self, **query: str) -> dict[str, Any]:
        """One page ``{data, hasMore, nextCursor}``; the query's names are the interface's own."""
        return self._object("GET", "/api/alerts", query=query)

    def waiting(self, kind: str, **query: str) -> dict[str, Any]:
        """One page of ``stacks``, or of ``alerts``, as the interface lists them: the worst first."""
        return self._object("GET", f"/api/{kind}", query=query)

    def one_waiting(self, kind: str, id_: str) -> dict[str, Any]:
        """One of the ``stacks`` with its alerts, or one of the ``alerts`` with all that a decision needs."""
        return self._object("GET", f"/api/{kind}/{path_segment(id_)}")

    def explain(self, transfer_id: str, *, program_id: str) -> dict[str, Any]:
        """The score of a transfer, recomputed and explained."""
        return self._object(
            "GET", f"/api/transfers/{path_segment(transfer_id)}/explain", query={"programId": program_id}
        )

    def decide(self, kind: str, id_: str, decision: Mapping[str, Any], *, key: str) -> dict[str, Any]:
        """Sign a decision on one of the ``stacks`` or ``alerts``; a repeat under its ``key`` signs nothing more."""
        path = f"/api/{kind}/{path_segment(id_)}/decide"
        return self._object("POST", path, body=decision, key=key)

    def published_keys(self) -> bytes:
        """The JWKS of the keys that sign checkpoints and proofs."""
        return self._get("/.well-known/jwks.json").content

    def subject_export(self, resource: str, subject_id: str, *, program_id: str | None = None) -> Iterator[bytes]:
        """Everything about one of the entities or counterparties: lines with their ends, streamed."""
        path = f"/api/{resource}/{path_segment(subject_id)}/export"
        query = {"programId": program_id} if program_id is not None else {}
        try:
            with self._http.stream("GET", path, params=query, timeout=EXPORT_TIMEOUT_S) as answer:
                if not answer.is_success:
                    raise refusal_of(answer.status_code, answer.read())
                yield from _lines_in(answer.iter_bytes())
        except httpx.TransportError as error:
            raise UnreachableError(f"{self._url} did not answer, or broke off: {error}.") from error

    def import_agents(self, *, full: bool = False) -> dict[str, Any]:
        """Import agents from the scan index, from the beginning if ``full``; answers when all is recorded."""
        return self._object("POST", "/api/agents/import", body={"full": full})

    def agents(self, *, band: Sequence[str] = ()) -> list[dict[str, Any]]:
        """All agents, or those of the bands, from every page of the list."""
        return self._whole_list("/api/agents", {"band": ",".join(band)} if band else {}, list[dict[str, Any]])

    def create_tenant(self, *, slug: str, name: str) -> dict[str, Any]:
        """The tenant with its ``operatorToken``, shown this once. Needs the platform admin's token."""
        return self._object("POST", "/api/admin/tenants", body={"slug": slug, "name": name}, safe=False)

    def create_program(self, program: Mapping[str, Any]) -> dict[str, Any]:
        """The program with its ``ingestSecret``, shown this once. Needs the platform admin's token."""
        return self._object("POST", "/api/admin/programs", body=program, safe=False)

    def set_bank_key(self, tenant_id: str, key: str) -> None:
        """Set the tenant's test key to the bank's API. Needs the platform admin's token."""
        path = f"/api/admin/tenants/{path_segment(tenant_id)}/bank-key"
        headers = {"Content-Type": "application/json"}
        self._send("PUT", path, content=msgspec.json.encode({"key": key}), headers=headers, safe=True)

    def webhooks(self) -> list[RegisteredEndpoint]:
        """All endpoints that the caller reaches, newest first."""
        return self._decoded(self._get("/api/webhooks"), list[RegisteredEndpoint])

    def create_webhook(self, webhook: Mapping[str, Any]) -> RegisteredEndpoint:
        """Register an endpoint; only this answer has its secret."""
        return self._decoded(self._call("POST", "/api/webhooks", body=webhook, safe=False), RegisteredEndpoint)

    def change_webhook(self, endpoint_id: str, change: Mapping[str, Any]) -> RegisteredEndpoint:
        """Change an endpoint's URL, events or state."""
        path = f"/api/webhooks/{path_segment(endpoint_id)}"
        return self._decoded(self._call("PATCH", path, body=change), RegisteredEndpoint)

    def delete_webhook(self, endpoint_id: str) -> None:
        """Disable an endpoint; a repeat changes nothing."""
        self._send("DELETE", f"/api/webhooks/{path_segment(endpoint_id)}", content=b"", headers={}, safe=True)

    def deliveries(self, endpoint_id: str, *, limit: int, before: str | None = None) -> list[Delivery]:
        """The deliveries to an endpoint, newest first; only those older than ``before``, if given."""
        query = {"limit": str(limit)} | ({} if before is None else {"before": before})
        answer = self._get(f"/api/webhooks/{path_segment(endpoint_id)}/deliveries", query)
        return self._decoded(answer, list[Delivery])

    def rules(self) -> list[Rule]:
        """All rules that the caller reaches, from every page of the list."""
        return self._whole_list("/api/rules", {}, list[Rule])

    def rule(self, rule_id: str) -> tuple[Rule, str]:
        """A rule's newest text, and the ETag by which it is replaced."""
        answer = self._get(_rule_path(rule_id))
        return self._decoded(answer, Rule), answer.headers["ETag"]

    def create_rule(self, rule: Rule) -> None:
        """Write a new rule, a draft."""
        self._call("POST", "/api/rules", body=_written(rule), safe=False)

    def replace_rule(self, rule: Rule, *, etag: str) -> None:
        """Replace the rule of this ETag by a new draft. RefusedError when it was changed since."""
        headers = {"Content-Type": "application/json", "If-Match": etag}
        content = msgspec.json.encode(_written(rule))
        self._send("PUT", _rule_path(rule.id), content=content, headers=headers, safe=False)

    def backtest_rule(self, rule_id: str, *, days: int, full: bool) -> Backtest:
        """Run a rule over the transfers of the last days: all of them if ``full``, else the newest."""
        body = {"days": days, "full": full}
        return self._decoded(self._call("POST", f"{_rule_path(rule_id)}/backtest", body=body, safe=False), Backtest)

    def config(self) -> dict[str, Any]:
        """The configuration in force: ``schema``, ``tenant``, ``sha256`` and ``files``."""
        return self._object("GET", "/api/config")

    def send_config(self, step: str, config: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """``plan`` or ``apply`` a configuration; a repeat under its ``key`` requests nothing more."""
        return self._object("POST", f"/api/config/{step}", body=config, key=key)

    def ready(self) -> bool:
        """Whether the service takes work now; False also without an answer. Never retried."""
        try:
            return self._http.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> httpx.Response:
        return self._send("GET", path, content=b"", headers={}, query=query, safe=True)

    def _whole_list(self, path: str, query: Mapping[str, str], items_type: type[list[_Item]]) -> list[_Item]:
        """The items of a list, from its first page along the links to the next ones."""
        items: list[_Item] = []
        answer = self._get(path, query)
        items += self._decoded(answer, items_type)
        while (path_of_next := answer.links.get("next", {}).get("url")) is not None:
            answer = self._get(path_of_next)
            items += self._decoded(answer, items_type)
        return items

    def _object(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        safe: bool = True,
        key: str | None = None,
    ) -> dict[str, Any]:
        """``key`` is an Idempotency-Key."""
        return self._decoded(self._call(method, path, body=body, query=query, safe=safe, key=key), dict[str, Any])

    def _decoded(self, answer: httpx.Response, type_: type[_Answer]) -> _Answer:
        try:
            return msgspec.json.decode(answer.content, type=type_)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._of_another() from error

    def _of_another(self) -> UnreachableError:
        """The error for a proxy's page and the like."""
        return UnreachableError(f"{self._url} gave an answer that is not of this service.")

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        safe: bool = True,
        key: str | None = None,
    ) -> httpx.Response:
        content = msgspec.json.encode(body) if body is not None else b""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        return self._send(method, path, content=content, headers=headers, query=query, safe=safe)

    def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes,
        headers: Mapping[str, str],
        query: Mapping[str, str] | None = None,
        safe: bool,
    ) -> httpx.Response:
        tries = self._max_tries if safe else 1
        for failures in range(1, tries + 1):
            try:
                answer = self._http.request(method, path, content=content, headers=headers, params=query)
            except httpx.TransportError as error:
                if failures == tries:
                    raise UnreachableError(f"{self._url} did not answer: {error}.") from error
            else:
                if answer.is_success:
                    return answer
                if answer.status_code != _SERVICE_UNAVAILABLE or failures == tries:
                    raise refusal_of(answer.status_code, answer.content)
            self._pause(pause_after(failures, FIRST_PAUSE_S, MAX_PAUSE_S))
        raise AssertionError("the last try returns or raises")
