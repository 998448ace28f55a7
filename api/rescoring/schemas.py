"""The answers of rescoring."""

import msgspec


class TransfersRescored(msgspec.Struct, frozen=True, kw_only=True):
    """``scored`` counts every transfer of the program, including those whose score did not change."""

    scored: int
