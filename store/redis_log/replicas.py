"""The replicas of the log's Redis at a start: enough of them, and none that keeps less than the primary.

Each of them may confirm a write, and may be promoted.

Errors  ``RedisSettingsError``, with what to change
"""

from contextlib import closing
from typing import Any, Final, NamedTuple

import redis
from redis.exceptions import AuthenticationError, RedisError

from clearhold.store.redis_log.connect import RedisSettingsError, unsafe_settings
from clearhold.store.redis_log.replication import CONFIRMED_WITHIN_S, MARKER, NotReplicatedError, replicated

_NAMED: Final = "The Redis at CLEARHOLD_REDIS_URL"
_ADDRESS: Final = ("host", "port", "path", "finder")
"""Arguments of a connection that lead to the primary."""


class _Replica(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def check_replicas(client: redis.Redis, replicas: int) -> None:
    """Refuse a Redis with fewer connected replicas, or with one that may lose what it has confirmed."""
    try:
        state = client.info("replication")
    except RedisError as error:
        raise RedisSettingsError(
            f"{_NAMED} does not say which replicas it has ({error}); it must allow INFO."
        ) from error
    if state["role"] != "master":
        raise RedisSettingsError(
            f"{_NAMED} is a replica of {state.get('master_host')}:{state.get('master_port')}. Name the primary, or the "
            "Sentinels as redis+sentinel://HOST:26379,HOST:26379/NAME, which know it."
        )
    connected = _connected(state)
    if len(connected) < replicas:
        names = f" ({', '.join(map(str, connected))})" if connected else ""
        raise RedisSettingsError(
            f"CLEARHOLD_REDIS_REPLICAS is {replicas}, and {len(connected)} replicas are connected to the Redis at "
            f"CLEARHOLD_REDIS_URL{names}: no write would be confirmed. Start more replicas, or lower the number."
        )
    for each in connected:
        _check(client, each)


def require_confirmed(client: redis.Redis, replicas: int) -> None:
    """Return once the replicas have all that this Redis has taken until now, such as the owner of the log."""
    try:
        replicated(client, "SET", MARKER, b"", replicas=replicas, within_s=CONFIRMED_WITHIN_S)
    except NotReplicatedError as error:
        raise RedisSettingsError(
            f"The replicas of the Redis at CLEARHOLD_REDIS_URL are too far behind: {error}"
        ) from error


def _connected(state: dict[str, Any]) -> list[_Replica]:
    listed = [value for name, value in sorted(state.items()) if name.startswith("slave") and isinstance(value, dict)]
    return [_Replica(str(each["ip"]), int(each["port"])) for each in listed if each.get("state") == "online"]


def _check(client: redis.Redis, replica: _Replica) -> None:
    try:
        with closing(_client_of(client, replica)) as other:
            wrong = unsafe_settings(other)
    except AuthenticationError as error:
        raise RedisSettingsError(
            f"The replica {replica} refuses the user or password of CLEARHOLD_REDIS_URL ({error}): every server needs "
            "the same user."
        ) from error
    except (RedisError, OSError) as error:
        raise RedisSettingsError(
            f"The settings of the replica {replica} cannot be read ({error}). Its address is the one that it announces "
            "to the primary (replica-announce-ip); CONFIG GET must be allowed."
        ) from error
    if wrong:
        states = ", ".join(f"{name} is {value or 'unknown'}" for name, value in wrong.items())
        raise RedisSettingsError(
            f"The replica {replica} could lose what it has confirmed: {states}. Set appendonly yes, appendfsync always "
            "and maxmemory-policy noeviction there too, since it may become the primary."
        )


def _client_of(primary: redis.Redis, replica: _Replica) -> redis.Redis:
    """A client with the primary's user, password and certificates."""
    pool = primary.connection_pool
    arguments = {name: value for name, value in pool.connection_kwargs.items() if name not in _ADDRESS}
    kind = redis.SSLConnection if issubclass(pool.connection_class, redis.SSLConnection) else redis.Connection
    arguments |= {"host": replica.host, "port": replica.port, "connection_class": kind}
    return redis.Redis.from_pool(redis.ConnectionPool(**arguments))
