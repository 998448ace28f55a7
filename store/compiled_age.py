"""Whether the compiled part of ``features`` is older than what it was made from: Python runs it all the same."""

from pathlib import Path
from typing import Final

import features

_CHECKOUT: Final = Path(features.__file__).parents[1]


def changed_since_compiled(checkout: Path = _CHECKOUT) -> list[str]:
    """The modules whose source is newer than their extension; none of an installed wheel, where sources stay."""
    if not (checkout / "setup.py").exists():
        return []
    return [
        str(source.relative_to(checkout))
        for extension in sorted((checkout / "features").rglob("*.so"))
        if (source := extension.with_name(f"{extension.name.partition('.')[0]}.py")).exists()
        and extension.stat().st_mtime < source.stat().st_mtime
    ]
