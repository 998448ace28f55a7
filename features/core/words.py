"""The meaning of a field in words, beside the field: the API document shows it. It validates nothing."""

from msgspec import Meta


def about(words: str) -> Meta:
    return Meta(description=words)


def minted(noun: str) -> Meta:
    """The words of an id that is made here: a UUID."""
    return about(f"The {noun}'s id, minted here.")
