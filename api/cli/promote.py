"""``clearhold promote``: the owner of a log in a named Redis hands it over to a node that stands by.

Exit codes  0 the node owns the log; 2 it does not, with the reason
"""

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

import typer

from clearhold.api.cli.options import AnyData, check_data_dir, fail
from clearhold.store.errors import StartupError

if TYPE_CHECKING:
    import redis

WITHIN_S: Final = 20.0
_POLL_S: Final = 0.05


def promote(data: AnyData) -> None:
    """Run it beside the service on DATA, which stands by. The owner answers what it has begun, hands the log over and
    stops; callers get 503 for a moment. Started again it stands by: upgrade it in between.
    """
    from redis.exceptions import RedisError

    from clearhold.api.settings import setting
    from clearhold.store.redis_log.connect import connect_sync

    redis_url = setting("redis_url", os.environ)
    if redis_url is None:
        fail("CLEARHOLD_REDIS_URL is not set: a log in the directory's own Redis has one node.")
    check_data_dir(data)
    try:
        with closing(connect_sync(redis_url)) as client:
            _promote(client, data)
    except (StartupError, RedisError, OSError) as error:
        fail(f"The log cannot be handed over: {error}")


def _promote(client: "redis.Redis", data: AnyData) -> None:
    from clearhold.store.nodes.members import members_of
    from clearhold.store.redis_log.owner import node_of
    from clearhold.store.redis_log.writes import HANDED_OVER, OWNER, WANTED

    node, began = node_of(data), time.perf_counter()

    def role() -> str | None:
        return next((each.report.role for each in members_of(client) if each.node == node.id), None)

    def has_taken() -> bool:
        fields = client.hmget(OWNER, "node", "beat")
        return fields[0] == node.id.encode() and fields[1] != HANDED_OVER

    if has_taken():
        typer.echo(f"{node.id} owns the log already.")
        return
    if role() != "standby":
        fail(f"{node.id}, the node of {data}, does not stand by. Start clearhold serve on it first.")
    client.set(WANTED, f"{node.id} {node.boot}", px=int(WITHIN_S * 1_000))
    try:
        while not has_taken():
            if time.perf_counter() - began > WITHIN_S:
                fail(f"The owner has not handed the log over within {WITHIN_S:.0f} s; its log says why.")
            time.sleep(_POLL_S)
    finally:
        client.delete(WANTED)
    typer.echo(f"{node.id} owns the log, {time.perf_counter() - began:.1f} s after it was asked for.")
