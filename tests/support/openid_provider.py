"""A small OpenID provider over HTTP on this machine, which can be told to answer wrongly.

Like a real one it takes a code once, checks PKCE and the client's secret, and gives a new refresh token each time.
"""

import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Callable
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT_ID, CLIENT_SECRET = "clearhold-console", "s3cret: of the client"
OPERATE, READ = "risk-operators", "examiners"
ANN: Final = {"sub": "u-ann", "email": "ann@bank.example", "email_verified": True, "groups": [OPERATE, "all"]}
RSA_KEY: Final = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC_KEY: Final = ec.generate_private_key(ec.SECP256R1())
Answer = tuple[int, bytes]
_LEADS_ON: Final = {"/sent": "to", "/logout": "post_logout_redirect_uri"}
"""The paths that send the browser back, each with the parameter that says to which address."""


class FakeOpenIdProvider:
    """``user`` is the person who signs in, None when the provider knows no one any more; ``claims`` replace those of
    its ID tokens (None removes one); ``faults`` replace the answer of a path; ``now_s`` is its clock.
    """

    def __init__(self, now_s: Callable[[], int], tls: ssl.SSLContext | None = None) -> None:
        self.now_s = now_s
        self.user: dict[str, Any] | None = dict(ANN)
        self.claims: dict[str, Any] = {}
        self.configuration: dict[str, Any] = {}
        self.faults: dict[str, Callable[[], Answer]] = {}
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.keys = [public_jwk(RSA_KEY, "rsa-1"), public_jwk(EC_KEY, "ec-1")]
        self.has_refresh = self.has_id_token_at_refresh = True
        self.requests: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self._count = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self.issuer = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No one answers any more at its address."""
        self._server.shutdown()
        self._server.server_close()

    def sign_in_at(self, url: str) -> str:
        """The person signs in at the provider's page: the address with which the browser is sent back."""
        asked = dict(parse_qsl(urlsplit(url).query))
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert asked["client_id"] == CLIENT_ID
        self._count += 1
        code = f"code-{self._count}"
        self.codes[code] = asked
        sent = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(sent)}"

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, RSA_KEY, "RS256", headers={"kid": "rsa-1"})

    def answer(self, method: str, path: str, body: str, authorization: str) -> Answer:
        self.requests.append(f"{method} {path}")
        if path in self.faults:
            return self.faults[path]()
        if path == "/.well-known/openid-configuration":
            return _json(self._configuration() | self.configuration)
        if path == "/keys":
            return _json({"keys": self.keys})
        if path == "/userinfo":
            return _json({}, 401) if self.user is None else _json(self.user)
        if (method, path) == ("POST", "/token"):
            return self._token(dict(parse_qsl(body)), authorization)
        return _json({}, 404)

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
        }

    def _token(self, form: dict[str, str], authorization: str) -> Answer:
        self.forms.append(form)
        if not self._is_client(form, authorization):
            return _json({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            known = form["refresh_token"] in self.refresh_tokens
            self.refresh_tokens.discard(form["refresh_token"])
            nonce = None
        else:
            asked = self.codes.pop(form["code"], None)
            known = asked is not None and _challenge(form["code_verifier"]) == asked["code_challenge"]
            nonce = None if asked is None else asked["nonce"]
        if self.user is None or not known:
            return _json({"error": "invalid_grant"}, 400)
        return _json(self._tokens(self.user, nonce))

    def _tokens(self, user: dict[str, Any], nonce: str | None) -> dict[str, Any]:
        self._count += 1
        tokens = {"access_token": f"access-{self._count}", "token_type": "Bearer"}
        if self.has_refresh:
            tokens["refresh_token"] = f"refresh-{self._count}"
            self.refresh_tokens.add(tokens["refresh_token"])
        if nonce is not None or self.has_id_token_at_refresh:
            own = {"iss": self.issuer, "aud": CLIENT_ID, "iat": self.now_s(), "exp": self.now_s() + 300}
            claims = own | ({} if nonce is None else {"nonce": nonce}) | user | self.claims
            tokens["id_token"] = self.sign({name: value for name, value in claims.items() if value is not None})
        return tokens

    def _is_client(self, form: dict[str, str], authorization: str) -> bool:
        sent = (form.get("client_id", ""), form.get("client_secret", ""))
        if authorization.startswith("Basic "):
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            sent = (unquote_plus(name), unquote_plus(secret))
        return sent == (CLIENT_ID, CLIENT_SECRET)


def public_jwk(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, key_id: str) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        jwk = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        jwk = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": key_id, "use": "sig"}


def public_pem(key: rsa.RSAPrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _json(content: object, status: int = 200) -> Answer:
    return status, json.dumps(content).encode()


def _handler_of(provider: FakeOpenIdProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith("/authorize"):
                self._page(provider.sign_in_at(self.path))
                return
            self._send()

        def do_POST(self) -> None:
            self._send()

        def log_message(self, *_: object) -> None:
            """Quiet."""

        def _page(self, back: str) -> None:
            """The page at which the person signs in by one click."""
            head = '<!doctype html><title>Bank</title><link rel="icon" href="data:,">'
            content = f'{head}<a id="go" href="/sent?{urlencode({"to": back})}">In</a>'
            self._write(200, content.encode(), {"Content-Type": "text/html"})

        def _send(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            url = urlsplit(self.path)
            if url.path in _LEADS_ON:
                self._write(303, b"", {"Location": parse_qs(url.query)[_LEADS_ON[url.path]][0]})
                return
            status, content = provider.answer(self.command, url.path, body, self.headers.get("Authorization", ""))
            self._write(status, content, {"Content-Type": "application/json"})

        def _write(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            with contextlib.suppress(ConnectionError):  # a client that has read enough
                self.end_headers()
                self.wfile.write(content)

    return Handler
