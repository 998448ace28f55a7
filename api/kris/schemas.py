"""The answer of a snapshot."""

from typing import Annotated

import msgspec

from clearhold.features.core.words import about


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``snapshot_id`` is the id of the snapshot in the program report."""

    snapshot_id: Annotated[str, about("The snapshot of key risk indicators, as the program report names it.")]
