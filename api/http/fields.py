r"""The types of the text fields of requests, each with its rule in words.

A pattern ends in ``$(?!\n)``: a bare ``$`` also matches before a trailing newline, and money or ids must not. It reads
the same in Python, in JSON Schema and in the OpenAPI document.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final
from uuid import UUID

from msgspec import Meta

from clearhold.features.core.money import RATE_PATTERN

TEXT_LIMIT: Final = 8_000
LIST_LIMIT: Final = 1_000
ID_LIMIT: Final = 255
FILTER_LIMIT: Final = 100
SEARCH_LIMIT: Final = 200
MUST_BE_UUID: Final = "must be a UUID"

UUID_TEXT: Final = r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$(?!\n)"
CENTS: Final = r"^(0|[1-9][0-9]{0,17})$(?!\n)"
SLUG: Final = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$(?!\n)"
CURRENCY: Final = r"^[A-Z]{3}$(?!\n)"
COUNTRY: Final = r"^[^\x00]{2,32}$(?!\n)"
"""And a code of a country: see ``api/http/validation.py``, as for the numbers of accounts and banks."""

CATEGORY: Final = r"^[0-9]{4}$(?!\n)"
US_STATE: Final = r"^[A-Za-z]{2}$(?!\n)"
ENTRY_MODE: Final = r"^[A-Za-z][0-9A-Za-z _-]{0,63}$(?!\n)"
KEY: Final = r"^[\x20-\x7E]+$(?!\n)"
NO_SPACES: Final = r"^[\x21-\x7E]+$(?!\n)"
HEADER_NAME: Final = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$(?!\n)"
ACCOUNT: Final = r"^[^\x00]{1,64}$(?!\n)"
ROUTING: Final = r"^[^\x00]{8,64}$(?!\n)"
BANK_ID: Final = r"^ *[^\x00-\x20\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$(?!\n)"
AROUND: Final = (
    r"^(transfer|entity|account|counterparty|agent|alert): *[^\x00-\x20\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$(?!\n)"
)
LISTED: Final = r"^[^\x00-\x1f\x7f-\x9f,]+$(?!\n)"
NO_NUL: Final = r"^[^\x00]*$(?!\n)"
NOT_BLANK: Final = r"^\s*[^\s\x00][^\x00]*$(?!\n)"
MOMENT: Final = r"^\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2}))?$(?!\n)"
DAY_BOUND: Final = r"^\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})|)$(?!\n)"
"""As MOMENT, for bounds of whole days: from is the midnight before, to the midnight after."""

WEEK: Final = r"^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$(?!\n)"
URL: Final = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00]+$(?!\n)"
SEARCH_LINE: Final = r"^ *[^\x00-\x20\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*[^\x00-\x20\x7f-\x9f] *$(?!\n)"
CURSOR: Final = r"^[A-Za-z0-9_-]+$(?!\n)"
PERSON: Final = (
    r"^(?! *([Kk][Ee][Yy]|[Pp][Oo][Ll][Ii][Cc][Yy]|[Oo][Pp][Ee][Rr][Aa][Tt][Oo][Rr]):)[ -~]*[!-~][ -~]*$(?!\n)"
)
"""The rule of the header X-Operator, for a person named in a body."""

ASSIGNEE: Final = PERSON.replace("^", r"^(?! *[Nn][Oo][Nn][Ee] *$(?!\n))", 1)
"""And not the word that filters have for unassigned alerts."""

POLICY_VERSION: Final = r"^[a-z]+-v[1-9][0-9]{0,5}$(?!\n)"

_MOMENT_RULE: Final = "must be a date-time with an offset, or a date, as in 2026-03-02T15:04:05Z or 2026-03-02"
RULE_OF_PATTERN: Final[Mapping[str, str]] = {
    UUID_TEXT: MUST_BE_UUID,
    CENTS: 'must be a string of digits, in cents: "9850" is 98.50',
    SLUG: "must be 1-64 lower-case letters, digits and inner hyphens",
    CURRENCY: "must be an ISO 4217 code of three capital letters, as in USD",
    COUNTRY: "must be an ISO 3166-1 country code, as in US",
    CATEGORY: "must be a merchant category code of four digits, as in 5411",
    US_STATE: "must be two letters of a state or territory of the US, as in TX",
    ENTRY_MODE: "must be a word of at most 64 letters, digits, - and _, as in ecommerce",
    KEY: "must be printable ASCII characters",
    NO_SPACES: "must be printable ASCII characters without spaces",
    HEADER_NAME: "must be the name of a header, as in Bank-Signature",
    ACCOUNT: "must be letters and digits",
    ROUTING: "must be a routing number of nine digits, or a BIC",
    NO_NUL: "must not have NUL characters",
    NOT_BLANK: "must have more than spaces, and no NUL characters",
    AROUND: "must be transfer, entity, account, counterparty, agent or alert, a colon and its id, as in entity:enti_1",
    BANK_ID: "must not be blank or have control characters",
    LISTED: "must not have control characters",
    MOMENT: _MOMENT_RULE,
    DAY_BOUND: _MOMENT_RULE,
    URL: "must begin with https://",
    SEARCH_LINE: "must have at least two characters between blanks, and no control characters",
    WEEK: "must be an ISO week that exists, as in 2026-W37",
    CURSOR: "must be a nextCursor of this service",
    POLICY_VERSION: "must be a kind of policy and a number, as in clock-v2",
    RATE_PATTERN: 'must be a decimal number above zero in a string, as in "1.0871", at most 999999 with 12 decimals',
    PERSON: "must be printable ASCII characters, and must not start with key:, policy: or operator:",
    ASSIGNEE: "must be printable ASCII characters, and must not be none or start with key:, policy: or operator:",
}

Text = Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, pattern=NO_NUL)]
Prose = Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, pattern=NOT_BLANK)]
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=NO_NUL)]
Slug = Annotated[str, Meta(pattern=SLUG)]
CentsText = Annotated[str, Meta(pattern=CENTS)]
CurrencyCode = Annotated[str, Meta(pattern=CURRENCY)]
CountryCode = Annotated[str, Meta(pattern=COUNTRY)]
CategoryCode = Annotated[str, Meta(pattern=CATEGORY)]
UsState = Annotated[str, Meta(pattern=US_STATE)]
EntryMode = Annotated[str, Meta(pattern=ENTRY_MODE)]
IdempotencyKeyText = Annotated[str, Meta(min_length=1, max_length=ID_LIMIT, pattern=KEY)]
BankKeyText = Annotated[str, Meta(min_length=8, max_length=200, pattern=NO_SPACES)]
BankSecretText = Annotated[str, Meta(min_length=16, max_length=ID_LIMIT, pattern=NO_SPACES)]
HeaderName = Annotated[str, Meta(min_length=1, max_length=64, pattern=HEADER_NAME)]
BankId = Annotated[str, Meta(min_length=1, max_length=ID_LIMIT, pattern=BANK_ID)]
Around = Annotated[str, Meta(max_length=ID_LIMIT + 13, pattern=AROUND)]
Listed = Annotated[str, Meta(min_length=1, max_length=ID_LIMIT, pattern=LISTED)]
ProgramId = Annotated[str, Meta(pattern=UUID_TEXT, extra_json_schema={"format": "uuid"})]
ProgramIds = Annotated[tuple[ProgramId, ...], Meta(min_length=1, max_length=FILTER_LIMIT)]
BankIds = Annotated[
    tuple[Listed, ...],
    Meta(
        min_length=1,
        max_length=FILTER_LIMIT,
        description="Any of these, separated by commas. A value that contains a comma cannot be given.",
    ),
]
MOST_ALERTS: Final = 200
AlertIds = Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=MOST_ALERTS)]
PersonName = Annotated[str, Meta(min_length=1, max_length=128, pattern=PERSON)]
AssigneeName = Annotated[str, Meta(min_length=1, max_length=128, pattern=ASSIGNEE)]
AccountLast4 = Annotated[str, Meta(pattern=ACCOUNT)]
RoutingNumber = Annotated[str, Meta(pattern=ROUTING)]
Moment = Annotated[str, Meta(pattern=MOMENT)]
DayBound = Annotated[str, Meta(pattern=DAY_BOUND)]
SearchLine = Annotated[str, Meta(min_length=2, max_length=SEARCH_LIMIT, pattern=SEARCH_LINE)]
CursorText = Annotated[str, Meta(min_length=1, max_length=1_024, pattern=CURSOR)]
PageLimit = Annotated[int, Meta(ge=1, le=100)]

_UUID: Final = re.compile(UUID_TEXT)


def is_uuid(text: str) -> bool:
    """The rule of ``UUID_TEXT``, for an id in a path."""
    return _UUID.match(text) is not None
