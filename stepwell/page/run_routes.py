"""Asking, following, stopping, going on, deciding."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from graph.context import Context
from graph.events import ApprovalAsked
from stepwell.errors import ThreadError
from stepwell.exports.report import difference as unified
from stepwell.page.forms import (
    MISTAKES,
    FormError,
    decision_of,
    files_of,
    fingerprint,
    form_of,
    knobs_as_typed,
    knobs_of,
    knobs_sent,
    text_of,
)
from stepwell.page.progress import Progress
from stepwell.page.rendering import about, as_event, backend_of, base_of, page, part
from stepwell.page.shown_thread import figures_of, live_cell
from stepwell.page.thread_routes import thread_page, to_latest

PAUSE = 0.15
"""Seconds between two messages to a browser: what happens meanwhile comes together."""
ALIVE = 15.0
"""Seconds after which something is sent in any case, so that a connection that is gone is noticed."""


async def new_question(request: Request) -> Response:
    """The form for a question on a new thread."""
    offer = await backend_of(request).offer()
    typed = knobs_as_typed(Context())
    return await page(request, "new.html.jinja", offer=offer, typed=typed, question="", files=(), problem="")


async def ask_new(request: Request) -> Response:
    """Asks it."""
    backend = backend_of(request)
    offer = await backend.offer()
    async with form_of(request, most=offer.max_upload) as form:
        question, files = text_of(form, "question"), []
        try:
            files = await files_of(form, backend)
            thread = await backend.start(question, [one.file for one in files], knobs_of(form))
        except MISTAKES as error:
            values = {"offer": offer, "typed": knobs_sent(form), "question": question, "files": files}
            return await page(request, "new.html.jinja", 422, problem=str(error), **values)
    return _back(request, thread)


async def ask_on(request: Request) -> Response:
    """Asks a further question."""
    backend, thread = backend_of(request), request.path_params["thread"]
    async with form_of(request, most=(await backend.offer()).max_upload) as form:
        question, files = text_of(form, "question"), []
        try:
            files = await files_of(form, backend)
            await backend.start(question, [one.file for one in files], knobs_of(form), thread=thread)
        except MISTAKES as error:
            view = await backend.thread(thread)
            if view.running or view.status != "finished":  # it has no form to ask by
                older = isinstance(error, ThreadError)
                status = 409 if older else 422
                return await thread_page(request, view, status, moved=str(error), older=older, question=question)
            return await thread_page(
                request, view, 422, problem=str(error), question=question, files=files, typed=knobs_sent(form)
            )
    return to_latest(request, thread)


async def resume(request: Request) -> Response:
    """Goes on with a thread that was paused or has failed."""
    thread = request.path_params["thread"]
    async with form_of(request) as form:
        knobs = knobs_of(form)
    try:
        await backend_of(request).resume(thread, knobs)
    except ThreadError as error:
        view = await backend_of(request).thread(thread)
        if not view.running and view.status in ("paused", "failed"):
            raise
        return await thread_page(request, view, 409, moved=str(error))
    return to_latest(request, thread)


async def stop(request: Request) -> Response:
    """Pauses what runs."""
    thread = request.path_params["thread"]
    await backend_of(request).stop(thread)
    return to_latest(request, thread)


async def decide(request: Request) -> Response:
    """Approves, edits or rejects what waits."""
    backend, thread = backend_of(request), request.path_params["thread"]
    async with form_of(request) as form:
        view = await backend.thread(thread)
        if view.asked is None:
            said = "Nothing in this thread waits for a decision any more."
            return await thread_page(request, view, 409, moved=said, edited=text_of(form, "code"))
        try:
            knobs = {"approval": "none"} if text_of(form, "rest") else {}
            await backend.resume(thread, knobs, decision_of(form, view.asked))
        except FormError as error:
            edited = text_of(form, "code")
            difference = _difference(view.asked, edited) if edited else ""
            return await thread_page(request, view, 409, problem=str(error), edited=edited, difference=difference)
    return to_latest(request, thread)


async def look_at_edit(request: Request) -> Response:
    """The thread again, with what an edit would change; nothing is decided."""
    backend, thread = backend_of(request), request.path_params["thread"]
    async with form_of(request) as form:
        edited = text_of(form, "code")
    view = await backend.thread(thread)
    if view.asked is None:
        return to_latest(request, thread)
    return await thread_page(request, view, edited=edited, difference=_difference(view.asked, edited))


async def difference(request: Request) -> Response:
    """What an edit would change, for a page that shows it already."""
    async with form_of(request) as form:
        edited, of = text_of(form, "code"), text_of(form, "of")
    asked = (await backend_of(request).thread(request.path_params["thread"])).asked
    if asked is None or fingerprint(asked) != of:
        raise ThreadError("Something else waits now; load the page again.")
    text = _difference(asked, edited)
    return HTMLResponse(await asyncio.to_thread(part, "page.html.jinja", "diff", about(request), text))


def _difference(asked: ApprovalAsked, edited: str) -> str:
    return unified("\n".join(asked.plan) if asked.plan is not None else asked.code, edited)


async def events(request: Request) -> Response:
    """What a run does, as server-sent events: parts of the page by their ids, and `end`."""
    backend, thread = backend_of(request), request.path_params["thread"]
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    number = int(seen) if seen.isdecimal() and len(seen) < 10 else 0
    changes = aiter(backend.changes(thread))
    coming = asyncio.ensure_future(anext(changes))
    await asyncio.wait([coming], timeout=ALIVE)
    error = coming.exception() if coming.done() else None
    if error is not None and not isinstance(error, StopAsyncIteration):
        raise error  # while it can be told with a status
    stream = _events(request, thread, request.query_params.get("run", ""), number, changes, coming)
    return StreamingResponse(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")


async def _events(
    request: Request,
    thread: str,
    run: str,
    seen: int,
    changes: AsyncIterator[Progress],
    coming: asyncio.Future[Progress] | None,
) -> AsyncIterator[bytes]:
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(changes))
            done, _ = await asyncio.wait([coming], timeout=ALIVE)
            if not done:
                yield b": alive\n\n"
                continue
            try:
                progress = coming.result()
            except StopAsyncIteration:
                break
            coming = None
            if str(progress.began) != run:
                break  # another run than the one that the page shows
            now = progress.copied()  # it goes on while this is rendered beside the event loop
            for message in await asyncio.to_thread(_messages, request, thread, now, seen):
                yield message
            seen = now.seen
            await asyncio.sleep(PAUSE)
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait([coming])
    yield as_event("end", seen, {})


def _messages(request: Request, thread: str, progress: Progress, seen: int) -> list[bytes]:
    """The parts of the page that have changed."""
    return list(_changed_parts(request, thread, progress, seen))


def _changed_parts(request: Request, thread: str, progress: Progress, seen: int) -> Iterator[bytes]:
    figure = figures_of(base_of(request), thread)
    values = about(request)
    ended = {cell["number"]: cell for cell in progress.cells}
    running = progress.running
    for name in progress.changed_since(seen):
        kind, _, number = name.partition("-")
        parent = ""
        if kind == "cell" and running is not None and running.number == int(number):
            html, parent = part("page.html.jinja", "running", values, running), "cells"
        elif kind == "cell" and int(number) in ended:
            html, parent = part("thread.html.jinja", "cell", values, live_cell(ended[int(number)], figure)), "cells"
        elif kind == "output":
            if running is None or running.number != int(number):
                continue
            html = part("page.html.jinja", "output", values, running)
        elif name == "inputs":
            html = part("page.html.jinja", name, values, progress.inputs)
        elif name in ("plan", "notices"):
            html = part("page.html.jinja", name, values, getattr(progress, name))
        elif name == "now":
            html = part("page.html.jinja", name, values, progress)
        else:
            continue
        yield as_event("put", progress.changed[name], {"id": name, "html": html, "parent": parent})


def _back(request: Request, thread: str) -> Response:
    return RedirectResponse(f"{base_of(request)}/threads/{thread}", 303)


routes = [
    Route("/new", new_question, methods=["GET"]),
    Route("/new", ask_new, methods=["POST"]),
    Route("/threads/{thread}/ask", ask_on, methods=["POST"]),
    Route("/threads/{thread}/resume", resume, methods=["POST"]),
    Route("/threads/{thread}/stop", stop, methods=["POST"]),
    Route("/threads/{thread}/decide", decide, methods=["POST"]),
    Route("/threads/{thread}/edit", look_at_edit, methods=["POST"]),
    Route("/threads/{thread}/diff", difference, methods=["POST"]),
    Route("/threads/{thread}/events", events),
]
