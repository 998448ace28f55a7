"""Countries, numbers and instants in requests, read as the events of the bank are: by the readers of ``features/core``.

``read_as_meant`` is for the ``__post_init__`` of a Struct. A value that cannot be read stays, and the rule refuses it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from clearhold.api.http.fields import ACCOUNT, COUNTRY, MOMENT, ROUTING, RULE_OF_PATTERN
from clearhold.api.http.validation import Failure
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.plain_text import country_of, last_four, routing_number

Reader = Callable[[str], str | None]
OF_COUNTERPARTY: Final[Mapping[str, Reader]] = {
    "routing_number": routing_number,
    "account_last4": last_four,
    "country_code": country_of,
}


def read_as_meant(request: msgspec.Struct, readers: Mapping[str, Reader]) -> None:
    """Replace each field by the value that it means."""
    for name, reader in readers.items():
        sent = getattr(request, name)
        if isinstance(sent, str):
            msgspec.structs.force_setattr(request, name, reader(sent) or sent)


def moment_failures(path: str, sent: object) -> Iterable[Failure]:
    """Fails for an instant that does not exist, such as a 31st of February."""
    if isinstance(sent, str) and parse_instant(sent) is None:
        yield Failure(path, RULE_OF_PATTERN[MOMENT])


def country_failures(path: str, sent: object) -> Iterable[Failure]:
    """Fails for a code of no country; the schema refuses values that are not text."""
    if isinstance(sent, str) and country_of(sent) is None:
        yield Failure(path, RULE_OF_PATTERN[COUNTRY], FieldCode.NOT_ONE_OF)


def counterparty_failures(path: str, sent: Mapping[str, Any]) -> Iterable[Failure]:
    """Fails for each detail of a counterparty that cannot be read."""
    yield from country_failures(f"{path}.countryCode", sent.get("countryCode"))
    for name, reader, pattern in (("routingNumber", routing_number, ROUTING), ("accountLast4", last_four, ACCOUNT)):
        value = sent.get(name)
        if isinstance(value, str) and reader(value) is None:
            yield Failure(f"{path}.{name}", RULE_OF_PATTERN[pattern])
