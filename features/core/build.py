"""How the deciding part runs: compiled by those who built it so (``setup.py``), else as Python reads it."""

from typing import Final

BUILD: Final = "interpreted" if __file__.endswith(".py") else "compiled"
