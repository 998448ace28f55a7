"""Settings that a person types into a form: YAML, which JSON is too."""

from typing import Any

import msgspec
from anyio import to_thread

from clearhold.api.http.yaml_documents import MAX_KEY, FaultyFileError, read_yaml
from clearhold.features.core.errors import FieldCode, invalid


async def typed_yaml(text: str, field: str, *, longest_key: int = MAX_KEY) -> Any:
    """The value, read as YAML 1.2 in a worker thread: the longest form takes a third of a second.

    InvalidRequestError with the line for a text that cannot be read; ``field`` is its name there.
    """
    try:
        value, _ = await to_thread.run_sync(lambda: read_yaml(text, longest_key=longest_key))
        msgspec.json.encode(value)
    except FaultyFileError as error:
        fault = error.faults[0]
        place = "" if fault.line is None else f" in line {fault.line}"
        raise invalid(field, f"cannot be read{place}: {fault.sentence}", FieldCode.MALFORMED) from error
    except UnicodeEncodeError as error:
        raise invalid(field, "has half of a letter (a surrogate), which is no text", FieldCode.MALFORMED) from error
    return value
