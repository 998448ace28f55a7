"""The words of proofs and of the keys that sign, a part of ``api/openapi/glossary.py``."""

from collections.abc import Mapping
from typing import Final

PROOF_PROPERTIES: Final[Mapping[str, str]] = {
    "NewProof.type": "What the actor is; on the program `agents` it is an agent.",
    "NewProof.id": "The bank's id of the actor.",
    "NewProof.programId": "The actor's program; required where several programs have an actor of this id.",
    "Proof.token": "The proof: a compact JWS, to be handed to whoever has to believe it.",
    "claims": "What the token says. Of a token that is verified it is there only when the signature holds.",
    "TokenToVerify.token": "The proof. Left out, null or empty: token required; what is no string is malformed.",
    "valid": "Whether the token is a proof of this service that still holds.",
    "ProofVerification.reason": "The first check that failed: token required, malformed, unsupported alg, unknown kid, "
    "bad signature, expired or no score in claims. Left out when valid.",
    "expired": "true when the signature holds and the 24 hours are over; left out otherwise.",
    "iss": "The platform's public address; its keys are at /.well-known/jwks.json.",
    "sub": "The actor: its type, a colon, and the bank's id of it.",
    "ProofClaims.tenant": "Slug of the bank.",
    "ProofClaims.program": "Id of the program on which the actor was observed.",
    "ProofClaims.score": "0 to 100, as it was when the token was made.",
    "ProofClaims.reasons": "Ids of the reasons, as in ERS-KYC-02; docs/reasons.md lists them all.",
    "iat": "When the token was made, in seconds since 1970.",
    "exp": "When it ends, in seconds since 1970: 24 hours after iat.",
    "NewSigningKey.purpose": "What the key is to sign.",
    "SigningKeyState.purpose": "What the key signs; never both.",
    "state": "announced: published, not used yet; signing; retired: published for what it signed; expired; removed.",
    "signsFrom": "From when on the key signs.",
    "jti": "Id of the score record. Proofs of the same record share it.",
}
