"""Host functions in a replay: calls are answered from the thread's record, and only what can be repeated is called."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from graph.checkpoints.journal import CallEntry, digest_of, recorded_calls
from graph.functions.host_functions import HostFunctions, Offer
from graph.state import Cell
from nodes.calls.recorded_calls import functions_called
from sandboxes.functions import Call, Description, Parameter, Raised, Returned
from stepwell.steps import Place

ANYTHING = (Parameter("arguments", "VAR_POSITIONAL"), Parameter("options", "VAR_KEYWORD"))


class Record:
    """What the cells of a thread called.

    Args:
        calls: By the number and the code of the cell.
        names: All functions that were called.
        offer: What is offered now.
        timeout: Seconds that a call may take.
    """

    def __init__(
        self,
        calls: Mapping[tuple[int, str], tuple[CallEntry, ...]],
        names: Iterable[str],
        offer: Offer,
        timeout: float,
    ) -> None:
        self._calls = calls
        self._offer = offer
        self._timeout = timeout
        unknown = sorted(set(names) - set(offer.functions))
        self._descriptions = [*offer.descriptions, *(Description(name, "", ANYTHING) for name in unknown)]

    @classmethod
    async def read(cls, saver: Any, thread: str, place: Place, functions: HostFunctions, timeout: float) -> Self:
        """Read it. Where no cell called anything, nothing is looked up and no server is asked.

        Raises:
            SettingsError: a server that offers functions cannot be reached.
        """
        cells: list[Cell] = place.state.get("cells") or []
        names = {name for cell in cells for name in functions_called(cell)}
        if not names or not isinstance(saver, BaseCheckpointSaver):
            return cls({}, (), Offer({}), timeout)
        at: RunnableConfig = place.config or {"configurable": {"thread_id": thread}}
        calls = await recorded_calls(saver, at)
        names |= {call.name for of_cell in calls.values() for call in of_cell}
        return cls(calls, names, await functions.ready(), timeout)

    def of(self, cell: Cell) -> "ReplayedCalls | None":
        """What a cell can call; None when no cell of the thread called anything."""
        if not self._descriptions:
            return None
        calls = self._calls.get((cell["number"], cell["code"]), ())
        return ReplayedCalls(self._descriptions, calls, self._offer, self._timeout)


class ReplayedCalls:
    """What is offered to one cell of a replay."""

    def __init__(
        self, descriptions: list[Description], recorded: Iterable[CallEntry], offer: Offer, timeout: float
    ) -> None:
        self.descriptions = descriptions
        self._record: dict[str, deque[Returned | Raised]] = defaultdict(deque)
        for call in recorded:
            if call.outcome is not None:
                self._record[call.digest].append(call.outcome)
        self._offer = offer
        self._timeout = timeout
        self.refused: list[str] = []
        """Functions that could not be answered for."""

    async def call(self, call: Call) -> Returned | Raised:
        """Answer a call; see `Functions.call`."""
        if recorded := self._record[digest_of(call)]:
            return recorded.popleft()
        function = self._offer.functions.get(call.name)
        if function is not None and function.repeatable and not function.needs_approval:
            return await self._offer.call(call, timeout=self._timeout)
        if call.name not in self.refused:
            self.refused.append(call.name)
        return Raised("functions are not called in a replay, and the thread's record does not have this call")
