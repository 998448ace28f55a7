"""Whoever receives a proof verifies it by a library of its own, with the snippets of the documents."""

import base64
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from joserfc import jwt as joserfc_jwt
from joserfc.errors import JoseError, SecurityWarning, UnsupportedAlgorithmError
from joserfc.jwk import KeySet
from msgspec import json

from clearhold.store.keys import KeyPurpose
from tests.support.alerting import party
from tests.support.npm_packages import npm_installed
from tests.support.proof_tokens import parts_of
from tests.support.running_service import ADMIN_TOKEN, RunningService, post_until_taken
from tests.support.scored_actors import VERIFIED, payments
from tests.support.waiting import eventually

ROOT: Final = Path(__file__).parents[3]
DOCUMENT: Final = (ROOT / "docs" / "proofs.md").read_text("utf-8")
TOOLS: Final = ROOT / "build" / "verifiers" / "jose-6"
ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "test", "Content-Type": "application/json"}


def snippet(language: str) -> str:
    """The one block of the documents in that language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)
    return str(block)


class Issuer:
    """A running service, which proves one entity."""

    def __init__(self, service: RunningService) -> None:
        self.service, self.url = service, f"http://127.0.0.1:{service.port}"
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"})
        self._headers = {
            "Authorization": f"Bearer {tenant['operatorToken']}",
            "X-Operator": "ann",
            "Content-Type": "application/json",
        }
        first = datetime.now(UTC).date() - timedelta(days=20)  # a proof is of the 90 days before it
        at = f"{first}T12:00:00Z"
        events = [
            party("identity", "enti_1", at=at, **VERIFIED),
            party("account", "bacc_1", at=at, owners=["enti_1"], type="CHECKING", status="OPEN"),
            *payments("bacc_1", "cpty_1", "enti_1", 8, first=first),
        ]
        post_until_taken(service, program, events, within_s=60)
        eventually(self.scored)

    def scored(self) -> bool:
        with closing(self.service.connect()) as connection:
            connection.request("POST", "/api/proofs", json.encode({"type": "entity", "id": "enti_1"}), self._headers)
            return connection.getresponse().status == 201

    def token(self) -> str:
        body = json.encode({"type": "entity", "id": "enti_1"})
        proof = self.service.ask("POST", "/api/proofs", self._headers, body, expect=201)
        return str(proof["token"])

    def jwks(self) -> dict[str, Any]:
        return self.service.ask("GET", "/.well-known/jwks.json", {})

    def remove_proof_key(self) -> None:
        keys: Any = self.service.ask("GET", "/api/admin/signing-keys", ADMIN)
        (kid,) = [key["kid"] for key in keys if (key["purpose"], key["state"]) == (KeyPurpose.PROOF, "signing")]
        self.service.ask("DELETE", f"/api/admin/signing-keys/{kid}", ADMIN)


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    with RunningService(tmp_path_factory.mktemp("proofs") / "data") as service:
        yield Issuer(service)


def command_of(language: str, folder: Path) -> list[str]:
    """How the snippet of the documents is run; skips where its library cannot be had."""
    if language == "js":
        (npm_installed(TOOLS, "jose@6") / "verify.mjs").write_text(snippet(language), "utf-8")
        return ["node", str(TOOLS / "verify.mjs")]
    (folder / "snippet").write_text(snippet(language), "utf-8")
    return ["sh" if language == "sh" else sys.executable, str(folder / "snippet")]


def edited(token: str) -> str:
    header, _, signature = token.split(".")
    claims = parts_of(token)[1].replace(b'"n":', b'"n":1')
    return f"{header}.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.{signature}"


@pytest.mark.parametrize("language", ["python", "sh", "js"])
def test_given_the_snippets_of_the_documents_when_run_then_a_proof_is_accepted_and_a_changed_one_refused(
    issuer: Issuer, tmp_path: Path, language: str
) -> None:
    command = command_of(language, tmp_path)

    def run(token: str) -> subprocess.CompletedProcess[str]:
        called = [*command, issuer.url, token]
        return subprocess.run(called, capture_output=True, text=True, timeout=60, check=False)

    token = issuer.token()
    right, wrong, none = run(token), run(edited(token)), run("a.b.c")

    assert right.returncode == 0, right.stderr
    assert "entity:enti_1" in right.stdout
    for refused in (wrong, none):
        assert refused.returncode == 1, refused.stdout
        assert refused.stderr.startswith("refused: "), refused.stderr


def test_given_pyjwt_when_the_key_was_replaced_then_it_finds_the_new_one_by_its_kid(issuer: Issuer) -> None:
    client = jwt.PyJWKClient(f"{issuer.url}/.well-known/jwks.json", cooldown_duration=0)
    before = issuer.token()
    first = client.get_signing_key_from_jwt(before)
    issuer.remove_proof_key()

    after = issuer.token()
    second = client.get_signing_key_from_jwt(after)

    claims = jwt.decode(after, second, algorithms=["EdDSA"], issuer=issuer.url)
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("entity:enti_1", 86_400)
    assert first.key_id != second.key_id
    assert first.key_id not in {key["kid"] for key in issuer.jwks()["keys"]}
    with pytest.raises(jwt.InvalidAlgorithmError):
        jwt.decode(after, second, algorithms=["Ed25519"])
    with pytest.raises(jwt.InvalidIssuerError):
        jwt.decode(after, second, algorithms=["EdDSA"], issuer="https://another.example")


def test_given_joserfc_when_it_is_told_the_algorithm_then_it_verifies_and_by_itself_it_does_not(
    issuer: Issuer,
) -> None:
    keys = KeySet.import_key_set(issuer.jwks())  # type: ignore[arg-type]  # the same shape, spelled out by the library
    token = issuer.token()

    with pytest.warns(SecurityWarning):
        proof = joserfc_jwt.decode(token, keys, algorithms=["EdDSA"])

    registry = joserfc_jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": issuer.url}, exp={"essential": True}, now=int(time.time())
    )
    registry.validate(proof.claims)
    assert proof.header["typ"] == "score-proof+jwt"
    with pytest.raises(UnsupportedAlgorithmError):
        joserfc_jwt.decode(token, keys)
    with pytest.warns(SecurityWarning), pytest.raises(JoseError):
        joserfc_jwt.decode(edited(token), keys, algorithms=["EdDSA"])
