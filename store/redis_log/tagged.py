"""The names of a log's keys in a Redis Cluster: each has its group's tag in front, so that all keys are in one slot.

A log reads several streams at once and appends to several in one transaction, and a cluster allows that within one slot
only. All other code names keys without a tag, and so do the seals of entries. A connection to a cluster rewrites each
command before it is sent (``primary.py``, ``pipeline.py``); this file alone knows the tag and where commands have keys.
Channels have no tag: a cluster passes their messages on to all of its nodes.

Answers  have keys with the tag where they have keys at all, which is that of XREAD: ``untagged``
Errors   ``ValueError`` for a command whose keys are not known here; nothing is sent then
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import hiredis
from hiredis import pack_command
from redis.crc import key_slot

TAG: Final = b"{g00}:"
"""Of the one group of shards that a log has."""

SLOT: Final = key_slot(TAG)

_NO_KEY: Final = frozenset(
    b"ACL AUTH CLIENT CLUSTER COMMAND CONFIG DBSIZE DISCARD EXEC FUNCTION HELLO INFO MULTI PING PUBLISH ROLE SELECT "
    b"TIME UNWATCH WAIT".split()
)
_ONE_KEY: Final = frozenset(
    b"EXPIRE GET GETDEL HDEL HGET HGETALL HINCRBY HLEN HMGET HSET PEXPIRE SADD SET SMEMBERS XADD XLEN XRANGE XREVRANGE "
    b"XTRIM ZADD ZCARD ZPOPMIN ZRANGE ZRANGEBYSCORE ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZSCORE".split()
)
_ONLY_KEYS: Final = frozenset(b"DEL EXISTS MGET WATCH".split())
_COUNTED_KEYS: Final = frozenset(b"EVAL FCALL".split())


def tagged(commands: bytes) -> bytes:
    """Whole commands in the form in which they are sent, with the tag in front of each key."""
    reader, parts = hiredis.Reader(), list[bytes]()
    reader.feed(commands)
    while (words := reader.gets()) is not False:
        for place in _places_of_keys(words):
            words[place] = TAG + words[place]
        parts.append(pack_command(tuple(words)))
    if reader.has_data():
        raise ValueError("A part of a command cannot be sent to a cluster.")
    return b"".join(parts)


def untagged(key: bytes) -> bytes:
    """The name of a key, as all other code has it."""
    return key.removeprefix(TAG)


def has_tag(connection: Any) -> bool:
    """Whether this is a connection of the client to a cluster."""
    return bool(getattr(connection, "has_tag", False))


def _places_of_keys(words: Sequence[bytes]) -> Iterable[int]:
    name = words[0].upper()
    if name in _NO_KEY:
        return ()
    if name in _ONE_KEY:
        return (1,)
    if name in _ONLY_KEYS:
        return range(1, len(words))
    if name in _COUNTED_KEYS:
        return range(3, 3 + int(words[2]))
    if name == b"XINFO":
        return (2,)
    if name == b"XREAD":
        first = words.index(b"STREAMS") + 1
        return range(first, first + (len(words) - first) // 2)
    raise ValueError(f"It is not known which words of {name.decode(errors='replace')} are keys.")
