"""The record: verified, exported, signed. It belongs to the whole tenant.

Errors  ForbiddenError for a key of one program or of simulated ones; NotFoundError for future links;
        ConflictError when a chain contradicts an earlier checkpoint; RateLimitedError for too many at a time
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.area import Resources, Stores
from clearhold.api.http.fields import CursorText, Moment, PageLimit
from clearhold.api.lists.exports import Batches, Concurrency
from clearhold.api.lists.lists import (
    DEFAULT_LIMIT,
    UNREADABLE,
    ListPage,
    ListReader,
    Place,
    instant_in,
    only,
    raw_batches,
    to_answer,
    unusable_cursor,
)
from clearhold.features.core.canonical import Chain, LineKind, canonical
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.inputs import PolicyTable
from clearhold.store.duck.shown_rows import RowsCheck, ShownRows
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import CheckpointPlace, InclusionProof
from clearhold.store.record.reading import ChainCheck, RecordFilter, RecordReader, Verification

_ON_ACTIONS: Final = frozenset({"actions", "alert_notes"})
"""Tables whose rows have their links on the chain of actions."""
"""The table that quotes the chain of actions; the others quote that of dispositions."""

Seq = Annotated[int, msgspec.Meta(ge=0, le=999_999_999)]


class VerifyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``chain`` restricts ok, checked and firstBreakAt to one chain; without it they cover both."""

    chain: Chain | None = None


class RecordExportQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    kinds: Annotated[tuple[LineKind, ...], msgspec.Meta(min_length=1, max_length=4)] | None = None


class CheckpointQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``size`` is the number of links, from the first; left out: all."""

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
    """The first fault of a chain: ``expected`` is the hash due there, or the root in base64 that a checkpoint names,
    ``found`` the stored value; null if it is missing.
    """

    chain: Chain
    seq: int
    id: Annotated[str | None, about("Id of the object whose link breaks the chain; null when it cannot be read.")]
    expected: Annotated[str | None, about("The value due there: a hash in hex, or a root in base64; null for nothing.")]
    found: Annotated[str | None, about("The value that is there; null for nothing.")]
    created_at: Annotated[str | None, about("When the broken link was written; null when that cannot be read.")]


class ChainState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The first ``checked`` links are intact."""

    ok: bool
    checked: int


class ChainStates(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Both chains, whatever the request."""

    dispositions: Annotated[ChainState, about("The chain of decisions.")]
    actions: Annotated[ChainState, about("The chain of actions.")]


class RowDifference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row that differs from the record, in ``columns``; ``missing`` if only the record has it, ``unrecorded`` if only
    the table has it.
    """

    table: Annotated[str, about("The table that the row is of.")]
    id: Annotated[str, about("The row's id.")]
    columns: Annotated[tuple[str, ...], about("The columns that differ; missing or unrecorded for a whole row.")]


class RowStates(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the stored dispositions, alerts, actions and transfers agree with the record, and the first rows that
    do not.
    """

    ok: Annotated[bool, about("Whether every checked row is what the record says.")]
    checked: Annotated[int, about("How many rows were checked.")]
    differences: Annotated[tuple[RowDifference, ...], about("The first rows that are not.")]


class ChainReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``ok``, ``checked`` and ``firstBreakAt`` cover the requested chain, or both; ``ok`` also covers the rows that
    quote it.
    """

    ok: bool
    checked: int
    first_break_at: Annotated[ChainBreak | None, about("Where it first is not what it should be; null when it holds.")]
    chains: Annotated[ChainStates, about("Both chains, whichever was requested.")]
    rows: Annotated[RowStates, about("Whether the rows that the interface shows are what the record says.")]


class RecordLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of an export. Cited policies and alerts have no chain, seq and hashes."""

    kind: Annotated[LineKind, about("What the line is.")]
    chain: Chain | None
    seq: int | None
    body: Annotated[dict[str, Any], about("The hashed content, in canonical form.")]
    prev_hash: str | None
    hash: str | None


class RecordCheckpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``root`` in base64, ``note`` exactly as signed."""

    chain: Chain
    size: Annotated[int, about("How many links it covers, from the first.")]
    root: Annotated[str, about("Root of the tree over them (RFC 6962), in base64.")]
    note: str
    created_at: Annotated[str, about("When it was signed.")]


class CheckpointPage(ListPage[RecordCheckpoint], frozen=True, kw_only=True, rename="camel"):
    pass


class RecordProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """RFC 6962: with the link's hash as leaf, ``hashes``, in base64, lead to the root in the note ``checkpoint``."""

    leaf_index: Annotated[int, about("Position of the link in the tree.")]
    tree_size: Annotated[int, about("How many links the tree has.")]
    hashes: Annotated[tuple[str, ...], about("The hashes that lead from the leaf to the root, in base64.")]
    checkpoint: Annotated[str, about("The signed note that names the root.")]


def report_of(checks: Sequence[ChainCheck], rows: RowsCheck, chain: Chain | None) -> ChainReport:
    """The report of one chain or both, with their states; the first break in the order of the chains."""
    reported = [check for check in checks if chain in {None, check.chain}]
    breaks = [check.broken_at for check in reported if check.broken_at is not None]
    of_chain = [
        each for each in rows.differences if chain is None or (each.table in _ON_ACTIONS) is (chain is Chain.ACTIONS)
    ]
    states = {check.chain: ChainState(ok=check.broken_at is None, checked=check.checked) for check in checks}
    return ChainReport(
        ok=not breaks and not of_chain,
        checked=sum(check.checked for check in reported),
        first_break_at=to_answer(breaks[0], ChainBreak) if breaks else None,
        chains=ChainStates(dispositions=states[Chain.DISPOSITIONS], actions=states[Chain.ACTIONS]),
        rows=RowStates(
            ok=not rows.differences,
            checked=rows.checked,
            differences=tuple(to_answer(each, RowDifference) for each in rows.differences),
        ),
    )


def to_proof(proof: InclusionProof) -> RecordProof:
    return RecordProof(
        leaf_index=proof.leaf_index,
        tree_size=proof.checkpoint.size,
        hashes=tuple(base64.b64encode(each).decode() for each in proof.hashes),
        checkpoint=proof.checkpoint.note,
    )


LINES_A_BATCH: Final = 1_000

_CheckpointFilters = Mapping[str, tuple[Chain, ...] | None]


class VerifyProgress(msgspec.Struct):
    """A verification under way: its chain, the links of it that are checked, and all of them; None for the rows, which
    come last.
    """

    chain: Chain | None = Chain.DISPOSITIONS
    checked: int = 0
    links: int = 0


class RecordService:
    """One for the process; belongs to the API's event loop. Verifications are limited for each principal."""

    def __init__(self, resources: Resources) -> None:
        database, record = resources.stores.database, resources.stores.record
        self._reader = RecordReader(database, policy_bodies(resources.stores), holes=record.holes)
        self._rows = ShownRows(database)
        self._verification = Verification(database, record.checkpoint_log, record.signing_keys, holes=record.holes)
        self._checkpoints, self._verifications = record.checkpoints, record.verifications
        self._checks = Concurrency(what="verifications of the record")
        self._under_way: dict[str, VerifyProgress] = {}  # by tenant
        self._list = ListReader(
            self._read_page, lambda _, rows: [to_answer(row, RecordCheckpoint) for row in rows], _place, _key
        )

    async def verify(self, principal: Principal, query: VerifyQuery) -> ChainReport:
        """Compute every hash again and compare the stored rows with the links, in worker threads."""
        with self._checks.slot(principal):
            progress = self._under_way[principal.tenant_id] = VerifyProgress()

            def note(checked: int, links: int) -> None:
                progress.checked, progress.links = checked, links

            try:
                checks = []
                for chain in Chain:
                    progress.chain, progress.checked, progress.links = chain, 0, 0
                    checks.append(await to_thread.run_sync(self._verification.check, principal, chain, note))
                progress.chain = None
                rows = await to_thread.run_sync(self._rows.check, principal)
            finally:
                if self._under_way.get(principal.tenant_id) is progress:
                    del self._under_way[principal.tenant_id]
            self._verifications.note(principal.tenant, ok=report_of(checks, rows, None).ok)
            return report_of(checks, rows, query.chain)

    def progress(self, principal: Principal) -> VerifyProgress | None:
        """The newest verification of the tenant that is under way; None without one."""
        principal.require_tenant_wide()
        return self._under_way.get(principal.tenant_id)

    async def export(self, principal: Principal, query: RecordExportQuery) -> Batches:
        """The lines of the record, batch by batch."""
        principal.require_tenant_wide()
        wanted = RecordFilter(
            kinds=None if query.kinds is None else frozenset(query.kinds),
            created_from=instant_in(query.from_),
            created_to=instant_in(query.to),
        )
        return raw_batches(self._reader.export(principal, wanted, LINES_A_BATCH))

    async def checkpoint(self, principal: Principal, query: CheckpointQuery) -> str:
        """The signed note over the present chain, or over its first links."""
        row = await to_thread.run_sync(self._checkpoints.sign, principal, query.chain, query.size)
        return row.note

    async def checkpoints(self, principal: Principal, query: CheckpointsQuery) -> CheckpointPage:
        """The signed checkpoints, newest first."""
        return CheckpointPage.of(*await self._list.page(principal, {"chain": query.chain}, query))

    async def proof(self, principal: Principal, query: ProofQuery) -> RecordProof:
        return to_proof(await to_thread.run_sync(self._checkpoints.proof, principal, query.chain, query.seq))

    def _read_page(
        self, principal: Principal, filters: _CheckpointFilters, after: CheckpointPlace | None, limit: int
    ) -> Sequence[RecordCheckpointRow]:
        return self._checkpoints.page(principal, only(filters["chain"]), after, limit)


def _place(row: RecordCheckpointRow) -> Place:
    return Place(row.created_at, row.chain, str(row.size))


def _key(place: Place) -> CheckpointPlace:
    if not place.program_id.isdecimal() or len(place.program_id) > len(str(2**62)):
        raise unusable_cursor(UNREADABLE)
    return place.at, place.id, int(place.program_id)


def policy_bodies(stores: Stores) -> Callable[[str], list[bytes]]:
    """The bodies of all policies that a tenant ever had, which links cite: as written and as put in force."""
    policies, in_force = stores.registry.tenancy.policies, PolicyTable(stores.database)

    def of_tenant(tenant_id: str) -> list[bytes]:
        written = {canonical(policy.body) for policy in policies[tenant_id].all()}
        return [*written.union(in_force.bodies(tenant_id))]

    return of_tenant
