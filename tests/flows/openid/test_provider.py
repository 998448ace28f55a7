"""The OpenID provider over HTTP: its configuration, keys and tokens; and answers that are none."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import jwt
import pytest

from clearhold.api.http.openid import OpenIdConfig
from clearhold.features.core.instants import SECOND_US
from clearhold.features.openid.answers import OpenIdGrant, OpenIdRefusedError, OpenIdUnreachableError
from clearhold.flows.openid.provider import OpenIdClient, OpenIdProvider
from clearhold.flows.running.bank_http import http_client
from clearhold.store.errors import StartupError
from tests.support.authority import OwnAuthority
from tests.support.clock import FrozenClock
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, RSA_KEY, FakeOpenIdProvider, public_jwk

T = TypeVar("T")
BACK = "https://risk.example.test/console/openid/callback"
Work = Callable[[OpenIdProvider], Awaitable[T]]


class Bench:
    """A provider, and one client of it."""

    def __init__(self, fake: FakeOpenIdProvider, clock: FrozenClock) -> None:
        self.fake, self.clock = fake, clock

    def run(self, work: Work[T], *, authorities: ssl.SSLContext | None = None, **over: Any) -> T:
        options: dict[str, Any] = {
            "issuer": self.fake.issuer,
            "client_secret": CLIENT_SECRET,
            "allow_local": True,
        } | over
        client = OpenIdClient(
            client_id=CLIENT_ID, scopes="openid email", redirect_uri=BACK, signed_out_uri=BACK, **options
        )

        async def on_loop() -> T:
            async with http_client(connections=4, authorities=authorities) as http:
                return await work(OpenIdProvider(client, http, self.clock))

        return asyncio.run(on_loop())


async def signed_in(provider: OpenIdProvider, fake: FakeOpenIdProvider) -> tuple[OpenIdGrant, Any]:
    url = await provider.authorization_url(state="s", nonce="n", verifier="v" * 43)
    fake.sign_in_at(url)
    return await provider.redeem(next(reversed(fake.codes)), nonce="n", verifier="v" * 43)


@pytest.fixture
def bench() -> Iterator[Bench]:
    clock = FrozenClock()
    with FakeOpenIdProvider(lambda: clock.now() // SECOND_US) as fake:
        yield Bench(fake, clock)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_given_a_code_then_its_person_is_proven_and_a_second_use_is_refused(bench: Bench, method: str) -> None:
    bench.fake.configuration = {"token_endpoint_auth_methods_supported": [method]}

    async def work(provider: OpenIdProvider) -> str:
        grant, stated = await signed_in(provider, bench.fake)
        assert stated.claims["email"] == "ann@bank.example"
        with pytest.raises(OpenIdRefusedError, match="invalid_grant"):
            await provider.redeem("code-1", nonce="n", verifier="v" * 43)
        return grant.subject

    assert bench.run(work) == "u-ann"
    assert ("client_secret" in bench.fake.forms[0]) is (method == "client_secret_post")


def test_given_another_verifier_then_the_provider_refuses_the_code(bench: Bench) -> None:
    async def work(provider: OpenIdProvider) -> None:
        bench.fake.sign_in_at(await provider.authorization_url(state="s", nonce="n", verifier="v" * 43))
        await provider.redeem("code-1", nonce="n", verifier="w" * 43)

    with pytest.raises(OpenIdRefusedError, match="invalid_grant"):
        bench.run(work)


def test_given_a_new_key_then_the_keys_are_read_again_at_most_once_a_minute(bench: Bench) -> None:
    async def work(provider: OpenIdProvider) -> None:
        await signed_in(provider, bench.fake)
        bench.fake.sign = lambda claims: of_key(claims, "rsa-2")
        with pytest.raises(OpenIdRefusedError, match="not among"):
            await signed_in(provider, bench.fake)
        bench.clock.advance(61 * SECOND_US)
        with pytest.raises(OpenIdRefusedError, match="not among"):
            await signed_in(provider, bench.fake)
        bench.fake.keys = [public_jwk(RSA_KEY, "rsa-2")]
        bench.clock.advance(61 * SECOND_US)
        await signed_in(provider, bench.fake)
        await signed_in(provider, bench.fake)

    bench.run(work)
    assert bench.fake.requests.count("GET /keys") == 3
    assert bench.fake.requests.count("GET /.well-known/openid-configuration") == 1


def of_key(claims: dict[str, Any], key_id: str) -> str:
    return jwt.encode(claims, RSA_KEY, "RS256", headers={"kid": key_id})


@pytest.mark.parametrize("has_id_token", [True, False])
def test_given_a_grant_then_it_is_renewed_and_the_person_is_confirmed(bench: Bench, *, has_id_token: bool) -> None:
    bench.fake.has_id_token_at_refresh = has_id_token

    async def work(provider: OpenIdProvider) -> None:
        first, _ = await signed_in(provider, bench.fake)
        second, id_token = await provider.renew(first)
        assert second.refresh_token != first.refresh_token
        assert (id_token is not None) is has_id_token
        stated = await provider.claims_of(second, id_token)
        assert stated is not None
        assert stated.whole is has_id_token
        with pytest.raises(OpenIdRefusedError):
            await provider.renew(first)

    bench.run(work)
    assert ("GET /userinfo" in bench.fake.requests) is not has_id_token


def test_given_no_refresh_tokens_then_userinfo_confirms_the_person_until_it_refuses(bench: Bench) -> None:
    bench.fake.has_refresh = False

    async def work(provider: OpenIdProvider) -> None:
        grant, _ = await signed_in(provider, bench.fake)
        grant, id_token = await provider.renew(grant)
        assert await provider.claims_of(grant, id_token) is not None
        bench.fake.user = {"sub": "u-bob"}
        with pytest.raises(OpenIdRefusedError, match="another person"):
            await provider.claims_of(grant, id_token)
        bench.fake.user = None
        with pytest.raises(OpenIdRefusedError, match="401"):
            await provider.claims_of(grant, id_token)

    bench.run(work)


def test_given_no_way_to_ask_about_a_person_again_then_the_person_is_refused(bench: Bench) -> None:
    bench.fake.has_refresh, bench.fake.configuration = False, {"userinfo_endpoint": None}

    async def work(provider: OpenIdProvider) -> None:
        await signed_in(provider, bench.fake)

    with pytest.raises(OpenIdRefusedError, match="neither refresh tokens nor userinfo"):
        bench.run(work)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
@pytest.mark.parametrize(
    "answer",
    [
        (200, b"x" * 10_000_000),
        (200, b"[" * 200_000),
        (200, b"\xff\xfe{}"),
        (200, b"<html>"),
        (200, b"{}"),
        (200, b'{"keys": 5, "access_token": 5}'),
        (302, b"{}"),
        (400, b"no"),
        (401, b'{"error": "invalid_client"}'),
        (429, b"{}"),
        (500, b'{"error": "invalid_grant"}'),
    ],
    ids=lambda each: f"{each[0]}-{each[1][:12]!r}",
)
def test_given_an_answer_that_is_none_then_the_provider_counts_as_unreachable(
    bench: Bench, path: str, answer: tuple[int, bytes]
) -> None:
    bench.fake.faults[path] = lambda: answer

    async def work(provider: OpenIdProvider) -> None:
        await signed_in(provider, bench.fake)

    with pytest.raises(OpenIdUnreachableError):
        bench.run(work)


@pytest.mark.parametrize(
    "over",
    [
        {"issuer": "https://sso.bank.example"},
        {"token_endpoint": "http://sso.bank.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"userinfo_endpoint": "https://user@sso.bank.example/"},
        {"authorization_endpoint": "https://sso.bank.example/\r\nX: y"},
        {"authorization_endpoint": "https://[::1"},
    ],
)
def test_given_a_configuration_of_another_issuer_or_without_tls_then_it_is_refused(
    bench: Bench, over: dict[str, Any]
) -> None:
    bench.fake.configuration = over

    async def work(provider: OpenIdProvider) -> str:
        return await provider.authorization_url(state="s", nonce="n", verifier="v")

    with pytest.raises(OpenIdUnreachableError):
        bench.run(work)


def test_given_this_machine_without_leave_then_its_addresses_are_refused(bench: Bench) -> None:
    async def work(provider: OpenIdProvider) -> str:
        return await provider.authorization_url(state="s", nonce="n", verifier="v")

    with pytest.raises(OpenIdUnreachableError, match="https"):
        bench.run(work, allow_local=False)


def test_given_a_provider_that_is_down_then_it_is_unreachable(bench: Bench) -> None:
    bench.fake.stop()

    async def work(provider: OpenIdProvider) -> str:
        return await provider.authorization_url(state="s", nonce="n", verifier="v")

    with pytest.raises(OpenIdUnreachableError):
        bench.run(work)


def test_given_a_provider_whose_certificate_the_banks_own_authority_signed_then_that_authority_alone_counts(
    tmp_path: Path,
) -> None:
    bank, other = OwnAuthority(tmp_path), OwnAuthority(tmp_path, "Another Root")
    clock = FrozenClock()
    with FakeOpenIdProvider(lambda: clock.now() // SECOND_US, bank.server) as fake:
        bench = Bench(fake, clock)

        def by(ca_file: Path | None) -> Any:
            config = OpenIdConfig(
                issuer=fake.issuer, client_id=CLIENT_ID, secret_file=tmp_path, tenant="first-bank", ca_file=ca_file
            )
            return bench.run(lambda each: signed_in(each, fake), authorities=config.authorities(), allow_local=False)

        assert by(bank.ca_file)[0].subject == "u-ann"
        for ca_file in (other.ca_file, None):
            with pytest.raises(OpenIdUnreachableError, match="ConnectError"):
                by(ca_file)
    with pytest.raises(StartupError, match="CLEARHOLD_CONSOLE_OIDC_CA_FILE has no readable certificate"):
        by(tmp_path / "none.pem")
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(StartupError, match="has no readable certificate"):
        by(tmp_path / "empty.pem")
