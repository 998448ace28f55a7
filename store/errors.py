"""The store's one error of a start: a sentence for the person at the command line."""


class StartupError(Exception):
    """The service cannot start: ``str(error)`` is one sentence for the person who starts it, printed by the command
    line. No caller of the API sees it.
    """
