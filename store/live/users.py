"""Users of Redis for readers of the live streams: they read these keys and channels, and nothing else.

Rights  commands that read a key by its name, and subscriptions; with ``can_group`` also those of consumer groups. None
        that lists keys, writes an entry, or administers the server
Errors  ``StartupError`` for a Redis that does not let us
"""

from collections.abc import Sequence
from typing import Final

import redis
from redis.exceptions import RedisError, ResponseError

from clearhold.store.errors import StartupError
from clearhold.store.live.streams import LOG

_CONNECTION: Final = "+hello +auth +ping +quit +reset +client|id +client|setname +client|getname +client|setinfo"
_READS: Final = "+xread +xrange +xrevrange +xlen +xinfo|stream +xinfo|groups +hget +hmget +hgetall +exists +ttl +type"
_SUBSCRIBES: Final = "+subscribe +unsubscribe +psubscribe +punsubscribe"
_GROUPS: Final = (
    "+xreadgroup +xack +xautoclaim +xclaim +xpending +xgroup|create +xgroup|createconsumer +xgroup|delconsumer"
)


def rules_of(program_ids: Sequence[str], *, can_group: bool, tag: str = "") -> list[str]:
    """The rules of ACL SETUSER, without a password; no ids: all programs. ``tag`` is in front of all keys."""
    streams = [f"{tag}out:{program_id}" for program_id in program_ids] or [f"{tag}out:*"]
    log = [tag + LOG] if program_ids else []  # the pattern for all programs has it
    patterns = [f"{tag}latest:*:{program_id}*" for program_id in program_ids] or [f"{tag}latest:*"]
    channels = [f"live:{program_id}" for program_id in program_ids] or ["live:*"]
    rules = ["resetkeys", "resetchannels", "clearselectors", "-@all"]
    rules += [*(f"%R~{key}" for key in (*streams, *log, *patterns)), *(f"&{channel}" for channel in channels)]
    rules += f"{_CONNECTION} {_READS} {_SUBSCRIBES}".split()
    if can_group:
        rules.append(f"({' '.join(f'~{key}' for key in streams)} {_GROUPS})")
    return rules


def set_user(client: redis.Redis, name: str, password: str, rules: Sequence[str]) -> bool:
    """Create the user, or give an existing one this password and these rights alone; returns whether a restart of Redis
    keeps it.
    """
    return _changed(client, "SETUSER", name, "reset", "on", f">{password}", *rules)


def remove_user(client: redis.Redis, name: str) -> bool:
    """Remove the user and end its connections; returns whether a restart of Redis keeps that."""
    return _changed(client, "DELUSER", name)


def _changed(client: redis.Redis, *command: str) -> bool:
    try:
        client.execute_command("ACL", *command)
    except (RedisError, OSError) as error:
        raise StartupError(f"Redis refuses to change its users: {error}.") from error
    try:
        client.execute_command("ACL", "SAVE")
    except ResponseError:  # a Redis without a file of users
        return False
    return True
