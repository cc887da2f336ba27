"""The outputs of a cell one by one, as pages, reports and notebooks show them; models read `Cell.observation`."""

from collections.abc import Iterator

from graph.state import Cell, CellOutput
from nodes.prompts.observation import HEADER, TRACEBACK_CHARS, shorten
from sandboxes.results import CellResult, Display

TEXT_KEPT = 8_000
"""Characters of all texts of a cell that State keeps."""
HTML_KEPT = 20_000
"""Characters of all its HTML. A table that is longer is kept as text alone: cut HTML would show something else."""
MOST_OUTPUTS = 50


def outputs_of(result: CellResult) -> list[CellOutput]:
    """What a cell printed and showed, within bounds.

    What was printed comes first: when a display was shown among the printed lines is not known. Short texts are kept
    whole, and long ones share the room that these leave.
    """
    every = list(_outputs(result))
    found, html_room = every[:MOST_OUTPUTS], HTML_KEPT
    for output, room in zip(found, _shares([len(one["text"]) for one in found]), strict=True):
        output["text"] = shorten(output["text"], room)
        html = output.get("html", "")
        if len(html) > html_room:
            del output["html"]
        else:
            html_room -= len(html)
    if left_out := len(every) - len(found):
        more = "1 more output" if left_out == 1 else f"{left_out} more outputs"
        found.append(CellOutput(kind="stderr", text=f"… {more} left out …\n"))
    return found


def _shares(lengths: list[int]) -> list[int]:
    shares, room = [0] * len(lengths), TEXT_KEPT
    for done, index in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        shares[index] = min(lengths[index], room // (len(lengths) - done))
        room -= shares[index]
    return shares


def outputs_shown(cell: Cell) -> list[CellOutput]:
    """The outputs of a cell, those of a thread of an older version too."""
    if (outputs := cell.get("outputs")) is not None:
        return list(outputs)
    if cell["status"] == "rejected":
        return []
    text = HEADER.sub("", cell["observation"]).strip("\n")
    found = [CellOutput(kind="stdout", text=f"{text}\n")] if text and text != "(nothing was printed)" else []
    return [*found, *(CellOutput(kind="figure", text="", path=path) for path in cell["figures"])]


def printed_text(cell: Cell) -> str:
    """What a cell printed and showed as one text, for a terminal; its figures and its error stand elsewhere."""
    texts = [one["text"] for one in outputs_shown(cell) if one["kind"] not in ("figure", "error")]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts if text.strip())


def _outputs(result: CellResult) -> Iterator[CellOutput]:
    if result.stdout.text:
        yield CellOutput(kind="stdout", text=result.stdout.text)
    for display in result.displays:
        if display.text or display.html or display.path:
            yield _shown(display)
    if result.stderr.text:
        yield CellOutput(kind="stderr", text=result.stderr.text)
    if result.error is not None:
        text = result.error.traceback.strip("\n") or f"{result.error.name}: {result.error.message}"
        yield CellOutput(kind="error", text=shorten(text, 2 * TRACEBACK_CHARS))


def _shown(display: Display) -> CellOutput:
    output = CellOutput(kind=display.kind, text=display.text)
    if display.html:
        output["html"] = display.html
    if display.path:
        output["path"] = display.path
    return output
