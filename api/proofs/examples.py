"""Examples of proofs for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID

NEW_PROOF: Final = {"type": "entity", "id": "enti_2zExample0001"}
CLAIMS: Final[dict[str, Any]] = {
    "iss": "https://risk.bank.example",
    "sub": "entity:enti_2zExample0001",
    "tenant": "first-bank",
    "program": PROGRAM_ID,
    "score": 12,
    "band": "clear",
    "version": "ers-v1",
    "n": 40,
    "confidence": 0.67,
    "reasons": ["ERS-VOL-01"],
    "iat": 1772463845,
    "exp": 1772550245,
    "jti": "5f0c2d1e-6c4e-5a7b-9a53-0d5f3a1f8a11",
}
TOKEN: Final = "eyJhbGciOiJFZERTQSIsImtpZCI6Ii4uLiIsInR5cCI6InNjb3JlLXByb29mK2p3dCJ9.e30.AA"  # noqa: S105 - an example
PROOF: Final = {"token": TOKEN, "claims": CLAIMS}
VERIFICATION: Final = {"valid": True, "claims": CLAIMS}
