"""A process killed while it commits, and while the write-ahead log is folded beside that, loses and doubles nothing."""

import subprocess
import sys
from pathlib import Path

from clearhold.store.duck.database import committed_offsets, open_database

ROWS_A_COMMIT = 100
COMMITS_A_LIFE = (1, 25, 40)

WRITES_UNTIL_KILLED = """
import sys
from pathlib import Path
from threading import Thread
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.store.duck.database import fold_wal, open_database
from clearhold.store.duck.database import BatchWriter, committed_offsets
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, a_transfer, an_event

database = open_database(Path(sys.argv[1]))
rows = int(sys.argv[2])

def fold():
    while True:
        fold_wal(database, over_bytes=50_000)

Thread(target=fold, daemon=True).start()
writer = BatchWriter(database)
offset = committed_offsets(database).get(3, 0)
while True:
    offset += 1
    batch = {
        EventRow: [an_event(offset=offset, event_id=f"{offset}-{n}") for n in range(rows)],
        TransferRow: [a_transfer(offset=offset, id=f"{offset}-{n}") for n in range(rows)],
    }
    writer.commit(row_tables(batch), {3: offset}, AT)
    print(offset, flush=True)
"""


def test_given_a_process_killed_while_it_commits_and_folds_then_every_commit_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    for commits in COMMITS_A_LIFE:
        acknowledged = killed_after(commits, path)

        with open_database(path) as database:
            offset = committed_offsets(database)[3]
            assert acknowledged <= offset <= acknowledged + 1
            for table, key in (("bank_events", "event_id"), ("transfers", "id")):
                counts = f"SELECT count(*), count(DISTINCT {key}) FROM {table}"  # noqa: S608 - names from above
                assert database.execute(counts).fetchone() == (offset * ROWS_A_COMMIT, offset * ROWS_A_COMMIT)


def killed_after(commits: int, path: Path) -> int:
    """Kills a writing process after that many commits; the last offset it acknowledged."""
    command = [sys.executable, "-c", WRITES_UNTIL_KILLED, str(path), str(ROWS_A_COMMIT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(commits)]
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    return int(whole[-1])
