"""Every token has a verdict: a proof of this service is valid, and whatever else was sent fails by its first fault."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.api.proofs.token import MOST_CHARACTERS, Checked, Fault, ProofClaims, checked_token, signed_token
from clearhold.features.core.vocabulary import Band
from clearhold.store.keys import KeyPurpose, SigningKey
from tests.support.proof_tokens import (
    TYPE,
    base64url,
    parts_of,
    signed,
    signed_with_a_secret,
    with_trailing_bit,
)

KEY: Final = SigningKey(
    kid="the-kid",
    purpose=KeyPurpose.PROOF,
    x="",
    private=Ed25519PrivateKey.from_private_bytes(bytes(32)),
    created_at=0,
    signs_from=0,
)
NOW_S: Final = 1_772_463_600
CLAIMS: Final = ProofClaims(
    iss="https://risk.example.test",
    sub="entity:enti_ünï",
    tenant="first-bank",
    program="prg_1",
    score=12,
    band=Band.CLEAR,
    version="ers-v1",
    n=40,
    confidence=0.67,
    reasons=("ERS-KYC-02",),
    iat=NOW_S,
    exp=NOW_S + 86_400,
    jti="scr_1",
)
PLAIN: Final[dict[str, Any]] = msgspec.to_builtins(CLAIMS)
HEADER: Final = {"alg": "EdDSA", "kid": "the-kid", "typ": TYPE}
NO_ALGORITHM: Final = b'{"alg":"none","kid":"the-kid"}'
DEEP: Final = b"[" * 2_900 + b"]" * 2_900
TOKEN: Final = signed_token(CLAIMS, KEY)
TEXT_HEADER, TEXT_CLAIMS, TEXT_SIGNATURE = TOKEN.split(".")
EXPIRED: Final = {"iat": NOW_S - 86_400, "exp": NOW_S}


def check(token: object, *, now_s: int = NOW_S) -> Checked:
    return checked_token(token, public_key_of=lambda kid: KEY.public if kid == KEY.kid else None, now_s=now_s)


def with_header(**over: Any) -> str:
    """Of our own key: what nobody else can make."""
    return signed(HEADER | over, PLAIN, KEY.private)


def with_claims(**over: Any) -> str:
    return signed(HEADER, PLAIN | over, KEY.private)


def without(claim: str) -> str:
    return signed(HEADER, {name: value for name, value in PLAIN.items() if name != claim}, KEY.private)


def edited(part: int, change: Callable[[bytes], bytes]) -> str:
    """One part changed under the old signature."""
    parts = parts_of(TOKEN)
    parts[part] = change(parts[part])
    return ".".join(map(base64url, parts))


BAD: Final[dict[str, tuple[object, str]]] = {
    "nothing": (None, "token required"),
    "empty": ("", "token required"),
    "a blank": (" ", "malformed"),
    "a number": (5, "malformed"),
    "false": (False, "malformed"),
    "a list": ([TOKEN], "malformed"),
    "an object": ({"token": TOKEN}, "malformed"),
    "no JWS": ("token", "malformed"),
    "two parts": (f"{TEXT_HEADER}.{TEXT_CLAIMS}", "malformed"),
    "four parts": (f"{TOKEN}.", "malformed"),
    "an empty header": (f".{TEXT_CLAIMS}.{TEXT_SIGNATURE}", "malformed"),
    "empty claims": (f"{TEXT_HEADER}..{TEXT_SIGNATURE}", "malformed"),
    "spaces around": (f" {TOKEN}\n", "malformed"),
    "padding": (f"{TEXT_HEADER}.{TEXT_CLAIMS}.{TEXT_SIGNATURE}==", "malformed"),
    "trailing bits": (f"{TEXT_HEADER}.{TEXT_CLAIMS}.{with_trailing_bit(TEXT_SIGNATURE)}", "malformed"),
    "one sign too many": (f"{TEXT_HEADER}.{TEXT_CLAIMS}.AAAAA", "malformed"),
    "plain base64": (f"{TEXT_HEADER}.{TEXT_CLAIMS}.+/+/", "malformed"),
    "wide digits": (TOKEN.replace("1", "\uff11"), "malformed"),
    "a header that is no JSON": (signed(b"{", PLAIN, KEY.private), "malformed"),
    "a header that is a list": (signed(b"[]", PLAIN, KEY.private), "malformed"),
    "claims that are text": (signed(HEADER, b'"x"', KEY.private), "malformed"),
    "claims not in UTF-8": (signed(HEADER, b'{"iss":"\xff"}', KEY.private), "malformed"),
    "claims with NaN": (signed(HEADER, b'{"score":NaN}', KEY.private), "malformed"),
    "a huge number": (signed(HEADER, b'{"score":%s}' % (b"9" * 5_000), KEY.private), "malformed"),
    "deep claims": (signed(HEADER, b'{"iss":%s' % (b"[" * 5_900), KEY.private), "malformed"),
    "deep claims that close": (
        signed(HEADER, b'{"iss":%s}' % DEEP, KEY.private),
        "malformed",
    ),
    "a name twice in the header": (
        signed(b'{"alg":"none","alg":"EdDSA","kid":"the-kid"}', PLAIN, KEY.private),
        "malformed",
    ),
    "a claim twice": (signed(HEADER, b'{"score":1,"score":99}', KEY.private), "malformed"),
    "a nested name twice": (signed(HEADER, b'{"iss":{"a":1,"a":2}}', KEY.private), "malformed"),
    "crit": (with_header(crit=["b64"], b64=False), "malformed"),
    "oversized": (with_claims(iss="x" * MOST_CHARACTERS), "malformed"),
    "none": (f"{base64url(NO_ALGORITHM)}.{TEXT_CLAIMS}.", "unsupported alg"),
    "None": (with_header(alg="None"), "unsupported alg"),
    "no alg": (signed({"kid": "the-kid"}, PLAIN, KEY.private), "unsupported alg"),
    "Ed25519": (with_header(alg="Ed25519"), "unsupported alg"),
    "alg of another case": (with_header(alg="eddsa"), "unsupported alg"),
    "alg that is a list": (with_header(alg=["EdDSA"]), "unsupported alg"),
    "the public key as a secret": (
        signed_with_a_secret(HEADER | {"alg": "HS256"}, PLAIN, KEY.public),
        "unsupported alg",
    ),
    "no kid": (signed({"alg": "EdDSA"}, PLAIN, KEY.private), "unknown kid"),
    "an unknown kid": (with_header(kid="another"), "unknown kid"),
    "a kid that is a number": (with_header(kid=5), "unknown kid"),
    "a kid that is a list": (with_header(kid=["the-kid"]), "unknown kid"),
    "another's key": (signed(HEADER, PLAIN, Ed25519PrivateKey.generate()), "bad signature"),
    "another's key, brought along": (
        signed(HEADER | {"jwk": {"kty": "OKP"}, "jku": "https://x.test"}, PLAIN, Ed25519PrivateKey.generate()),
        "bad signature",
    ),
    "no signature": (f"{TEXT_HEADER}.{TEXT_CLAIMS}.", "bad signature"),
    "a short signature": (edited(2, lambda raw: raw[:-1]), "bad signature"),
    "a long signature": (edited(2, lambda raw: raw + b"\0"), "bad signature"),
    "a signature above the group order": (
        edited(
            2,
            lambda raw: (
                raw[:32]
                + (int.from_bytes(raw[32:], "little") + 2**252 + 27742317777372353535851937790883648493).to_bytes(
                    32, "little"
                )
            ),
        ),
        "bad signature",
    ),
    "an edited score": (edited(1, lambda raw: raw.replace(b'"score":12', b'"score":10')), "bad signature"),
    "an edited header": (edited(0, lambda raw: raw.replace(TYPE.encode(), b"JWT")), "bad signature"),
    "expired and edited": (edited(1, lambda raw: raw.replace(b"17725", b"17715")), "bad signature"),
    "another type of ours": (with_header(typ="JWT"), "malformed"),
    "expired": (with_claims(**EXPIRED), "expired"),
    "expired, without a score": (with_claims(**EXPIRED, score=None), "expired"),
    "no score": (without("score"), "no score in claims"),
    "a null score": (with_claims(score=None), "no score in claims"),
    "a score that is true": (with_claims(score=True), "no score in claims"),
    "a score in words": (with_claims(score="12"), "no score in claims"),
    "no end": (without("exp"), "no score in claims"),
}


def test_given_a_token_of_ours_when_checked_then_it_holds_until_its_end() -> None:
    assert check(TOKEN) == Checked(None, CLAIMS)
    assert check(TOKEN, now_s=CLAIMS.exp - 1) == Checked(None, CLAIMS)
    assert check(TOKEN, now_s=CLAIMS.exp) == Checked(Fault.EXPIRED, CLAIMS)


def test_given_claims_when_signed_then_the_bytes_are_those_of_the_form() -> None:
    assert signed_token(CLAIMS, KEY) == TOKEN == signed(HEADER, msgspec.json.encode(CLAIMS), KEY.private)
    assert parts_of(TOKEN)[0] == b'{"alg":"EdDSA","kid":"the-kid","typ":"score-proof+jwt"}'


@pytest.mark.parametrize("bad", BAD)
def test_given_a_bad_token_when_checked_then_it_fails_by_its_first_fault_and_shows_claims_only_when_signed(
    bad: str,
) -> None:
    token, reason = BAD[bad]

    fault, claims = check(token)

    assert fault == reason
    assert (claims is not None) == (bad == "expired")


@settings(max_examples=300)
@given(at=st.integers(0, len(TOKEN) - 1), char=st.characters(codec="utf-8"))
def test_given_one_character_changed_when_checked_then_the_token_is_valid_only_if_nothing_changed(
    at: int, char: str
) -> None:
    changed = TOKEN[:at] + char + TOKEN[at + 1 :]

    fault, claims = check(changed)

    assert (fault is None) == (changed == TOKEN)
    assert claims is None or changed == TOKEN


@given(token=st.one_of(st.text(), st.lists(st.text("AZaz09-_.=", max_size=9), max_size=4).map(".".join), st.integers()))
def test_given_any_input_when_checked_then_there_is_a_verdict_and_no_claims(token: object) -> None:
    fault, claims = check(token)

    assert fault is not None
    assert claims is None


@given(
    header=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "x"]), st.sampled_from([*HEADER.values(), 1])),
    claims=st.dictionaries(st.sampled_from([*PLAIN]), st.one_of(st.none(), st.integers(), st.text(max_size=5))),
)
def test_given_any_header_and_claims_under_another_key_when_checked_then_no_claims_come_out(
    header: dict[str, Any], claims: dict[str, Any]
) -> None:
    forged = signed(header, PLAIN | claims, Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)))

    assert check(forged).fault is not None
    assert check(forged).claims is None


@given(claims=st.dictionaries(st.sampled_from([*PLAIN]), st.one_of(st.none(), st.integers(), st.text(max_size=5))))
def test_given_any_claims_under_our_own_key_when_checked_then_what_is_valid_has_every_claim(
    claims: dict[str, Any],
) -> None:
    fault, shown = check(with_claims(**claims))

    assert (fault is None) == (shown is not None and shown.exp > NOW_S)
    if shown is not None:
        assert msgspec.to_builtins(shown) == PLAIN | claims
