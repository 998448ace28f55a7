"""A signed proof of an actor's score: a token that a third party can verify without this service."""

from typing import Final
from urllib.parse import quote, urlencode

import htpy as h
import msgspec

from clearhold.api.console.components.settings import refusal, secret_once
from clearhold.api.console.components.words import NO_VALUE, band_mark, moment
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.proofs.token import NewProof, Proof
from clearhold.features.core.errors import ConflictError
from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.party_timeline import TimelineSubject

PATH: Final = "/console/things/{kind:str}/{id:str}/proof"
PROVED: Final = (TimelineSubject.ENTITY, TimelineSubject.COUNTERPARTY, TimelineSubject.AGENT)
_NEW: Final = RequestSchema(NewProof)
_LOST: Final = "The token is not stored. Sign another proof if it is lost."


def proof_form(visit: Visit, kind: str, id_: str) -> h.Node:
    """The button on the page of an actor; None for a session that may not sign one."""
    if kind not in PROVED or visit.signed_in.is_read_only or not visit.principal.has_scope(KeyScope.PROOFS):
        return None
    program = visit.query.get("programId")
    return visit.form_of(
        f"/console/things/{kind}/{quote(id_, safe='')}/proof",
        h.input(type="hidden", name="programId", value=program) if program else None,
        h.button(type="submit")["Sign a proof of its score"],
    )


async def issue(visit: Visit) -> Answer:
    kind, id_ = visit.params["kind"], visit.params["id"]
    program = visit.form.get("programId") or None
    sent = {"type": kind, "id": id_, "programId": program}
    thing = f"/console/things/{kind}/{quote(id_, safe='')}" + (
        f"?{urlencode({'programId': program})}" if program else ""
    )
    request, _ = _NEW.decode(msgspec.json.encode(sent))
    try:
        proof = await visit.services.proofs.issue(visit.principal, request)
    except ConflictError as error:
        answer = HtmlAnswer("Proof", _page(kind, id_, thing, refusal(str(error))))
        return answer._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return HtmlAnswer("Proof", _page(kind, id_, thing, _signed(proof)))


def _page(kind: str, id_: str, thing: str, content: h.Node) -> h.Element:
    return h.div(".thing")[
        h.header[h.p(".small")[h.a(href=thing)[kind]], h.h1["Proof of the score of ", h.code[id_]]],
        content,
    ]


def _signed(proof: Proof) -> h.Node:
    claims = proof.claims
    confidence = NO_VALUE if claims.confidence is None else f"{claims.confidence:.2f}"
    facts: tuple[tuple[str, h.Node], ...] = (
        ("Score", band_mark(claims.band, claims.score)),
        ("Scorer", f"{claims.version}, n = {claims.n:,}, confidence {confidence}"),
        ("Reasons", ", ".join(claims.reasons) or "none"),
        ("Keys for its check", h.code[f"{claims.iss}/.well-known/jwks.json"]),
        ("Signed", moment(format_instant(claims.iat * SECOND_US))),
        ("Valid until", moment(format_instant(claims.exp * SECOND_US))),
        ("Simulated", "yes: refuse it where real money moves" if claims.simulated is True else "no"),
    )
    return [
        secret_once(["The proof, for the person who asked"], proof.token, lost=_LOST),
        h.p["It states the score at this moment, names no person, account or amount, and is good for 24 hours."],
        h.dl(".particulars")[((h.dt[name], h.dd[value]) for name, value in facts)],
    ]
