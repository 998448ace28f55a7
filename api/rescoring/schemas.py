"""What rescoring answers with."""

import msgspec


class TransfersRescored(msgspec.Struct, frozen=True, kw_only=True):
    """``scored`` counts every transfer of the program, also those whose score stayed what it was."""

    scored: int
