"""The record: verified, its checkpoints, the proof of a decision, and downloads for an examiner."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components import record as parts
from clearhold.api.console.components.days import day_bounds
from clearhold.api.console.components.record import CHAIN_NAMES, RECORD
from clearhold.api.console.components.settings import refusal
from clearhold.api.console.components.words import marked, moment, outsider
from clearhold.api.console.visit import (
    Answer,
    ExportAnswer,
    FileAnswer,
    HtmlAnswer,
    RedirectAnswer,
    Visit,
)
from clearhold.api.dispositions.routes import Disposition
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.lists import moments_exist
from clearhold.api.parties.routes import PartyQuery
from clearhold.api.record.service import (
    CheckpointQuery,
    CheckpointsQuery,
    ProofQuery,
    RecordExportQuery,
    RecordLine,
    VerifyQuery,
)
from clearhold.api.subjects.routes import SubjectLine
from clearhold.features.core.canonical import Chain
from clearhold.features.core.errors import ErrorCode, NotFoundError, RiskError
from clearhold.store.subjects.check import SubjectKind

PATH: Final = RECORD
CHECKPOINT: Final = parts.CHECKPOINT
PROOF_FILE: Final = parts.PROOF_FILE
SCRIPT: Final = parts.SCRIPT
VERIFYING: Final = f"{RECORD}/verifying"
VERIFIED: Final = f"{RECORD}/verified"
PROGRESS: Final = f"{RECORD}/progress"
PROOF: Final = f"{RECORD}/proof"
EXPORT: Final = f"{RECORD}/export"
SUBJECT: Final = f"{RECORD}/subject"
_RESULT: Final = "verified"
_SCRIPT: Final = Path(__file__).parent.parent / "static" / "verify.py.txt"
_CHECKPOINT: Final = RequestSchema(CheckpointQuery)
_PROOF: Final = RequestSchema(ProofQuery)
_EXPORT: Final = RequestSchema(RecordExportQuery, rules=moments_exist)
_PARTY: Final = RequestSchema(PartyQuery)
_NEWEST: Final = CheckpointsQuery(limit=12)
_NOT_THERE: Final = "No decision, action or alert of this bank has that id. Copy it from its page, or name a link."


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def verifying(visit: Visit) -> Answer:
    """The part that starts a verification, and follows it; without scripts the form leads to its result at once.

    Its begin and its end are read aloud, and not each figure of the progress.
    """
    content = h.div[
        h.div(visit.hx(get=VERIFIED, trigger="load", target=f"#{_RESULT}", swap="innerHTML")),
        h.p["The record is being verified."],
        h.p(visit.hx(get=PROGRESS, trigger="every 500ms", swap="innerHTML"), class_="working", aria_live="off")[
            parts.progress_words(None)
        ],
    ]
    return HtmlAnswer("Record", content)


async def progress(visit: Visit) -> Answer:
    return HtmlAnswer("Record", h.fragment[parts.progress_words(visit.services.record.progress(visit.principal))])


async def verified(visit: Visit) -> Answer:
    """The result of a new verification, as a part or as the page."""
    try:
        report = await visit.services.record.verify(visit.principal, VerifyQuery())
    except RiskError as error:
        return await _refused(visit, error, "verify")
    if visit.target is not None:
        return HtmlAnswer("Record", parts.result(report))
    return await _page(visit, verified_as=parts.result(report))


async def sign(visit: Visit) -> Answer:
    """Sign a checkpoint over the present chain."""
    chain = visit.form.get("chain", "")
    try:
        await visit.services.record.checkpoint(visit.principal, _CHECKPOINT.read_query([("chain", chain)]))
    except RiskError as error:
        return await _refused(visit, error, "sign")
    return RedirectAnswer(f"{RECORD}#checkpoints")


async def checkpoint(visit: Visit) -> Answer:
    """The note of a checkpoint as a file."""
    query = _CHECKPOINT.read_query([*visit.query.items()])
    note = await visit.services.record.checkpoint(visit.principal, query)
    size = note.split("\n", 2)[1]
    return FileAnswer(f"checkpoint-{query.chain.value}-{size}.txt", note.encode(), "text/plain")


async def proof(visit: Visit) -> Answer:
    """The proof of the link that the query names: by the id of its object, or by chain and number."""
    try:
        query, about = await _named_link(visit)
        answer = await visit.services.record.proof(visit.principal, query)
    except RiskError as error:
        return await _refused(visit, error, "proof")
    return await _page(visit, proved=parts.proof_of(visit, query.chain, answer, about))


async def proof_file(visit: Visit) -> Answer:
    query = _PROOF.read_query([*visit.query.items()])
    answer = await visit.services.record.proof(visit.principal, query)
    body = msgspec.json.format(msgspec.json.encode(answer), indent=2)
    return FileAnswer(f"proof-{query.chain.value}-{query.seq}.json", body, "application/json")


async def export(visit: Visit) -> Answer:
    """The links of the days that the query names, both inclusive; of all days without them."""
    try:
        bounds = day_bounds(visit.query)
        batches = await visit.services.record.export(visit.principal, _EXPORT.read_query(bounds))
    except RiskError as error:
        return await _refused(visit, error, "export")
    return ExportAnswer("record", batches, RecordLine)


async def subject(visit: Visit) -> Answer:
    """All data about one party, for a subject's request or a court."""
    query = visit.query
    try:
        party = _PARTY.read_query([("programId", query["program"])] if query.get("program") else [])
        kind = SubjectKind.COUNTERPARTY if query.get("kind") == SubjectKind.COUNTERPARTY else SubjectKind.ENTITY
        batches = await visit.services.subjects.export(visit.principal, query.get("id", "").strip(), party, kind=kind)
    except RiskError as error:
        return await _refused(visit, error, "subject")
    return ExportAnswer("subject", batches, SubjectLine)


async def script(visit: Visit) -> Answer:
    """The script that verifies an export elsewhere."""
    visit.principal.require_tenant_wide()
    return FileAnswer("verify.py", _SCRIPT.read_bytes(), "text/x-python")


async def _named_link(visit: Visit) -> tuple[ProofQuery, h.Node]:
    """The link, and words about its object where it was named."""
    wanted = visit.query.get("id", "").strip().lower()
    if not wanted:
        query = [(name, visit.query.get(name, "")) for name in ("chain", "seq")]
        return _PROOF.read_query(query), None
    services, principal = visit.services, visit.principal
    try:
        decision = await services.dispositions.read(principal, wanted)
    except NotFoundError:
        try:
            action = await services.actions.read(principal, wanted)
        except NotFoundError:
            decided = await _decisions_of(visit, wanted)
            if not decided:
                raise NotFoundError(_NOT_THERE, ErrorCode.DISPOSITION_NOT_FOUND) from None
            decision = decided[-1]
        else:
            words = f"The request of {action.type.value.replace('_', ' ')} by {action.requested_by}, "
            about = h.p[outsider(words), moment(action.created_at), ", hash ", h.code[action.hash[:16]], "…"]
            return ProofQuery(chain=Chain.ACTIONS, seq=action.seq), about
    about = h.p[
        f"The decision {decision.decision.value.replace('_', ' ')} by ",
        outsider(decision.decided_by.partition(":")[2] or decision.decided_by),
        ", ",
        moment(decision.created_at),
        ", on ",
        h.a(href=f"/console/alerts/{decision.alert_id}")["its alert"],
        ", hash ",
        h.code[decision.hash[:16]],
        "…",
    ]
    return ProofQuery(chain=Chain.DISPOSITIONS, seq=decision.seq), about


async def _decisions_of(visit: Visit, alert_id: str) -> tuple[Disposition, ...]:
    try:
        return await visit.services.alerts.dispositions(visit.principal, alert_id)
    except NotFoundError:
        return ()


async def _refused(visit: Visit, error: RiskError, place: str) -> HtmlAnswer:
    sentence = str(error)
    if visit.target is not None:
        answer = HtmlAnswer("Record", refusal(sentence))
    else:
        answer = await _page(visit, refused={place: sentence})
    return answer._replace(status=ERRORS[error.code].status, headers=retry_headers(error))


async def _page(
    visit: Visit, *, verified_as: h.Node = None, proved: h.Node = None, refused: Mapping[str, str] | None = None
) -> HtmlAnswer:
    refusals = refused or {}
    visit.principal.require_tenant_wide()
    checkpoints = (await visit.services.record.checkpoints(visit.principal, _NEWEST)).data
    content = h.div(".settings.record")[
        h.div(".section")[
            h.h1["Record"],
            h.p[
                "Every decision and every action is a link of a chain: it has the hash of the link before it, so none "
                "can be changed or taken out unnoticed. Checkpoints are signed over both chains."
            ],
            h.section("#verify")[
                h.h2["Verify"],
                h.p["Every hash is computed again, and the rows that screens and reports show are compared with it."],
                refusal(refusals.get("verify")),
                h.form(visit.hx(get=VERIFYING, target=f"#{_RESULT}", swap="innerHTML"), action=VERIFIED, method="get")[
                    h.button(".main.large", type="submit")["Verify the record"]
                ],
                h.div(f"#{_RESULT}", aria_live="polite")[verified_as],
            ],
            h.section("#prove")[
                h.h2["Prove a decision"],
                refusal(refusals.get("proof")),
                _proof_form(visit),
                proved,
            ],
            h.section("#checkpoints")[
                h.h2["Checkpoints"],
                h.p["Keep some of them outside of this service: a record that was rewritten contradicts them."],
                refusal(refusals.get("sign")),
                parts.checkpoint_table(checkpoints),
                None if visit.signed_in.is_read_only else _sign_forms(visit),
            ],
            _downloads(visit, refusals),
        ]
    ]
    return HtmlAnswer("Record", content)


def _proof_form(visit: Visit) -> h.Element:
    query = visit.query
    return h.div(".event-filters")[
        h.form(action=PROOF, method="get")[
            h.label[
                "Id of a decision, an action or an alert",
                h.input(name="id", value=_typed_id(visit, PROOF), required=True, size="36", spellcheck="false"),
            ],
            h.button(type="submit")["Prove"],
        ],
        h.form(action=PROOF, method="get")[
            h.label[
                "Chain",
                h.select(name="chain")[
                    (
                        h.option(value=chain.value, selected=query.get("chain") == chain.value)[name]
                        for chain, name in CHAIN_NAMES.items()
                    )
                ],
            ],
            h.label["Link", h.input(type="number", name="seq", min="0", value=query.get("seq", ""), required=True)],
            h.button(type="submit")["Prove"],
        ],
    ]


def _typed_id(visit: Visit, path: str) -> str:
    """The id that the form of this path sent."""
    return visit.query.get("id", "") if visit.path == path else ""


def _sign_forms(visit: Visit) -> h.Element:
    return h.div(".event-filters")[
        (
            visit.form_of(
                CHECKPOINT,
                h.input(type="hidden", name="chain", value=chain.value),
                h.button(type="submit")[f"Sign the chain of {name} now"],
            )
            for chain, name in CHAIN_NAMES.items()
        )
    ]


def _downloads(visit: Visit, refusals: Mapping[str, str]) -> h.Element:
    query = visit.query
    return h.section("#downloads")[
        h.h2["Downloads"],
        h.p[
            "A file of some days has all their links. Only the whole record, without days, can be proved complete by ",
            h.a(href=SCRIPT, download="verify.py")["verify.py"],
            " or ",
            h.code["clearhold verify"],
            ".",
        ],
        refusal(refusals.get("export")),
        h.form(class_="event-filters", action=EXPORT, method="get")[
            h.label["From day", h.input(type="date", name="from", value=query.get("from", ""))],
            h.label["To day", h.input(type="date", name="to", value=query.get("to", ""))],
            h.button(type="submit")["Download the record"],
        ],
        h.h3["All data about one party"],
        h.p["For a subject's request or a court: stored rows, links of the record with their proofs, and an end."],
        refusal(refusals.get("subject")),
        h.form(class_="event-filters", action=SUBJECT, method="get")[
            h.label[
                "Kind",
                h.select(name="kind")[
                    h.option(value=SubjectKind.ENTITY.value)["entity or agent"],
                    h.option(value=SubjectKind.COUNTERPARTY.value)["counterparty"],
                ],
            ],
            h.label["Id", h.input(name="id", value=_typed_id(visit, SUBJECT), required=True, spellcheck="false")],
            h.label[
                "Program",
                h.select(name="program")[
                    h.option(value="")["the only one that has it"],
                    (
                        h.option(value=each.id)[marked(each.name)]
                        for each in visit.services.programs.list(visit.principal, source=None)
                    ),
                ],
            ],
            h.button(type="submit")["Download the subject"],
        ],
    ]
