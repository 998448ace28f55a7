"""Countries in requests: the ISO 3166-1 alpha-2 codes that payments name."""

from collections.abc import Iterable

from clearhold.api.http.fields import COUNTRY, RULE_OF_PATTERN
from clearhold.api.http.validation import Failure
from clearhold.features.core.countries import COUNTRIES
from clearhold.features.core.errors import FieldCode


def country_failures(path: str, sent: object) -> Iterable[Failure]:
    """Fails for a code of no country; the schema refuses values that are not text."""
    if isinstance(sent, str) and sent not in COUNTRIES:
        yield Failure(path, RULE_OF_PATTERN[COUNTRY], FieldCode.NOT_ONE_OF)
