"""Snapshots of key risk indicators, as callers see them."""

from typing import Annotated, Final

import msgspec

from clearhold.api.http.fields import CursorText, Moment, PageLimit, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, to_answer
from clearhold.features.catalogue.kris import KriName, KriValue, SnapshotCause
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.core.vocabulary import Band, about, minted


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``snapshot_id`` is the id of the stored snapshot."""

    snapshot_id: Annotated[str, about("The snapshot; `GET /api/kri/snapshots/{id}` reads it.")]


class SnapshotsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    cause: Annotated[tuple[SnapshotCause, ...], msgspec.Meta(min_length=1, max_length=len(SnapshotCause))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class KriSnapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All indicators of a program as of one instant, with the program's score."""

    id: Annotated[str, minted("snapshot")]
    tenant_id: str
    program_id: str
    cause: Annotated[
        SnapshotCause,
        about(
            "scheduled once a quarter of an hour, transfers after every 200, requested by an operator, history for a "
            "past day that was loaded."
        ),
    ]
    as_of: Annotated[str, about("The instant of the figures; of a past day its end.")]
    window_days: Annotated[int, about("Days of the longest window of an indicator.")]
    kris: Annotated[dict[str, KriValue], about("Each indicator by its name.")]
    program_score: Annotated[int | None, about("Program Risk Score, 0-100; null below three measured indicators.")]
    program_score_n: Annotated[int, about("Indicators that were measured for the score.")]
    program_score_version: Annotated[str, about("Which scorer gave the score, as in prs-v1.")]
    band: Annotated[Band, about("Band of the program's score; unscored when it is null.")]
    created_at: Annotated[str, about("When the snapshot was taken.")]
    simulated: Simulated = msgspec.UNSET


class SnapshotPage(ListPage[KriSnapshot], frozen=True, kw_only=True, rename="camel"):
    pass


_KRIS: Final = msgspec.json.Decoder(dict[str, KriValue])


def indicators_of(row: KriSnapshotRow) -> dict[str, KriValue]:
    """The indicators, in their order."""
    kris = _KRIS.decode(row.kris)
    return {name.value: kris[name] for name in KriName if name in kris}


def to_snapshot(row: KriSnapshotRow) -> KriSnapshot:
    return to_answer(row, KriSnapshot, as_of=format_instant(row.as_of_at), kris=indicators_of(row))
