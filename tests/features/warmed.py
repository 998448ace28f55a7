"""A program with a history long enough for a policy to close alerts alone."""

from tests.features.watched import HOUR, Watched


def warmed() -> Watched:
    """210 quiet wires of one verified entity with one counterparty, nine hours apart, none like its neighbours."""
    watched = Watched().know("enti_1")
    for place in range(210):
        watched.wire("enti_1", "cpty_1", 100_00 + place % 20 * 20_00, place * 9 * HOUR)
    return watched
