"""The fields of an entry of the log in Redis: kind, program, instant of the append, body, and seal where it has one."""

from typing import Final

from clearhold.features.core.log_entry import LogEntry

_KIND, _PROGRAM, _APPENDED_AT, _BODY, _SEAL = b"k", b"p", b"t", b"b", b"s"
_USUAL_ORDER: Final = [_KIND, _PROGRAM, _APPENDED_AT, _BODY]
_END_OF_TIME_US: Final = 1_000 << 43  # of offsets


def entry_fields(
    kind: str, program_id: str, appended_at: int, body: bytes, seal: bytes = b""
) -> tuple[bytes | str | int, ...]:
    """The names and values of an entry's fields, alternating."""
    fields = (_KIND, str(kind), _PROGRAM, program_id, _APPENDED_AT, appended_at, _BODY, body)
    return (*fields, _SEAL, seal) if seal else fields


def read_entry(shard: int, offset: int, pairs: list[bytes]) -> LogEntry | None:
    """The entry of alternating names and values, in any order; None when they are not those of an entry."""
    try:
        if pairs[::2] == _USUAL_ORDER:
            _, kind, _, program_id, _, at_text, _, body = pairs
            seal = b""
        else:
            fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
            kind, at_text, body = fields[_KIND], fields[_APPENDED_AT], fields[_BODY]
            program_id, seal = fields.get(_PROGRAM, b""), fields.get(_SEAL, b"")
        appended_at = int(at_text)
        entry = LogEntry(shard, offset, kind.decode(), program_id.decode(), appended_at, body, seal)
    except (KeyError, ValueError):
        return None
    return entry if 0 <= appended_at < _END_OF_TIME_US else None
