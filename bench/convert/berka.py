"""Berka transactions as bank events: ``python -m bench.convert.berka TRANSFERS.csv[.gz] OUT_DIR``.

Program  one, ``berka``; currency CZK, so declare nothing about amounts in dollars
Sides    ``C`` and digits is a customer. Its side is the entity and its account, and the way of the money is seen from
         there; cash, the bank itself, the card and accounts elsewhere are counterparties
"""

import re
import sys
import time
from pathlib import Path
from typing import Final

from bench.convert.bank_rows import EventFiles, Row, Side, rows_in

PROGRAM: Final = "berka"
_CUSTOMER: Final = re.compile("C[0-9]+")


def side_of(row: Row) -> Side:
    """The customer's side; a row without one is not of this data set."""
    if _CUSTOMER.fullmatch(row.from_id):
        return Side(PROGRAM, row.from_id, row.to_id, incoming=False)
    if _CUSTOMER.fullmatch(row.to_id):
        return Side(PROGRAM, row.to_id, row.from_id, incoming=True)
    raise SystemExit(f"{row.id}: neither {row.from_id} nor {row.to_id} is a customer.")


def convert(source: Path, folder: Path) -> EventFiles:
    first_of: dict[str, str] = {}
    for row in rows_in(source):
        first_of.setdefault(side_of(row).customer, row.at)
    first_at = min(first_of.values(), default="")
    files = EventFiles(folder, (PROGRAM,))
    for number, customer in enumerate(sorted(first_of)):
        files.introduce(PROGRAM, customer, first_at=first_at, number=number)
    for row in rows_in(source):
        files.add(row, side_of(row))
    files.close()
    return files


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m bench.convert.berka TRANSFERS.csv[.gz] OUT_DIR")
    started = time.perf_counter()
    files = convert(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{PROGRAM}: {files.transfers[PROGRAM]:,} transfers, {files.events[PROGRAM]:,} events")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
