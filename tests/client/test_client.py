"""The client: signatures, answers, and retries only where a bank would."""

import json
import socket
from collections.abc import Callable
from functools import partial

import httpx
import pytest

from clearhold.api.rules.routes import NEW_RULE
from clearhold.client.answers import RefusedError, UnreachableError, is_http, sign
from clearhold.client.client import FIRST_PAUSE_S, MAX_PAUSE_S, ClearholdClient
from clearhold.features.core.instants import pause_after
from tests.support.fake_service import BUSY, PROGRAM, SECRET, TAKE_THEN_DROP, fake_service

TEST_VECTOR_BODY = (
    b'{"id":"evnt_2zTestVector0001","created_at":"2026-03-02T15:04:05Z","type":"ach.outgoing_transfer.returned",'
    b'"data":{"id":"acht_2zTestVector0001","status":"RETURNED"}}'
)
TEST_VECTOR_SIGNATURE = "332f1b2d6915f321d38f2ce117cab9a24c7899c780184c0a42de76bf6984e681"
PREFLIGHT = {"programId": PROGRAM, "transfer": {"rail": "wire", "direction": "outgoing", "amountCents": "5"}}


def test_given_the_published_test_vector_when_signed_then_the_signature_is_the_published_one() -> None:
    assert len(TEST_VECTOR_BODY) == 164
    assert sign("whsec_inbound_test", TEST_VECTOR_BODY) == TEST_VECTOR_SIGNATURE


def test_given_rules_in_parts_when_read_then_the_links_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (NEW_RULE | {"id": rule_id, "status": "draft"} for rule_id in ("first", "second"))

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.query:
            return httpx.Response(200, json=[second])
        return httpx.Response(200, json=[first], headers={"Link": '</api/rules?cursor=abc>; rel="next"'})

    transport = httpx.MockTransport(respond)
    monkeypatch.setattr("httpx.Client", partial(httpx.Client, transport=transport))

    with ClearholdClient("http://bank.example") as client:
        assert [rule.id for rule in client.rules()] == ["first", "second"]


def test_given_an_event_when_posted_twice_then_the_second_is_a_duplicate() -> None:
    with fake_service() as service, ClearholdClient(service.url) as client:
        first = client.post_event(PROGRAM, SECRET, TEST_VECTOR_BODY)
        second = client.post_event(PROGRAM, SECRET, TEST_VECTOR_BODY)

    assert (first.received, first.duplicate, second.duplicate) == (True, False, True)
    assert service.taken == [TEST_VECTOR_BODY]


def test_given_a_wrong_secret_when_posted_then_it_is_refused_at_once() -> None:
    with (
        fake_service() as service,
        ClearholdClient(service.url) as client,
        pytest.raises(RefusedError, match="signature") as refused,
    ):
        client.post_event(PROGRAM, "another", TEST_VECTOR_BODY)

    assert refused.value.status == 401
    assert service.requests == 1


def test_given_503_and_a_lost_answer_when_posted_then_it_is_tried_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    with (
        fake_service({1: BUSY, 2: BUSY, 3: TAKE_THEN_DROP}) as service,
        ClearholdClient(service.url, pause=pauses.append) as client,
    ):
        posted = client.post_event(PROGRAM, SECRET, TEST_VECTOR_BODY)

    assert posted.duplicate
    assert service.taken == [TEST_VECTOR_BODY]
    assert pauses == [0.1, 0.2, 0.4]


def test_given_nothing_but_503_when_posted_then_it_gives_up_after_the_last_try() -> None:
    with (
        fake_service(dict.fromkeys(range(1, 100), BUSY)) as service,
        ClearholdClient(service.url, max_tries=3, pause=lambda _seconds: None) as client,
        pytest.raises(RefusedError, match="cannot take entries"),
    ):
        client.post_event(PROGRAM, SECRET, TEST_VECTOR_BODY)

    assert service.requests == 3


def test_given_nobody_listening_when_asked_then_that_is_what_it_says() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

    with ClearholdClient(url, max_tries=2, pause=lambda _seconds: None) as client:
        assert not client.ready()
        with pytest.raises(UnreachableError, match="did not answer"):
            client.transfers()


@pytest.mark.parametrize(("key", "tries"), [(None, 1), ("k1", 3)])
def test_given_503_when_a_preflight_is_asked_then_only_one_with_a_key_is_asked_again(
    key: str | None, tries: int
) -> None:
    request = PREFLIGHT if key is None else {**PREFLIGHT, "idempotencyKey": key}
    with (
        fake_service(dict.fromkeys(range(1, 100), BUSY)) as service,
        ClearholdClient(service.url, max_tries=3, pause=lambda _seconds: None) as client,
        pytest.raises(RefusedError),
    ):
        client.preflight(request)

    assert service.requests == tries


def test_given_a_token_and_an_operator_when_asked_then_both_are_sent_and_the_answer_is_read() -> None:
    with fake_service() as service, ClearholdClient(service.url, token="op_1", operator="ada") as client:
        service.answers["/api/preflight"] = (201, {"decision": "hold"})
        service.answers["/api/transfers/acht_1?programId=p"] = (200, {"id": "acht_1"})
        service.answers["/api/transfers?programId=p&limit=100"] = (200, {"data": [], "hasMore": False})
        service.answers["/api/admin/tenants"] = (201, {"operatorToken": "op_2"})
        service.answers["/readyz"] = (200, {"status": "ready"})

        assert client.preflight(PREFLIGHT)["decision"] == "hold"
        assert client.transfer("acht_1", program_id="p") == {"id": "acht_1"}
        assert client.transfers(programId="p", limit="100")["data"] == []
        assert client.create_tenant(slug="b", name="B")["operatorToken"] == "op_2"
        assert client.ready()

    for _method, _path, headers, _body in service.asked:
        assert (headers["Authorization"], headers["X-Operator"]) == ("Bearer op_1", "ada")
    assert json.loads(service.asked[0][3]) == PREFLIGHT


def test_given_any_number_of_failures_when_pausing_then_the_pause_grows_to_its_limit_and_no_further() -> None:
    pauses = [pause_after(failures, FIRST_PAUSE_S, MAX_PAUSE_S) for failures in range(1, 200)]

    assert pauses == sorted(pauses)
    assert pauses[0] == 0.1
    assert pauses[-1] == 5.0


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/api/webhooks", lambda client: client.webhooks()),
        ("/api/webhooks", lambda client: client.create_webhook({})),
        ("/api/webhooks/w/deliveries?limit=1", lambda client: client.deliveries("w", limit=1)),
        ("/api/rules", lambda client: client.rules()),
        ("/api/rules/r", lambda client: client.rule("r")),
        ("/api/rules/r/backtest", lambda client: client.backtest_rule("r", days=1, full=False)),
        ("/api/transfers/t", lambda client: client.transfer("t")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_given_an_answer_that_is_not_of_the_service_when_read_then_one_sentence_says_so(
    path: str, call: Callable[[ClearholdClient], object]
) -> None:
    with fake_service() as service, ClearholdClient(service.url) as client:
        service.answers[path] = (200, "<html>Be right back</html>")
        with pytest.raises(UnreachableError, match="gave an answer that is not of this service"):
            call(client)


ADDRESSES = ("http://a", "HTTPS://a.example:443/b", "http://[::1]:8080", "http://u:p@a")
NO_ADDRESSES = (
    *("", "a", "a:80", "ftp://a", "http://", "http:a", "http://:80", "http://[::1"),
    *("http://a:b", "http://a:65536", "http://a:-1", "http://a\n"),
)


def test_given_an_address_then_it_is_one_when_requests_can_be_sent_there() -> None:
    assert [address for address in (*ADDRESSES, *NO_ADDRESSES) if is_http(address)] == [*ADDRESSES]


@pytest.mark.parametrize(
    ("odd", "sent"),
    [("inv/7", b"inv%2F7"), ("..", b"%2E%2E"), ("50%25", b"50%2525"), ("a b?c#d\n", b"a%20b%3Fc%23d%0A")],
)
def test_given_an_id_that_is_no_plain_word_when_read_then_it_is_one_segment_of_the_path(
    monkeypatch: pytest.MonkeyPatch, odd: str, sent: bytes
) -> None:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"id": odd})

    transport = httpx.MockTransport(respond)
    monkeypatch.setattr("httpx.Client", partial(httpx.Client, transport=transport))

    with ClearholdClient("http://bank.example") as client:
        client.transfer(odd)
        with pytest.raises(ValueError, match="must not be empty"):
            client.transfer("")

    assert [request.url.raw_path for request in requests] == [b"/api/transfers/" + sent]
