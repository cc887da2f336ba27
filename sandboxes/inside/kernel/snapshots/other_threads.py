"""Other threads of the session, which may use what a snapshot looks at while it does."""

import os
import sys

from .singletons import is_of_session


def run_code_of_cells() -> bool:
    """Whether another thread is in a function that a cell or a file of the session defines, however deep.

    Threads of libraries that wait for work (pools, progress bars) are in none; they get none while a snapshot is taken.
    """
    own = sys._getframe()
    for frame in sys._current_frames().values():
        at = frame if frame is not own else None
        while at is not None:
            path = at.f_code.co_filename
            if is_of_session(path) or (not os.path.isabs(path) and not path.startswith("<frozen ")):
                return True
            at = at.f_back
    return False
