"""The ``clearhold`` program: it loads its commands, and runs the one that is named."""

from clearhold.flows.running.own_python import loaded


def main() -> None:
    loaded("clearhold.api.cli.main").main()
