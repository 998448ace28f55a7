"""Transfers of people and businesses as bank events: ``python -m bench.convert.personas TRANSFERS.csv[.gz] OUT_DIR``.

Program  one, ``personas`` when it is not named
Sides    ``user_`` and digits is a customer: the entity and its account, from where the way of the money is seen.
         Any other party of a row is an outside party, and its counterparty
Left out the type hint, which names the answer; a reader of the events never sees it
"""

import sys
import time
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.convert.bank_rows import EventFiles, Row, Side, rows_in

PROGRAM: Final = "personas"
_CUSTOMER: Final = "user_"


def side_of(row: Row, program: str = PROGRAM) -> Side:
    """The customer's side; a row without one is not of this data set."""
    if row.from_id.startswith(_CUSTOMER):
        return Side(program, row.from_id, row.to_id, incoming=False)
    if row.to_id.startswith(_CUSTOMER):
        return Side(program, row.to_id, row.from_id, incoming=True)
    raise SystemExit(f"{row.id}: neither {row.from_id} nor {row.to_id} is a customer.")


def convert(source: Path, folder: Path, program: str = PROGRAM) -> EventFiles:
    first_at, customers = "", set[str]()
    for row in rows_in(source):
        first_at = first_at or row.at
        customers.add(side_of(row).customer)
    files = EventFiles(folder, (program,))
    for number, customer in enumerate(sorted(customers)):
        files.introduce(program, customer, first_at=first_at, number=number)
    for row in rows_in(source):
        files.add(replace(row, hint=""), side_of(row, program))
    files.close()
    return files


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m bench.convert.personas TRANSFERS.csv[.gz] OUT_DIR")
    started = time.perf_counter()
    files = convert(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{PROGRAM}: {files.transfers[PROGRAM]:,} transfers, {files.events[PROGRAM]:,} events")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
