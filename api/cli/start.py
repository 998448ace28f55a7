"""The ``clearhold`` program: it loads its commands, and runs the one that is named."""

from flows.own_python import loaded


def main() -> None:
    loaded("api.cli.main").main()
