"""What is wrong with a thread that was named."""


class ThreadError(Exception):
    """The thread does not exist, is ambiguous, busy, or not in a state for this; the message is one sentence."""
