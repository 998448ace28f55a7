"""A reporting threshold that comes into force: amounts just under it count for the seven days before.

Cost  once a threshold, of the program's transfers of seven days
"""

from collections.abc import Iterable

from clearhold.features.landing.movement import count_under
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.program import ProgramState


def start_counting(program: ProgramState, thresholds_cents: Iterable[int], *, since: int) -> None:
    """Count amounts under the thresholds from now on; thresholds that are already counted change nothing."""
    new = program.counted_lines.add(thresholds_cents, since=since)
    if not new:
        return
    after = min(program.counted_lines.after(line) for line in new)
    for row in program.transfers.rows_after(after):
        movement = StoredTransfer.read(program, row).movement()
        if movement is not None:
            count_under(program, movement, frozenset(new))
