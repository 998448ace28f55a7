"""The answers of rescoring."""

from typing import Annotated

import msgspec

from clearhold.features.core.words import about


class TransfersRescored(msgspec.Struct, frozen=True, kw_only=True):
    """``scored`` counts every transfer of the program, including those whose score did not change."""

    scored: Annotated[int, about("How many transfers were scored again.")]
