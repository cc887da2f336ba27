"""Ask two questions about one file, and print what happens on the way: `python examples/follow_up.py`."""

import asyncio
from pathlib import Path

import stepwell
from graph.events import CellFinished, Finished

DATA = Path(__file__).parent / "birdstrikes.csv"


async def main() -> None:
    """The second question goes on with the variables of the first."""
    thread = None
    for question in ("What stands out in these records?", "How do Speed IAS in knots and Wildlife Size go together?"):
        async for event in stepwell.stream(question, files=[] if thread else [str(DATA)], thread=thread):
            match event:
                case CellFinished(cell=cell):
                    print(f"  {cell['number']}. {cell['purpose']}: {cell['status']}")
                case Finished():
                    thread = event.thread
                    print(event.answer, *(artifact["url"] for artifact in event.artifacts), sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
