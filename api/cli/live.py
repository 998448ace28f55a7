"""``clearhold live``: users of Redis for readers of the live streams.

Exit codes  of all: 0 done; 2 Redis cannot be reached, or refuses
"""

import os
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from clearhold.api.cli.options import check_data_dir, fail, note
from clearhold.store.errors import StartupError

if TYPE_CHECKING:
    from redis import Redis

PASSWORD_PREFIX: Final = "rds_"  # noqa: S105 - a prefix that shows what a password opens
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_PROGRAM: Final = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_OWN: Final = "default"

RunningData = Annotated[Path, typer.Option(help="Data directory of a running service.", file_okay=False)]
Name = Annotated[str, typer.Argument(help="Name of the user: letters, digits, _ . -")]
Programs = Annotated[
    list[str] | None, typer.Option("--program", help="Id of a program to read, repeatable. Default: all programs.")
]
Groups = Annotated[bool, typer.Option("--groups", help="Also allow consumer groups on its streams.")]

live = typer.Typer(no_args_is_help=True)


@live.command()
def user(data: RunningData, name: Name, program: Programs = None, *, groups: Groups = False) -> None:
    """Create a reader, or give an existing one a new password; prints the password, once."""
    from clearhold.api.settings import setting
    from clearhold.store.ids import new_token
    from clearhold.store.live.users import rules_of, set_user
    from clearhold.store.redis_log.finders import is_cluster
    from clearhold.store.redis_log.tagged import TAG

    programs = program or []
    if not all(_PROGRAM.fullmatch(each) for each in programs):
        fail("--program must be the id of a program.")
    tag = TAG.decode() if is_cluster(setting("redis_url", os.environ)) else ""
    password, rules = new_token(PASSWORD_PREFIX), rules_of(programs, can_group=groups, tag=tag)
    _change(data, name, lambda client: set_user(client, name, password, rules))
    typer.echo(password)


@live.command()
def remove(data: RunningData, name: Name) -> None:
    """Remove a reader and end its connections."""
    from clearhold.store.live.users import remove_user

    _change(data, name, lambda client: remove_user(client, name))


def _change(data: Path, name: str, change: Callable[["Redis"], bool]) -> None:
    from clearhold.api.settings import setting
    from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync

    if not _NAME.fullmatch(name) or name == _OWN:
        fail("NAME must be 1-64 letters, digits, _ . or -, and not default.")
    check_data_dir(data)
    target = setting("redis_url", os.environ) or EmbeddedRedis(data.absolute()).socket_path
    try:
        with closing(connect_sync(target)) as client:
            is_kept = change(client)
    except StartupError as error:
        fail(str(error))
    if not is_kept:
        note("This Redis has no aclfile: CONFIG REWRITE keeps the change, else it lasts until a restart.")
