"""One row of the feature catalogue."""

from types import NoneType
from typing import Final, NamedTuple, get_args

import msgspec

from clearhold.features.catalogue.vector import FeatureVector

THE_TRANSFER: Final = "the transfer itself"
ALL_HISTORY: Final = "all history"

_WORDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_TYPES: Final = {
    field.name: next(_WORDS[kind] for kind in get_args(field.type) or (field.type,) if kind is not NoneType)
    for field in msgspec.structs.fields(FeatureVector)
}


class Feature(NamedTuple):
    """The names of a feature, its unit and window, and its meaning; its type is that of the vector's field."""

    name: str
    column: str
    unit: str
    window: str
    meaning: str

    @property
    def type(self) -> str:
        return _TYPES[self.column]
