"""The canonical form is RFC 8785's, and what anybody's JSON library writes when it sorts."""

import json
from hashlib import sha256
from typing import Any, Final

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.canonical import MAX_INTEGER, LineKind, canonical, digest_of, link_hash, record_line

TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KEYS: Final = st.text(st.characters(max_codepoint=127), max_size=12)
NUMBERS: Final = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(
    -MAX_INTEGER, MAX_INTEGER, allow_nan=False, allow_subnormal=True
)
SCALARS: Final = st.none() | st.booleans() | NUMBERS | TEXT
VALUES: Final = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
BODIES: Final = st.dictionaries(KEYS, VALUES, max_size=6)


def rounded(value: Any) -> Any:
    """What the domain makes of numbers that are no integers."""
    if isinstance(value, float):
        near = round(value, 4)
        return int(near) if near.is_integer() else near
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


@given(BODIES)
def test_given_any_body_of_the_domain_when_encoded_then_the_bytes_are_those_of_rfc_8785(body: dict[str, Any]) -> None:
    assert canonical(body) == rfc8785.dumps(rounded(body))


@given(BODIES)
def test_given_canonical_bytes_when_any_json_library_writes_them_sorted_then_they_are_the_same(
    body: dict[str, Any],
) -> None:
    encoded = canonical(body)

    again = json.dumps(json.loads(encoded), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert again.encode() == encoded
    assert canonical(json.loads(encoded)) == encoded


def test_given_a_struct_when_encoded_then_its_fields_are_sorted_by_their_wire_names_and_nulls_are_there() -> None:
    class SignedDecision(msgspec.Struct, rename="camel"):
        policy_version: str
        alert_id: str | None = None
        confidence: float = 0.12345
        share: float = 1.0

    assert canonical(SignedDecision("policy-v1")) == (
        b'{"alertId":null,"confidence":0.1235,"policyVersion":"policy-v1","share":1}'
    )


@pytest.mark.parametrize(
    "body",
    [
        {"é": 1},
        {"n": MAX_INTEGER + 1},
        {"n": -MAX_INTEGER - 1},
        {"n": float("nan")},
        {"n": float("inf")},
        {"n": 1e300},
        {"deep": [{"n": 2**60}]},
        {"text": "\ud800"},
    ],
)
def test_given_what_lies_outside_of_the_domain_when_encoded_then_it_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"body|surrogates"):
        canonical(body)


def test_given_links_when_hashed_then_a_hash_covers_the_one_before() -> None:
    first = link_hash(None, b'{"a":1}')

    assert first == sha256(b'{"a":1}').hexdigest() == digest_of(b'{"a":1}')
    assert link_hash(first, b'{"a":1}') == sha256(first.encode() + b'{"a":1}').hexdigest()


@given(BODIES, st.integers(0, MAX_INTEGER), st.none() | st.just("a" * 64))
def test_given_a_line_when_composed_then_it_is_canonical_itself(
    body: dict[str, Any], seq: int, prev_hash: str | None
) -> None:
    text = canonical(body)

    link = record_line(LineKind.ACTION, text, ("actions", seq, prev_hash, "b" * 64))
    cited = record_line(LineKind.POLICY, text)

    record = {"kind": "action", "chain": "actions", "seq": seq, "body": body, "prevHash": prev_hash, "hash": "b" * 64}
    assert link == rfc8785.dumps(rounded(record))
    nothing = dict.fromkeys(("chain", "seq", "prevHash", "hash"))
    assert cited == rfc8785.dumps(rounded({"kind": "policy", "body": body} | nothing))
