"""The ``clearhold`` program: loads its commands and runs the named one."""

from clearhold.flows.running.own_python import loaded


def main() -> None:
    loaded("clearhold.api.cli.main").main()
