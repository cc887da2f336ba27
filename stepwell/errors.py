"""What the command and the Python API refuse: each message is one sentence."""


class ThreadError(Exception):
    """The thread does not exist, is ambiguous, busy, or not in a state for this."""


class UsageError(Exception):
    """The command was used wrongly; the message says what to do."""
