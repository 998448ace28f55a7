"""Ids that the sandbox made: no bank knows them, so no bank is queried for them."""

import re
from typing import Final

SANDBOX_TAG: Final = "sbx"
TAG_DIGITS: Final = 12
SANDBOX_ID: Final = rf"^[a-z]+_{SANDBOX_TAG}[0-9a-f]{{{TAG_DIGITS}}}"

_SANDBOX_ID: Final = re.compile(SANDBOX_ID)


def is_sandbox_id(party_id: str) -> bool:
    return _SANDBOX_ID.match(party_id) is not None
