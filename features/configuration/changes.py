"""The difference between two configurations: each added, changed and removed file, field by field; which changes need a
second person; and removals that are not possible.

A change that only narrows needs one person, as on its own route: a rule that is taken out of force, and endpoints.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.features.configuration.files import ALWAYS_THERE, ConfigFile, FileKind, path_of, place_of
from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.vocabulary import about

MISSING: Final = "is missing: every tenant has this policy. clearhold config export writes it"
NOT_REMOVABLE: Final = (
    "cannot be removed: a program that has its own policy keeps one. Write the tenant's values into it instead"
)

MOST_RECORDED_BYTES: Final = 32 * 1024
"""Of the fields that differ, in the record of one application; digests are recorded of every file."""
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


class ChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field before and after; left out where it is not there."""

    field: Annotated[str, about("The path of the field in its file, such as when[0].value.")]
    before: Annotated[Any, about("Its value in force; left out where it has none.")] = msgspec.UNSET
    after: Annotated[Any, about("Its value afterwards; left out where it has none.")] = msgspec.UNSET


class FileChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of one file."""

    path: Annotated[str, about("The file.")]
    kind: Annotated[FileKind, about("What the file sets.")]
    change: Annotated[ChangeKind, about("Whether the file is added, changed or removed.")]
    needs_second_person: Annotated[bool, about("Whether it takes effect only with the approval of another person.")]
    fields: Annotated[tuple[FieldDifference, ...], about("The fields that differ.")]


def changes_between(before: Iterable[ConfigFile], after: Iterable[ConfigFile]) -> tuple[FileChange, ...]:
    """The changes from one configuration to the other, in the order of paths."""
    old, new = ({file.path: file.value for file in files} for files in (before, after))
    changed = (path for path in sorted(old.keys() | new.keys()) if not _is_same(old.get(path), new.get(path)))
    return tuple(_change(path, old.get(path), new.get(path)) for path in changed)


def recorded_changes(
    changes: Iterable[FileChange], before: Iterable[ConfigFile], after: Iterable[ConfigFile]
) -> list[dict[str, Any]]:
    """The changes for the record and the approver: digests, and the fields that differ unless they are many."""
    old, new = ({file.path: file.value for file in files} for files in (before, after))
    recorded: list[dict[str, Any]] = []
    room = MOST_RECORDED_BYTES
    for each in changes:
        fields = msgspec.to_builtins(each.fields)
        room -= len(_ENCODE(fields))
        recorded.append(
            {
                "path": each.path,
                "change": each.change.value,
                "beforeSha256": _sha256_in(old, each.path),
                "afterSha256": _sha256_in(new, each.path),
                "fields": fields if room >= 0 else None,
            }
        )
    return recorded


def removal_faults(before: Iterable[ConfigFile], after: Iterable[ConfigFile]) -> Iterator[tuple[str, str]]:
    """Each file that has to stay and is not there, with the reason."""
    paths = {file.path for file in after}
    for prefix in ALWAYS_THERE:
        if path_of(prefix, None) not in paths:
            yield path_of(prefix, None), MISSING
    for file in before:
        place = place_of(file.path)
        if place is not None and place.slug is not None and place.kind is FileKind.POLICY and file.path not in paths:
            yield file.path, NOT_REMOVABLE


def _change(path: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> FileChange:
    place = place_of(path)
    assert place is not None, "a file of a configuration has a place"
    added_or_changed = ChangeKind.ADDED if before is None else ChangeKind.CHANGED
    change = ChangeKind.REMOVED if after is None else added_or_changed
    narrows = place.kind is FileKind.WEBHOOK or (place.kind is FileKind.RULE and change is ChangeKind.REMOVED)
    return FileChange(
        path=path,
        kind=place.kind,
        change=change,
        needs_second_person=not narrows,
        fields=tuple(_differences(before or {}, after or {})),
    )


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldDifference]:
    old, new = dict(_leaves(before, "")), dict(_leaves(after, ""))
    for field in dict.fromkeys((*old, *new)):
        values = old.get(field, msgspec.UNSET), new.get(field, msgspec.UNSET)
        if not _is_same(*values):
            yield FieldDifference(field=field, before=values[0], after=values[1])


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every field that has no fields, with its path; a list of single values is one field."""
    if isinstance(value, dict) and (value or not path):
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for index, each in enumerate(value):
            yield from _leaves(each, f"{path}[{index}]")
    else:
        yield path, value


def _is_same(one: Any, other: Any) -> bool:
    """Equality by type too: 1 is not true."""
    if one is other:
        return True
    absent = (None, msgspec.UNSET)
    return one not in absent and other not in absent and _ENCODE(one) == _ENCODE(other)


def _sha256_in(values: Mapping[str, dict[str, Any]], path: str) -> str | None:
    value = values.get(path)
    return None if value is None else digest_of(canonical(value))
