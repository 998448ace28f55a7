"""Notes on alerts as the interface shows them, the request of one, and examples."""

from typing import Annotated, Any, Final

import msgspec

from clearhold.api.dispositions.routes import ALERT_ID
from clearhold.api.http.fields import CursorText, PageLimit, Prose
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, to_answer
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.features.core.principal import OperatorIdentity, Simulated
from clearhold.features.core.vocabulary import about, minted
from clearhold.store.duck.alert_notes import StoredNote

NEWEST_NOTES: Final = 20
"""Notes, and assignments, beside an alert."""


class AlertNote(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A note on an alert, as a link of the tenant's chain of actions."""

    id: Annotated[str, minted("note")]
    tenant_id: str
    program_id: str
    alert_id: Annotated[str, about("The alert.")]
    note: Annotated[str, about("The text, unchanged.")]
    written_by: Annotated[str, about("Who wrote it: the person of X-Operator, or a key.")]
    identity: OperatorIdentity | None
    created_at: str
    seq: Annotated[int, about("Its place in the chain of actions, as GET /api/record/proof takes it.")]
    prev_hash: str | None
    hash: str
    simulated: Simulated = msgspec.UNSET


class AlertNotePage(ListPage[AlertNote], frozen=True, kw_only=True, rename="camel"):
    pass


class NoteRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    note: Annotated[Prose, about("The note: it goes on the record, and cannot be changed.")]


class NotesQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


def to_note(stored: StoredNote) -> AlertNote:
    return to_answer(stored.row, AlertNote, seq=stored.seq, prev_hash=stored.prev_hash, hash=stored.hash)


NOTE_REQUEST: Final = {"note": "Called the customer at 14:10. He says that the payments are one invoice."}
NOTE: Final[dict[str, Any]] = {
    "id": "c8a2f0de-8f0e-4b55-a0d3-0a6d2b9e7f31",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "alertId": ALERT_ID,
    "note": NOTE_REQUEST["note"],
    "writtenBy": "ann",
    "identity": "person",
    "createdAt": "2026-03-02T15:12:40.000Z",
    "seq": 7,
    "prevHash": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
    "hash": "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d",
}
