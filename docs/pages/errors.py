"""``docs/errors.md``: the table of errors for people."""

from typing import Final

from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.operation import ANYWHERE
from clearhold.features.core.errors import FieldCode
from docs.pages.wrapping import paragraph

_INTRODUCTION: Final = """# Errors

Generated from `api/http/error_table.py`; run `make docs` after a change.

Every answer that is not a 2xx or a 304 is one object:

| Field | Meaning |
|---|---|
| `error` | the cause and the cure, for people; the wording may change |
| `code` | one of the table below, for programs; a code never changes its meaning |
| `fields` | on a 400: the `path` and `code` of each part that breaks a rule; empty when no part is to blame |
| `requestId` | as in the header `X-Request-Id`; the service's log names it too |

A `path` is dotted in a body, as in `transfer.amountCents`, and else the name of the parameter or header.

FIELD_CODES

`/docs` names the codes of each operation. Those marked * can answer any request.

| Code | Status | When it comes | What to do |
|---|---|---|---|
"""


def markdown() -> str:
    field_codes = ", ".join(f"`{code}`" for code in FieldCode)
    rows = [
        f"| `{code}`{' *' if code in ANYWHERE else ''} | {entry.status} | {entry.meaning} | {entry.cure} |\n"
        for code, entry in ERRORS.items()
    ]
    return _INTRODUCTION.replace("FIELD_CODES", paragraph(f"The codes of fields are {field_codes}.")) + "".join(rows)
