"""Why nothing starts: one error of the store's, the sentence for the person at the command line."""


class StartupError(Exception):
    """Why the service cannot start: ``str(error)`` is one sentence for the person who starts it, and is what the
    command line prints. No caller of the API sees it.
    """
