"""The meaning of a field, written beside it for the API document. It validates nothing."""

from msgspec import Meta


def about(words: str) -> Meta:
    return Meta(description=words)


def minted(noun: str) -> Meta:
    """The description of an id that is made here: a UUID."""
    return about(f"The {noun}'s id, minted here.")
