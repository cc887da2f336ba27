"""Entering a control group while something else is done: the system takes milliseconds for it, and merely waits."""

import os
import threading
from collections.abc import Iterable


class Entering:
    """The entering of groups by this process, which has begun and goes on in a thread.

    Args:
        doors: Descriptors of their `cgroup.procs`; closed once they are entered.
    """

    def __init__(self, doors: Iterable[int]) -> None:
        self._doors = tuple(doors)
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._enter)
        if self._doors:
            self._thread.start()

    def _enter(self) -> None:
        try:
            for door in self._doors:
                os.write(door, b"0")
        except OSError as error:
            self._error = error

    def end(self) -> None:
        """Wait until it is in all of them; only then a child is, too.

        Raises:
            OSError: it is refused.
        """
        if self._doors:
            self._thread.join()
        for door in self._doors:
            os.close(door)
        if self._error is not None:
            raise OSError(self._error.errno, f"its control group: {self._error}")
