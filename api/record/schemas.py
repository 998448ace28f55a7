"""The record as the interface shows it: the result of a verification, lines of an export, checkpoints and proofs."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.http.fields import CursorText, Moment, PageLimit
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, instant_text
from clearhold.features.core.canonical import Chain, LineKind
from clearhold.features.core.instants import format_instant
from clearhold.store.duck.shown_rows import RowsCheck
from clearhold.store.record.checkpoints import InclusionProof
from clearhold.store.record.rows import RecordCheckpointRow
from clearhold.store.record.verification import Break, ChainCheck

_ACTIONS: Final = "actions"
Seq = Annotated[int, msgspec.Meta(ge=0, le=999_999_999)]


class VerifyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``chain`` restricts ok, checked and firstBreakAt to one chain; without it they cover both."""

    chain: Chain | None = None


class RecordExportQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    kinds: Annotated[tuple[LineKind, ...], msgspec.Meta(min_length=1, max_length=4)] | None = None


class CheckpointQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``size`` is how many links, from the first; left out: all that there are."""

    chain: Chain
    size: Seq | None = None


class CheckpointsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    chain: Annotated[tuple[Chain, ...], msgspec.Meta(min_length=1, max_length=len(Chain))] | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class ProofQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    chain: Chain
    seq: Seq


class ChainBreak(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a chain first is not what it should be: ``expected`` is the hash that should be there, or the root that a
    checkpoint names in base64, ``found`` what is; null where nothing is.
    """

    chain: Chain
    seq: int
    id: str | None
    expected: str | None
    found: str | None
    created_at: str | None


class ChainState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``checked`` links hold, from the first."""

    ok: bool
    checked: int


class ChainStates(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Both chains, whichever was requested."""

    dispositions: ChainState
    actions: ChainState


class RowDifference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row that is not what the record says. ``columns`` are those that differ; ``missing`` for a row that the record
    has and the table has not, ``unrecorded`` for the opposite.
    """

    table: str
    id: str
    columns: tuple[str, ...]


class RowStates(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether dispositions, alerts, actions and transfers as the interface shows them are what the record says, and
    the first rows that are not.
    """

    ok: bool
    checked: int
    differences: tuple[RowDifference, ...]


class ChainReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``ok``, ``checked`` and ``firstBreakAt`` cover the requested chain, or both; ``ok`` covers the rows that quote
    it, too.
    """

    ok: bool
    checked: int
    first_break_at: ChainBreak | None
    chains: ChainStates
    rows: RowStates


class RecordLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of an export. Cited policies and alerts have no chain, seq and hashes."""

    kind: LineKind
    chain: Chain | None
    seq: int | None
    body: dict[str, Any]
    prev_hash: str | None
    hash: str | None


class RecordCheckpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``root`` in base64, ``note`` as it was signed."""

    chain: Chain
    size: int
    root: str
    note: str
    created_at: str


class CheckpointPage(ListPage[RecordCheckpoint], frozen=True, kw_only=True, rename="camel"):
    pass


class RecordProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """RFC 6962: with the link's hash as leaf, ``hashes``, in base64, lead to the root in the note ``checkpoint``."""

    leaf_index: int
    tree_size: int
    hashes: tuple[str, ...]
    checkpoint: str


def report_of(checks: Sequence[ChainCheck], rows: RowsCheck, chain: Chain | None) -> ChainReport:
    """The report of one chain or of both, with the state of each; the first break in the order of the chains."""
    reported = [check for check in checks if chain in {None, check.chain}]
    breaks = [check.broken_at for check in reported if check.broken_at is not None]
    differences = [each for each in rows.differences if chain in {None, _quoted_by(each.table)}]
    states = {check.chain: ChainState(ok=check.broken_at is None, checked=check.checked) for check in checks}
    return ChainReport(
        ok=not breaks and not differences,
        checked=sum(check.checked for check in reported),
        first_break_at=_to_break(breaks[0]) if breaks else None,
        chains=ChainStates(dispositions=states[Chain.DISPOSITIONS], actions=states[Chain.ACTIONS]),
        rows=RowStates(
            ok=not rows.differences,
            checked=rows.checked,
            differences=tuple(
                RowDifference(table=each.table, id=each.id, columns=each.columns) for each in rows.differences
            ),
        ),
    )


def _quoted_by(table: str) -> Chain:
    """The chain that the rows of a table quote."""
    return Chain.ACTIONS if table == _ACTIONS else Chain.DISPOSITIONS


def to_checkpoint(row: RecordCheckpointRow) -> RecordCheckpoint:
    return RecordCheckpoint(
        chain=Chain(row.chain),
        size=row.size,
        root=row.root,
        note=row.note,
        created_at=format_instant(row.created_at),
    )


def to_proof(proof: InclusionProof) -> RecordProof:
    return RecordProof(
        leaf_index=proof.leaf_index,
        tree_size=proof.checkpoint.size,
        hashes=tuple(base64.b64encode(each).decode() for each in proof.hashes),
        checkpoint=proof.checkpoint.note,
    )


def _to_break(found: Break) -> ChainBreak:
    return ChainBreak(
        chain=Chain(found.chain),
        seq=found.seq,
        id=found.id,
        expected=found.expected,
        found=found.found,
        created_at=instant_text(found.created_at),
    )
