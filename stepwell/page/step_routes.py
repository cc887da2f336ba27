"""The steps of a thread: the tree, one step, its variables, going on from there, comparing two."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from graph.checkpoints.step_tree import Step
from graph.state import Variable
from stepwell.comparison import Changes, variable_changes
from stepwell.errors import ThreadError
from stepwell.exports.report import shown_cell
from stepwell.page.backend import Backend, ThreadView
from stepwell.page.forms import (
    MISTAKES,
    FormError,
    files_of,
    form_of,
    knobs_as_typed,
    knobs_of,
    knobs_sent,
    text_of,
)
from stepwell.page.rendering import backend_of, base_of, page
from stepwell.page.shown_thread import Addresses, figures_of, shown_answer, shown_thread
from stepwell.page.thread_routes import to_latest
from stepwell.page.variables import TABLE_FILES, VariableWindow
from stepwell.step_detail import StepDetail
from stepwell.steps import parse_step_name
from stepwell.thread_summaries import ANY

ROWS, COLUMNS = 100, 30
LAST = 10**9
OTHERS = 50
"""Threads that are offered to be compared with."""
TABLES = ("DataFrame", "LazyFrame", "Series", "ndarray", "Table")
TOOLS = ("function", "module", "type", "builtin_function_or_method", "method")
"""Types, as the table of variables names them."""


async def show_tree(request: Request) -> Response:
    """All steps of a thread, and a form to compare two."""
    thread = request.path_params["thread"]
    tree = await backend_of(request).steps(thread)
    lines = list(drawn(asked(tree.steps)))
    others = [one for one in await backend_of(request).threads(ANY, limit=OTHERS) if one.id != thread]
    way = {step.name for step in tree.line(tree.head)} if tree.head is not None else set()
    steps = list(tree.all())
    return await page(request, "steps.html.jinja", thread=thread, lines=lines, steps=steps, way=way, others=others)


def asked(steps: Sequence[Step]) -> list[Step]:
    """The steps, each with its question: before the step at which it began, a fork has no checkpoint that knows it."""
    later: dict[tuple[str, int], str] = {}
    found = []
    for step in reversed(steps):
        turn = step.cell["turn"] if step.cell is not None else 0
        later[step.branch, turn] = step.question or later.get((step.branch, turn), "")
        found.append(replace(step, question=later[step.branch, turn]))
    return found[::-1]


def by_use(rows: Sequence[Variable]) -> list[Variable]:
    """Variables as people look for them: tables first, functions and modules last, otherwise in their order."""

    def rank(row: Variable) -> int:
        return 0 if row["kind"] in TABLES else 2 if row["kind"] in TOOLS else 1

    return sorted(rows, key=rank)


def drawn(steps: Sequence[Step]) -> Iterator[tuple[int, bool, Step]]:
    """The steps in the order of a drawing: how far each is moved in, whether its question is new, the step.

    A branch stands right below the step that it leaves, moved in; the older line goes on below it.
    """
    known = {step.name: step for step in steps}
    after: dict[str, list[Step]] = {}
    for step in steps:
        after.setdefault(step.parent, []).append(step)
    waiting = [(step, 0) for step in reversed([step for step in steps if step.parent not in known])]
    while waiting:
        step, depth = waiting.pop()
        before = known.get(step.parent)
        yield depth, before is None or before.question != step.question, step
        below = after.get(step.name, [])
        waiting += [(older, depth) for older in below[:1]]
        waiting += [(branch, depth + 1) for branch in reversed(below[1:])]


async def show_step(request: Request) -> Response:
    """One step: its cell, its variables, its files, and forms to go on from there."""
    return await _step_page(request)


async def _step_page(
    request: Request,
    status: int = 200,
    *,
    problem: str = "",
    question: str = "",
    typed: dict[str, str] | None = None,
    code: str = "",
    refused: str = "",
) -> Response:
    backend, thread, name = backend_of(request), request.path_params["thread"], request.path_params["step"]
    detail = await backend.step(thread, name)
    tree = await backend.steps(thread)
    view = await backend.thread(thread)
    line = tree.line(detail.step)
    after = [step for step in tree.steps if step.parent == detail.step.name]
    cell = detail.step.cell
    base = base_of(request)
    figure = figures_of(base, thread, detail.step.name)
    files = f"{base}/threads/{thread}/steps/{detail.step.name}/files"
    kept = set(detail.files) if detail.snapshot else set()
    before = line[-2].name if len(line) > 1 else "0" if cell is not None else ""
    tried = await backend.tried(thread, name)
    return await page(
        request,
        "step.html.jinja",
        status,
        thread=thread,
        detail=detail,
        variables=by_use(detail.namespace),
        step=detail.step,
        cell=shown_cell(cell, figure, lambda path: f"{files}/{quote(path)}" * (path in kept))
        if cell is not None
        else None,
        before=before,
        changes=await _changes_at(backend, detail, before) if before else None,
        after=after,
        others=[step for step in tree.all() if step.name != detail.step.name],
        running=view.running,
        offer=await backend.offer(),
        typed=typed or knobs_as_typed(view.context),
        problem=problem,
        question=question,
        code=code or (tried[-1].code if tried else ""),
        refused=refused,
        tried=tried,
        tables=TABLE_FILES,
        busy=bool(tried) and not tried[-1].over,
    )


async def _changes_at(backend: Backend, detail: StepDetail, before: str) -> Changes | None:
    """What a step did to the variables; None where one of the two steps keeps no table of them."""
    earlier = await backend.step(detail.thread, before)
    if any(one.names and not one.namespace for one in (earlier, detail)):
        return None
    return variable_changes(earlier.namespace, detail.namespace)


async def show_variable(request: Request) -> Response:
    """A variable at a step: of a table some rows and columns, sorted by one where that is asked for."""
    asked, backend = request.path_params, backend_of(request)
    row = _place(request, "at", 1) - 1 if request.query_params.get("at") else _place(request, "row")
    sort, down = _place(request, "sort", -1), bool(request.query_params.get("down"))
    window = VariableWindow(max(row, 0), _place(request, "column"), ROWS, COLUMNS, sort, down)
    found = await backend.variable(asked["thread"], asked["step"], asked["name"], window)
    if found.rows and window.row >= found.rows:
        window = replace(window, row=(found.rows - 1) // ROWS * ROWS)
        found = await backend.variable(asked["thread"], asked["step"], asked["name"], window)
    return await page(request, "variable.html.jinja", thread=asked["thread"], step=asked["step"], one=found)


def _place(request: Request, name: str, otherwise: int = 0) -> int:
    given = request.query_params.get(name, "")
    return min(int(given), LAST) if given.isdecimal() and len(given) < 12 else otherwise


async def go_on_from(request: Request) -> Response:
    """Asks from here, forks, or goes back."""
    backend, thread, step = backend_of(request), request.path_params["thread"], request.path_params["step"]
    async with form_of(request, most=(await backend.offer()).max_upload) as form:
        what, question = text_of(form, "what"), text_of(form, "question").strip()
        if what not in ("ask", "fork", "back"):
            raise FormError("Say whether to ask from here, to fork, or to go back.")
        if what == "ask" and not question:
            return await _step_page(request, 422, problem="Say what should be done from here on.")
        here = what != "fork"
        try:
            knobs = knobs_of(form)
            files = await files_of(form, backend)
            if (await backend.thread(thread)).running:
                raise ThreadError("This thread is being worked on; wait for the end, or stop it first.")
            there = await backend.fork(thread, step, here=here, new_turn=bool(question) and what != "back")
            if question and what != "back":
                await backend.start(question, [one.file for one in files], knobs, thread=there)
        except MISTAKES as error:
            return await _step_page(request, 422, problem=str(error), question=question, typed=knobs_sent(form))
    return to_latest(request, there)


async def try_out(request: Request) -> Response:
    """Runs what was typed at the prompt of a step."""
    asked = request.path_params
    async with form_of(request) as form:
        code = text_of(form, "code")
    if not code.strip():
        return await _step_page(request, 422, code=code, refused="There is no code to run.")
    try:
        await backend_of(request).try_out(asked["thread"], asked["step"], code)
    except ThreadError as error:
        return await _step_page(request, 409, code=code, refused=str(error))
    return _to_prompt(request)


async def stop_trying(request: Request) -> Response:
    """Interrupts what runs at the prompt of a step."""
    await backend_of(request).stop_trying(request.path_params["thread"], request.path_params["step"])
    return _to_prompt(request)


def _to_prompt(request: Request) -> Response:
    asked = request.path_params
    return RedirectResponse(f"{base_of(request)}/threads/{asked['thread']}/steps/{asked['step']}#prompt", 303)


async def compare(request: Request) -> Response:
    """Two steps side by side."""
    backend = backend_of(request)
    names = [request.query_params.get(side, "").strip() for side in ("a", "b")]
    sides = [parse_step_name(name) for name in names]
    if not all(thread for thread, _ in sides):
        raise FormError("Name two steps to compare, each as THREAD@STEP.")
    places = [(thread, step or "") for thread, step in sides]
    difference = await backend.compare(places[0], places[1])
    views: list[ThreadView] = [await backend.thread(thread, step) for thread, step in places]
    base, common = base_of(request), difference.cells_in_common
    shown = [
        await asyncio.to_thread(_side, view, base, common, prefix)
        for view, prefix in zip(views, ("a-", "b-"), strict=True)
    ]
    return await page(request, "compare.html.jinja", names=names, one=difference, sides=shown)


def _side(view: ThreadView, base: str, common: int, prefix: str) -> dict[str, object]:
    """What stands on one side: the cells after those in common, and the answer, whose numbers lead to these cells."""
    whole = shown_thread(view, base)
    cells = [cell for turn in whole.turns for cell in turn.cells if cell.number > common]
    answer = str(shown_answer(view, base)).replace('href="#cell-', f'href="#{prefix}cell-')
    safe = Markup(answer)  # noqa: S704 - it was made harmless
    figures = whole.figures.get(whole.turns[-1].number, ()) if whole.turns and answer else ()
    title = view.name or whole.title
    shown = {"view": view, "title": title, "cells": cells, "answer": safe, "figures": figures, "prefix": prefix}
    addresses = Addresses(base, view)
    return {**shown, "variable": addresses.variable, "file": addresses.file}


routes = [
    Route("/threads/{thread}/steps", show_tree),
    Route("/threads/{thread}/steps/{step}", show_step, methods=["GET"]),
    Route("/threads/{thread}/steps/{step}", go_on_from, methods=["POST"]),
    Route("/threads/{thread}/steps/{step}/prompt", try_out, methods=["POST"]),
    Route("/threads/{thread}/steps/{step}/prompt/stop", stop_trying, methods=["POST"]),
    Route("/threads/{thread}/steps/{step}/variables/{name:path}", show_variable),
    Route("/compare", compare),
]
