"""A program's caps: a change is requested here, decided as an action by two people, and read from the program's state.

Unit    cents are strings of digits, a count is an integer; null is no cap
Errors  NotFoundError for a program that is not this tenant's; ConflictError while a change of the kind waits;
        InvalidRequestError for a cursor of another list; UnavailableError while the state has no owner
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Resources
from clearhold.api.http.fields import BankId, CentsText, CursorText, PageLimit, Prose
from clearhold.api.http.validation import Failure
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, Place, cursor_for, place_key, place_of, to_answer
from clearhold.features.actions.changes import limit_change_of
from clearhold.features.core.entries.actions import (
    COUNTED_KINDS,
    MOST_CAP,
    ActionType,
    CapKind,
    CapVersion,
    LimitChange,
    cap_of,
    digits_of,
)
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import format_instant
from clearhold.features.core.money import parse_cents
from clearhold.features.core.principal import Principal, Simulated
from clearhold.features.core.vocabulary import about
from clearhold.features.limits.caps import ObservedCap
from clearhold.features.shard.questions import ReadLimits
from clearhold.features.state.action_book import ActionState

_KINDS: Final = frozenset(CapKind)
CapCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_CAP)]
Cap = str | int | None
"""A cap by its kind: cents, or a count."""


_KIND: Final = about(
    "Kind of cap; ach_debit_* covers the ACH debits that the program originates, and the last two cover one entity."
)
_NOTE: Final = about("Why, in the requester's words; null when nothing was said.")
_REQUESTED_BY: Final = about("Who requested the change.")


class NewLimit(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``capCount`` for ``entity_velocity_24h``, else ``capCents``; null removes the cap."""

    kind: Annotated[CapKind, _KIND]
    cap_cents: Annotated[
        CentsText | None,
        about(
            "The new cap in integer cents, at most 2^53, for every kind but entity_velocity_24h; null removes the cap."
        ),
    ] = None
    cap_count: Annotated[
        CapCount | None, about("The new cap of entity_velocity_24h, at most 2^53; null removes the cap.")
    ] = None
    note: Annotated[Prose | None, about("Why, in your words.")] = None


class LimitValues(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cap before and after a change."""

    kind: Annotated[CapKind, _KIND]
    from_: Annotated[
        Cap, about("The cap in force: cents as a string of digits, a count as an integer, null for no cap.")
    ] = msgspec.field(name="from")
    to: Annotated[Cap, about("The cap requested: cents as a string of digits, a count as an integer, null for no cap.")]


class LimitAction(Action, frozen=True, kw_only=True, rename="camel"):
    """The action that waits for a second approver, and what it changes.

    Its type is set_limit, its target the program; alertId, error and bankResponse are null.
    """

    limit: Annotated[LimitValues, about("The cap before and after.")]


class Limit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One kind of cap and its use now; version, names, since and note describe its last change, null without one."""

    kind: Annotated[CapKind, _KIND]
    cap_cents: str | None
    cap_count: int | None
    version: Annotated[
        str | None,
        about("Version of the caps by the last change of this kind; null without a change."),
    ]
    requested_by: Annotated[str | None, about("Who requested the last change; null without a change.")]
    approved_by: Annotated[str | None, about("Who approved the last change; null without a change.")]
    since: Annotated[str | None, about("Since when the cap is in force, or removed; null when there never was one.")]
    observed: Annotated[Cap, about("The use now: cents as a string of digits, or a count; null when nothing moved.")]
    n: Annotated[int, about("How many transfers that is.")]
    note: Annotated[str | None, _NOTE]


class PendingLimit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change that waits for its approver."""

    action_id: Annotated[str, about("The action, whose approval puts the cap in force.")]
    kind: Annotated[CapKind, _KIND]
    cap_cents: str | None
    cap_count: int | None
    requested_by: Annotated[str, _REQUESTED_BY]
    note: Annotated[str | None, _NOTE]
    created_at: str


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All five kinds of cap of a program, and the changes that wait."""

    program_id: str
    as_of: str
    limits: Annotated[tuple[Limit, ...], about("All five kinds of cap.")]
    pending: Annotated[
        tuple[PendingLimit, ...],
        about("The changes that wait for an approver, in the order of request."),
    ]
    simulated: Simulated = msgspec.UNSET


class LimitsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    entity_id: BankId | None = None


class LimitHistoryQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class ChangedLimit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of a cap that was approved; ``at`` is when it came into force."""

    kind: Annotated[CapKind, _KIND]
    from_: Annotated[
        Cap, about("The cap before: cents as a string of digits, a count as an integer, null for no cap.")
    ] = msgspec.field(name="from")
    to: Annotated[Cap, about("The cap since: cents as a string of digits, a count as an integer, null for no cap.")]
    version: Annotated[str, about("Version of the program's caps that this change made.")]
    requested_by: Annotated[str, _REQUESTED_BY]
    approved_by: Annotated[str, about("Who approved the change, a person other than the requester.")]
    note: Annotated[str | None, _NOTE]
    at: Annotated[str, about("When it came into force.")]
    action_id: Annotated[str, about("The action, whose approval put the cap in force.")]
    simulated: Simulated = msgspec.UNSET


class LimitHistoryPage(ListPage[ChangedLimit], frozen=True, kw_only=True, rename="camel"):
    pass


def limit_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Rules beyond the schema: exactly the cap that the kind needs, and not too high."""
    kind = plain.get("kind")
    if isinstance(kind, str) and kind in _KINDS:
        needed, other = ("capCount", "capCents") if kind in COUNTED_KINDS else ("capCents", "capCount")
        if needed not in plain:
            yield Failure(needed, "is required for this kind; null removes the cap", FieldCode.REQUIRED)
        if plain.get(other) is not None:
            yield Failure(other, f"must not be given for this kind, which takes {needed}", FieldCode.CONFLICTING)
    cents = plain.get("capCents")
    if isinstance(cents, str) and (parse_cents(cents) or 0) > MOST_CAP:
        yield Failure("capCents", f"must be at most {MOST_CAP}", FieldCode.TOO_LARGE)


def change_requested(request: NewLimit) -> LimitChange:
    """The change that a request states."""
    to = digits_of(request.cap_count) if request.kind in COUNTED_KINDS else request.cap_cents
    return LimitChange(kind=request.kind, to=to, note=request.note)


def to_values(change: LimitChange) -> LimitValues:
    kind = change.kind
    return LimitValues(kind=kind, from_=_in_unit(kind, cap_of(change.from_)), to=_in_unit(kind, cap_of(change.to)))


def to_limit(observed: ObservedCap) -> Limit:
    newest, kind = observed.newest, observed.kind
    use: dict[str, Any] = {"kind": kind, "observed": _in_unit(kind, observed.observed), "n": observed.n}
    if newest is None:
        no_cap: dict[str, Any] = dict.fromkeys(Limit.__struct_fields__)
        return Limit(**no_cap | use)
    return to_answer(newest, Limit, since=format_instant(newest.since), **_caps(kind, newest.cap), **use)


def to_pending(action: ActionState) -> PendingLimit:
    change = limit_change_of(action.change)
    caps = _caps(change.kind, cap_of(change.to))
    return to_answer(action, PendingLimit, action_id=action.id, kind=change.kind, note=change.note, **caps)


def to_changed(version: CapVersion) -> ChangedLimit:
    before, since = _in_unit(version.kind, version.before), format_instant(version.since)
    return to_answer(version, ChangedLimit, from_=before, to=_in_unit(version.kind, version.cap), at=since)


def _caps(kind: CapKind, cap: int | None) -> dict[str, Cap]:
    """The cap in its unit, and null in the other."""
    name, other = ("cap_count", "cap_cents") if kind in COUNTED_KINDS else ("cap_cents", "cap_count")
    return {name: _in_unit(kind, cap), other: None}


def _in_unit(kind: CapKind, cap: int | None) -> Cap:
    return cap if cap is None or kind in COUNTED_KINDS else str(cap)


PROGRAM: Final = "program"


class LimitService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._actions = ActionService(resources)

    async def request(
        self, principal: Principal, program_id: str, request: NewLimit, effect_id: str | None
    ) -> LimitAction:
        """The action that waits for a second approver; a repeated id returns the first one."""
        program = self._programs.read(principal, program_id)
        action = await self._actions.request_change(
            principal,
            ActionType.SET_LIMIT,
            program_id=program.id,
            target=(PROGRAM, program.id),
            change=msgspec.to_builtins(change_requested(request)),
            effect_id=effect_id,
        )
        assert action.change is not None, "an action of this type has a change"
        return LimitAction(**msgspec.structs.asdict(action), limit=to_values(limit_change_of(action.change)))

    async def read(self, principal: Principal, program_id: str, query: LimitsQuery) -> Limits:
        """An entity that the program does not know has no use."""
        program, now = self._programs.read(principal, program_id), self._clock.now()
        read = (await self._owner.query(program.id, ReadLimits(now, query.entity_id))).value
        limits = Limits(
            program_id=program.id,
            as_of=format_instant(now),
            limits=tuple(map(to_limit, read.limits)),
            pending=tuple(map(to_pending, read.pending)),
        )
        return self._programs.marked(limits, program.id)

    async def history(self, principal: Principal, program_id: str, query: LimitHistoryQuery) -> LimitHistoryPage:
        """Newest first."""
        program = self._programs.read(principal, program_id)
        filters = {"programId": program.id}
        after = None if query.cursor is None else place_of(query.cursor, filters)
        limits = (await self._owner.query(program.id, ReadLimits(self._clock.now()))).value
        changes = sorted(limits.history, key=lambda change: place_key(_place(change, program.id)), reverse=True)
        rest = [each for each in changes if after is None or place_key(_place(each, program.id)) < place_key(after)]
        page = rest[: query.limit]
        cursor = cursor_for(_place(page[-1], program.id), filters) if len(rest) > query.limit else None
        return LimitHistoryPage.of([self._programs.marked(to_changed(each), program.id) for each in page], cursor)


def _place(change: CapVersion, program_id: str) -> Place:
    return Place(change.since, change.action_id, program_id)
