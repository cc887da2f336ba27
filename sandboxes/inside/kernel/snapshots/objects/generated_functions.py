"""Functions that attrs has generated for a class, with a copy of all variables for their globals.

Through the copy, a class leads to whatever variables held when it was made: lists that by now have its own objects in
them. Loaded with its methods, these would be made, and hashed, by a class that has no methods yet. So what a copy has
of the variables comes behind all else in its stream. What its functions name comes before, and what is the library's.
"""

from types import FunctionType
from typing import Any

from ..current_session import CurrentSession

GENERATED = "<attrs generated"
"""How the names of files begin that attrs says its code is in."""


class Copy:
    """Stands in a stream for a copy of all variables, and is loaded as a dictionary that is filled later.

    Args:
        space: The copy.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self._named: set[str] = set()
        self._written: set[str] = set()

    def name(self, function: FunctionType) -> None:
        """Note that a function needs what it names."""
        self._named.update(function.__code__.co_names)

    def __reduce__(self) -> Any:
        main = CurrentSession.main.__dict__
        self._written = {name for name in self.space if name in self._named or name not in main}
        early = [(name, value) for name, value in self.space.items() if name in self._written]
        return dict, (), None, None, iter(early)

    def rest(self) -> Any:
        """What fills it behind all else in the stream that it was written to last."""
        late = {name: value for name, value in self.space.items() if name not in self._written}
        return fill, (self, late, list(self.space))


def copy_for(pickler: Any, function: FunctionType) -> Copy | None:
    """What stands for the globals of a function of attrs; None: it is another's, or a variable has them."""
    space = function.__globals__
    if not function.__code__.co_filename.startswith(GENERATED) or id(space) in pickler.reducers.variables:
        return None
    copies = pickler.reducers.copies
    copy: Copy = copies.get(id(space)) or copies.setdefault(id(space), Copy(space))
    copy.name(function)
    pickler.copies.setdefault(id(space), copy)
    return copy


def fill(space: dict[str, Any], rest: dict[str, Any], order: list[str]) -> None:
    """Give a copy what it had of the variables, in its order."""
    whole = {**space, **rest}
    space.clear()
    space.update({name: whole[name] for name in order if name in whole})
