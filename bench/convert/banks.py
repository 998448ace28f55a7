"""Transfers between several banks as bank events: ``python -m bench.convert.banks TRANSFERS.csv[.gz] OUT_DIR``.

Banks    the part of a party's name before the colon, one program each; ``X`` is outside of all of them. Every party of
         a bank is an entity of it
Sides    between two banks both see the transfer: the sender's as outgoing, the receiver's as incoming under the row's
         id plus ``-in``. Within one bank it is seen once, as outgoing: the sender is the entity
Ids      a party's without its bank, which its program is
"""

import sys
import time
from pathlib import Path
from typing import Final

from bench.convert.bank_rows import EventFiles, Row, Side, rows_in

OUTSIDE: Final = "X"


def sides_of(row: Row) -> list[Side]:
    """Who sees the row; one without a bank is not of this kind of data."""
    (sender, payer), (receiver, payee) = _parts(row, row.from_id), _parts(row, row.to_id)
    sides = []
    if sender != OUTSIDE:
        sides.append(Side(sender, payer, payee, incoming=False))
    if receiver not in (OUTSIDE, sender):
        suffix = "-in" if sides else ""
        sides.append(Side(receiver, payee, payer, incoming=True, suffix=suffix))
    if not sides:
        raise SystemExit(f"{row.id}: neither {row.from_id} nor {row.to_id} is a customer.")
    return sides


def convert(source: Path, folder: Path) -> EventFiles:
    first_at, customers = "", set[tuple[str, str]]()
    for row in rows_in(source):
        first_at = first_at or row.at
        customers.update(part for each in (row.from_id, row.to_id) if (part := _parts(row, each))[0] != OUTSIDE)
    files = EventFiles(folder, tuple(sorted({bank for bank, _ in customers})))
    for number, (bank, customer) in enumerate(sorted(customers)):
        files.introduce(bank, customer, first_at=first_at, number=number)
    for row in rows_in(source):
        for side in sides_of(row):
            files.add(row, side)
    files.close()
    return files


def _parts(row: Row, party: str) -> tuple[str, str]:
    bank, colon, account = party.partition(":")
    if not colon or not account:
        raise SystemExit(f"{row.id}: {party} names no bank.")
    return bank, account


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m bench.convert.banks TRANSFERS.csv[.gz] OUT_DIR")
    started = time.perf_counter()
    files = convert(Path(sys.argv[1]), Path(sys.argv[2]))
    for program, count in files.transfers.items():
        print(f"{program}: {count:,} transfers, {files.events[program]:,} events")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
