"""Checks an export of a subject offline: with nothing but its lines, the published keys and stored checkpoints.

Whole     the last line counts the lines of each table and has the SHA-256 of all lines before it
Proved    each link has the hash of its body and lies in the tree of a signed checkpoint (RFC 6962); cited lines are
          there, unchanged; each decision, action, note and alert in the file has its links
Not shown that nothing about the subject was left out: that follows from a whole export of the record alone. Other
          rows, as transfers and scores, are bound by the hash of the file and by no signature

Errors  ``BrokenExportError``, whose sentence names the fault
"""

import base64
import binascii
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

import msgspec

from clearhold.features.core.canonical import ALERT_NOTE, canonical, digest_of, link_hash
from clearhold.store.record.export_check import BrokenExportError
from clearhold.store.record.signed_trees import Checkpoint, NoteError, opened_note, root_of_path

FORMAT: Final = "clearhold-subject-1"
MANIFEST: Final = "manifest"
END: Final = "end"
"""The table name of the first and of the last line."""

_SAME_IN_DISPOSITION: Final = {
    name: name
    for name in (
        *("id", "tenantId", "alertId", "decidedBy", "decision", "narrative", "narrativeModel", "recommendation"),
        *("policyVersion", "overturnsDraft", "createdAt", "alertSha256", "policySha256", "actionId"),
    )
}
_SAME_IN_ACTION: Final = {
    **{name: name for name in ("id", "tenantId", "alertId", "targetType", "targetId", "createdAt")},
    "type": "kind",
    "requestedBy": "actor",
}
_SAME_IN_NOTE: Final = {
    **{name: name for name in ("id", "tenantId", "programId", "alertId", "note", "identity", "createdAt")},
    "writtenBy": "actor",
}
_NOTES: Final = "alert_notes"
_SAME: Final = {"dispositions": _SAME_IN_DISPOSITION, "actions": _SAME_IN_ACTION, _NOTES: _SAME_IN_NOTE}
"""Equal fields of a row, and of the body of the link with its id."""

_CITED: Final = ("alertSha256", "policySha256", "bodySha256")
_BY_ONE: Final = ("requested", "approved")
"""Actions that need one person are approved by their request."""

LOG_LOSS: Final = "log_loss"
_BODIES: Final = ("alert_bodies", "policies")


class SubjectKind(StrEnum):
    ENTITY = "entity"  # an agent is one, in the program ``agents``
    COUNTERPARTY = "counterparty"


class SubjectResult(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a valid file, its number of rows and proved links, and their checkpoints."""

    subject: str
    tenant: str
    offset: str
    rows: int
    links: int
    checkpoints: tuple[str, ...]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    table: str
    row: dict[str, Any]


class _Subject(msgspec.Struct, frozen=True):
    type: str
    id: str


class _AsOf(msgspec.Struct, frozen=True):
    offset: str


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The checked and printed part of a manifest."""

    subject: _Subject
    tenant: str
    as_of: _AsOf
    tables: dict[str, str]


_NONE: Final = _Manifest(_Subject("", ""), "", _AsOf(""), {})
_LINE: Final = msgspec.json.Decoder(_Line)


def is_subject_export(first: bytes) -> bool:
    """Whether a first line is that of an export of a subject, of this format or another."""
    try:
        return _LINE.decode(first).table == MANIFEST
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


class SubjectCheck:
    """Give it the lines in order, then ``finish``. Memory stays at a digest a decision, action, alert and policy."""

    def __init__(self, keys: Sequence[bytes], kept: Sequence[Checkpoint] = ()) -> None:
        self._keys, self._kept = keys, kept
        self._lines, self._digest = 0, sha256()
        self._counts: Counter[str] = Counter()
        self._manifest = _NONE
        self._end: dict[str, Any] | None = None
        self._bodies: set[str] = set()
        self._cited: set[str] = set()
        self._expected: dict[tuple[str, str], str] = {}
        self._proved: set[tuple[str, str]] = set()
        self._statuses: dict[str, str] = {}
        self._transitions: dict[str, str] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    def take(self, raw: bytes) -> None:
        """One line, with its end."""
        if self._end is not None:
            raise self._broken("stands behind the end")
        self._lines += 1
        try:
            line = _LINE.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._broken("is no line of an export of a subject") from error
        if not raw.endswith(b"\n"):
            raise self._broken("is cut")
        try:
            self._read(line)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise self._broken(f"is no row of {line.table}") from error
        if self._end is None:
            self._digest.update(raw)

    def finish(self) -> SubjectResult:
        """The result, after the last line."""
        if self._end is None:
            raise BrokenExportError("The file is cut: it has no end.")
        counts = {table: count for table, count in self._end["counts"].items() if count}
        if self._end["sha256"] != self._digest.hexdigest() or counts != self._counts:
            raise BrokenExportError("The lines do not match the counts and the digest of the last line.")
        self._hold_together()
        for kept in self._kept:
            own = self._checkpoints.get(kept.chain)
            if own is not None and (own.origin, own.size) == (kept.origin, kept.size) and own.root != kept.root:
                raise BrokenExportError(f"{kept.origin} is not what the checkpoint that you kept says.")
        return SubjectResult(
            subject=f"{self._manifest.subject.type} {self._manifest.subject.id}",
            tenant=self._manifest.tenant,
            offset=self._manifest.as_of.offset,
            rows=sum(self._counts.values()),
            links=self._counts["record_chain"],
            checkpoints=tuple(f"{each.origin}: {each.size:,}" for each in self._checkpoints.values()),
        )

    def _hold_together(self) -> None:
        """Check that rows and links match, and that all citations of links and alerts are there."""
        if unproved := len(self._expected.keys() ^ self._proved):
            raise BrokenExportError(f"{unproved} decisions, actions or notes have no link, or no row.")
        if missing := len(self._cited - self._bodies):
            raise BrokenExportError(f"{missing} cited alert or policy bodies are missing.")
        for action_id, status in self._statuses.items():
            if (self._transitions[action_id], status) not in {(status, status), _BY_ONE}:
                raise BrokenExportError("An action stands otherwise than its last link says.")

    def _read(self, line: _Line) -> None:
        table, row = line.table, line.row
        if (table == MANIFEST) is not (self._lines == 1):
            raise self._broken("is no manifest" if self._lines == 1 else "is a second manifest")
        if table == MANIFEST:
            self._read_manifest(row)
            return
        if table == END:
            self._end = {"sha256": row["sha256"], "counts": dict(row["counts"])}
            return
        if table not in self._manifest.tables:
            raise self._broken("is of a table that the manifest does not name")
        self._counts[table] += 1
        if table in _BODIES:
            self._note_body(row)
        elif table == "alerts":
            self._cited.add(row["alertSha256"])
        elif table in _SAME:
            self._expect(table, row)
        elif table == "record_checkpoints":
            self._open_checkpoint(row)
        elif table == "record_chain":
            self._prove(row)

    def _read_manifest(self, row: dict[str, Any]) -> None:
        if row["format"] != FORMAT:
            raise self._broken(f"is of another format than {FORMAT}")
        self._manifest = msgspec.convert(row, _Manifest)

    def _note_body(self, row: Mapping[str, Any]) -> None:
        if digest_of(canonical(row["body"])) != row["sha256"]:
            raise self._broken("has another digest than it says")
        self._bodies.add(row["sha256"])

    def _expect(self, table: str, row: Mapping[str, Any]) -> None:
        """The row needs a link; versions of an action must agree in their fixed fields."""
        key, digest = (table, row["id"]), _digest_of_same(table, row, of_row=True)
        if self._expected.setdefault(key, digest) != digest:
            raise self._broken("contradicts an earlier version")
        if table == "actions":
            self._statuses[row["id"]] = row["status"]

    def _open_checkpoint(self, row: Mapping[str, Any]) -> None:
        try:
            checkpoint = opened_note(row["note"], self._keys)
        except NoteError as error:
            raise self._broken(f"proves nothing: {error}") from error
        if checkpoint.chain != row["chain"] or checkpoint.origin.split("/")[-2:-1] != [self._manifest.tenant]:
            raise self._broken("is a checkpoint of another chain")
        self._checkpoints[checkpoint.chain] = checkpoint

    def _prove(self, row: Mapping[str, Any]) -> None:
        chain, body, seq = row["chain"], row["body"], row["seq"]
        checkpoint = self._checkpoints.get(chain)
        if checkpoint is None:
            raise self._broken("is of a chain without a checkpoint")
        if row["hash"] != link_hash(row["prevHash"], canonical(body)) or row["id"] != body["id"]:
            raise self._broken(f"is not the link that its hash says: {chain}, seq {seq}")
        try:
            path = [base64.b64decode(each, validate=True) for each in row["proof"]]
        except binascii.Error as error:
            raise self._broken("has no proof in base64") from error
        if root_of_path(bytes.fromhex(row["hash"]), seq, checkpoint.size, path) != checkpoint.root:
            raise self._broken(f"is not in the tree of the checkpoint: {chain}, seq {seq}")
        self._cited.update(digest for digest in map(body.get, _CITED) if digest)
        if changed := (body.get("change") or {}).get("bodySha256"):
            self._cited.add(changed)
        if body.get("kind") != LOG_LOSS:
            self._hold_against_row(chain, body)

    def _hold_against_row(self, chain: str, body: Mapping[str, Any]) -> None:
        """The links of an action follow its request's, which alone has the action's id."""
        table = _NOTES if body.get("kind") == ALERT_NOTE else chain
        if table == "actions":
            self._transitions[body["actionId"]] = body["transition"]
            if body["id"] != body["actionId"]:
                return
        key = (table, body["id"])
        if self._expected.get(key) != _digest_of_same(table, body, of_row=False):
            raise self._broken("is not what the row of the same id says")
        self._proved.add(key)

    def _broken(self, what: str) -> BrokenExportError:
        return BrokenExportError(f"Line {self._lines} {what}.")


def _digest_of_same(table: str, fields: Mapping[str, Any], *, of_row: bool) -> str:
    same = _SAME[table]
    return digest_of(canonical({name: fields[name if of_row else of_body] for name, of_body in same.items()}))
