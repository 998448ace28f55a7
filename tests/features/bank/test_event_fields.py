"""The tables of fields are what the readers read: no field more, none less, of the same types."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.bank.event_fields import (
    ACCOUNT_FIELDS,
    COUNTERPARTY_FIELDS,
    DISPUTE_FIELDS,
    ENTITY_FIELDS,
    TRANSFER_FIELDS,
    EventField,
    transfer_fields,
)
from clearhold.features.bank.events import BankObject, Text, WholeCents
from clearhold.features.bank.fields import CENTS, FLAG, OBJECT, OBJECTS
from clearhold.features.bank.parties import read_account, read_counterparty, read_entity
from clearhold.features.bank.transfers import EventKind, read_dispute, read_transfer
from clearhold.features.core.vocabulary import Rail
from tests.support.clock import T0

FILLED: Final = "1"
UNREAD: Final = {"category"}  # decoded and not read by any rail


class Recording(dict[str, Any]):
    """An object that has every field, and remembers the paths that were looked up in it."""

    def __init__(self, values: Mapping[str, Any], seen: set[str], path: str = "") -> None:
        super().__init__(values)
        self._seen, self._path = seen, path

    def get(self, name: str, default: Any = None) -> Any:
        path = f"{self._path}{name}"
        self._seen.add(path)
        value = super().get(name, default)
        return Recording(value, self._seen, f"{path}.") if isinstance(value, dict) else value


def paths_of(fields: Iterable[EventField], path: str = "") -> Iterator[str]:
    for field in fields:
        yield f"{path}{field.name}"
        yield from paths_of(field.inside, f"{path}{field.name}.")


def skeleton(fields: Iterable[EventField], leaf: object) -> dict[str, Any]:
    """An object with all the nested ones that the table names, and this value in every other field."""
    return {each.name: skeleton(each.inside, leaf) if each.inside else leaf for each in fields}


PARTIES: Final[dict[str, tuple[tuple[EventField, ...], Callable[[dict[str, Any]], object]]]] = {
    "entity": (ENTITY_FIELDS, lambda data: read_entity("created", data, appended_at=T0)),
    "counterparty": (COUNTERPARTY_FIELDS, lambda data: read_counterparty(data, appended_at=T0)),
    "account": (ACCOUNT_FIELDS, lambda data: read_account("frozen", data, appended_at=T0)),
    "dispute": (DISPUTE_FIELDS, lambda data: read_dispute("dispute.closed", data)),
}


@pytest.mark.parametrize("name", PARTIES)
def test_given_the_object_of_a_party_when_it_is_read_then_the_fields_looked_up_are_those_of_its_table(
    name: str,
) -> None:
    fields, read = PARTIES[name]
    seen: set[str] = set()
    for leaf in (None, FILLED):  # what is absent leads to the next name of the same
        data = skeleton(fields, leaf)
        for identified in (data, data | {"id": "x_1"}, data | {"bank_account_id": "x_1"}):
            read(Recording(identified, seen))

    assert seen == set(paths_of(fields))


class RecordingObject:
    """A transfer's object that remembers which of its fields were read."""

    def __init__(self, data: BankObject, seen: set[str]) -> None:
        self._data, self._seen = data, seen

    def __getattr__(self, name: str) -> Any:
        self._seen.add(name)
        value = getattr(self._data, name)
        return Recording(value, self._seen, f"{name}.") if isinstance(value, dict) else value


def objects(rail: Rail) -> Iterator[BankObject]:
    fields = transfer_fields(rail)
    nested: dict[str, Any] = {each.name: skeleton(each.inside, None) for each in TRANSFER_FIELDS if each.inside}
    filled: dict[str, Any] = {each.name: FILLED for each in TRANSFER_FIELDS if each.kind.schema.get("type") == "string"}
    for status in (None, "RETURNED"):
        yield BankObject(id="x_1", status=status)
        yield BankObject(id="x_1", status=status, **nested)
        yield BankObject(id="x_1", status=status, return_details={"return_code": "R01"})
        yield BankObject(**filled | nested | {"id": "x_1", "status": status})
        yield BankObject(**filled | {"settled_currency_code": "USD", "instructed_currency_code": "USD"} | {"id": "x_1"})
    assert fields


@pytest.mark.parametrize("rail", Rail)
def test_given_a_rail_when_its_transfers_are_read_then_the_fields_looked_up_are_those_of_its_table(rail: Rail) -> None:
    seen: set[str] = set()
    for middle in ("incoming_transfer", "outgoing_transfer"):
        for suffix in ("initiated", "returned"):
            for data in objects(rail):
                for settled in (data.settled_amount, 5):
                    recording = RecordingObject(msgspec.structs.replace(data, settled_amount=settled), seen)
                    kind = EventKind(rail, middle, suffix)
                    assert read_transfer(kind, recording, event_at=T0, appended_at=T0)  # type: ignore[arg-type]

    assert seen == set(paths_of(transfer_fields(rail)))


def test_given_the_object_of_a_transfer_when_it_is_decoded_then_its_types_are_those_of_the_table() -> None:
    types = {field.name: field.type for field in msgspec.structs.fields(BankObject)}
    of_kind = {CENTS.words: WholeCents | None, FLAG.words: bool | None, OBJECT.words: Any, OBJECTS.words: Any}
    texts = (Text | None, str | None)

    assert set(types) - UNREAD == {each.name for each in TRANSFER_FIELDS}
    for each in TRANSFER_FIELDS:
        assert types[each.name] in ((of_kind[each.kind.words],) if each.kind.words in of_kind else texts), each.name
