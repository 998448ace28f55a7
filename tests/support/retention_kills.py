"""A process that ends days of a lake and kills itself before the Nth file that it renames or removes.

Called with a folder and N. It leaves the database ``database.duckdb`` and the lake in the folder.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from clearhold.features.core.instants import DAY_US
from clearhold.store.analysts.writer import KEPT_US, LEAD_US
from clearhold.store.duck.database import open_database
from tests.support.clock import T0, FrozenClock
from tests.support.labelled_days import TABLE, LabelledDays

KILLED = -signal.SIGKILL
END = T0 + 2 * DAY_US + KEPT_US + 4 * LEAD_US
"""When the process has done all."""

_STEPS = frozenset({"os.rename", "os.remove"})


def main(folder: Path, last_step: int) -> None:
    with open_database(folder / "database.duckdb") as database:
        clock = FrozenClock()
        days = LabelledDays(folder, database, clock)
        days.label(1, days_ago=6)
        days.copy()
        days.label(2, days_ago=6)
        days.label(2)
        days.copy()
        steps = 0

        def on_event(event: str, _arguments: tuple[Any, ...]) -> None:
            nonlocal steps
            if event in _STEPS:
                steps += 1
                if steps == last_step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(on_event)
        days.kept_days = {TABLE: 7}
        clock.advance(2 * DAY_US)
        days.round()
        clock.at = END - LEAD_US
        days.round()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
