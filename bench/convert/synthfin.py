"""Transfers between agents as bank events: ``python -m bench.convert.synthfin TRANSFERS.csv[.gz] OUT_DIR``.

Program  one, ``synthfin``: the data knows no banks
Sides    every agent is a customer, and each end of a row sees it: the sender as outgoing, the receiver as incoming
         under the row's id plus ``-in``, each with the other agent as counterparty. So a row is two transfers
"""

import sys
import time
from pathlib import Path
from typing import Final

from bench.convert.bank_rows import EventFiles, Row, Side, rows_in

PROGRAM: Final = "synthfin"


def sides_of(row: Row) -> tuple[Side, Side]:
    """Who sees the row."""
    return (
        Side(PROGRAM, row.from_id, row.to_id, incoming=False),
        Side(PROGRAM, row.to_id, row.from_id, incoming=True, suffix="-in"),
    )


def convert(source: Path, folder: Path) -> EventFiles:
    first_at, agents = "", set[str]()
    for row in rows_in(source):
        first_at = first_at or row.at
        agents.add(row.from_id)
        agents.add(row.to_id)
    files = EventFiles(folder, (PROGRAM,))
    for number, agent in enumerate(sorted(agents)):
        files.introduce(PROGRAM, agent, first_at=first_at, number=number)
    for row in rows_in(source):
        for side in sides_of(row):
            files.add(row, side)
    files.close()
    return files


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m bench.convert.synthfin TRANSFERS.csv[.gz] OUT_DIR")
    started = time.perf_counter()
    files = convert(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{PROGRAM}: {files.transfers[PROGRAM]:,} transfers, {files.events[PROGRAM]:,} events")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
