"""AMLSim transfers as bank events: ``python -m bench.convert.amlsim TRANSFERS.csv[.gz] OUT_DIR``.

Banks    the CSV does not say which of the four banks an account is at, so the number of the account modulo 4 does:
         program ``amlsim-0`` to ``amlsim-3``. Every account is an entity of its bank
Sides    between two banks both see the transfer: the sender's as outgoing, the receiver's as incoming under the
         row's id plus ``-in``, each with the other's account as counterparty. Within one bank it is seen once, as
         outgoing: the sender is the entity and the receiver's account the counterparty. Book rows are always seen once,
         by the sender's bank, because a book transfer is one record
Amounts  as they are, 0 included
"""

import sys
import time
from pathlib import Path
from typing import Final

from bench.convert.bank_rows import EventFiles, Row, Side, rows_in

BANKS: Final = 4
PROGRAMS: Final = tuple(f"amlsim-{bank}" for bank in range(BANKS))


def program_of(account: str) -> str:
    return PROGRAMS[int(account.removeprefix("A")) % BANKS]


def sides_of(row: Row) -> list[Side]:
    """Who sees the row."""
    sender, receiver = program_of(row.from_id), program_of(row.to_id)
    sides = [Side(sender, row.from_id, row.to_id, incoming=False)]
    if receiver != sender and row.family != "book":
        sides.append(Side(receiver, row.to_id, row.from_id, incoming=True, suffix="-in"))
    return sides


def convert(source: Path, folder: Path) -> EventFiles:
    first_at, accounts = "", set[str]()
    for row in rows_in(source):
        first_at = first_at or row.at
        accounts.add(row.from_id)
        accounts.add(row.to_id)
    files = EventFiles(folder, PROGRAMS)
    for number, account in enumerate(sorted(accounts)):
        files.introduce(program_of(account), account, first_at=first_at, number=number)
    for row in rows_in(source):
        for side in sides_of(row):
            files.add(row, side)
    files.close()
    return files


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m bench.convert.amlsim TRANSFERS.csv[.gz] OUT_DIR")
    started = time.perf_counter()
    files = convert(Path(sys.argv[1]), Path(sys.argv[2]))
    for program in PROGRAMS:
        print(f"{program}: {files.transfers[program]:,} transfers, {files.events[program]:,} events")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
