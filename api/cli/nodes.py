"""``clearhold join`` makes the data directory of a further node of a log; ``clearhold nodes`` lists the members.

Exit codes  of both: 0 done; 2 failed, with the reason, and nothing is left behind
"""

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from clearhold.api.cli.options import check_address, fail
from clearhold.features.core.instants import SECOND_US
from clearhold.store.errors import StartupError

if TYPE_CHECKING:
    from clearhold.store.nodes.members import SeenMember

_HEADERS: Final = ("node", "role", "address", "version", "seen", "behind")

From = Annotated[
    str,
    typer.Option("--from", help="Base URL of the service that owns the log.", callback=check_address),
]
NewData = Annotated[Path, typer.Option(help="Data directory to create: new or empty.", file_okay=False)]
MasterKey = Annotated[
    Path | None,
    typer.Option(
        help="Your copy of the log's master key; by default, that of CLEARHOLD_MASTER_KEY_FILE.",
        exists=True,
        dir_okay=False,
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(metavar="NODE", help="Drop a member that will not come back: it holds up the trims of the log."),
]


def join(from_: From, data: NewData, master_key: MasterKey = None) -> None:
    """The log is that of CLEARHOLD_REDIS_URL. The backup comes sealed, with the admin token of CLEARHOLD_ADMIN_TOKEN.
    A start on the new directory then stands by while another node owns the log.
    """
    from clearhold.api.cli.joining import FAILURES, joined_directory

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the folder is emptied
    began = time.perf_counter()
    try:
        result = joined_directory(from_, data.expanduser().absolute(), master_key)
    except FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{result.rebuilt.entries:,} entries applied, {result.rebuilt.links:,} links placed, "
        f"{time.perf_counter() - began:.1f} s: {data} is {result.node}"
    )
    typer.echo(f"Start it with: clearhold serve --data {data}")


def nodes(drop: Drop = None) -> None:
    """The log is that of CLEARHOLD_REDIS_URL."""
    from redis.exceptions import RedisError

    from clearhold.api.settings import setting
    from clearhold.store.nodes.members import leave, members_of, now_of
    from clearhold.store.redis_log.connect import connect_sync

    redis_url = setting("redis_url", os.environ)
    if redis_url is None:
        fail("CLEARHOLD_REDIS_URL is not set: a log in the directory's own Redis has one node.")
    try:
        with closing(connect_sync(redis_url)) as client:
            if drop is not None and not leave(client, drop):
                fail(f"The log has no member {drop}; clearhold nodes lists them.")
            members, now = members_of(client), now_of(client)
    except (StartupError, RedisError, OSError) as error:
        fail(f"The members cannot be read: {error}")
    _print(members, now)


def _print(members: list["SeenMember"], now: int) -> None:
    rows = [_HEADERS, *(_row(member, now) for member in members)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _row(member: "SeenMember", now: int) -> tuple[str, ...]:
    report = member.report
    behind = "not measured" if report.behind_s is None else f"{report.behind_s:.1f} s"
    seen = f"{max(0, now - member.seen_at) / SECOND_US:.1f} s ago"
    return member.node, report.role, report.address, report.version, seen, behind
