"""The list of threads, a thread, and deleting it."""

import asyncio
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stepwell.errors import ThreadError
from stepwell.exports.analysis import analysis_of
from stepwell.exports.beside import PICTURES
from stepwell.page.backend import Backend, ThreadView
from stepwell.page.forms import fingerprint, form_of, knobs_as_typed, text_of
from stepwell.page.rendering import backend_of, base_of, long_page, page
from stepwell.page.shown_thread import shown_proposal, shown_thread
from stepwell.thread_summaries import ThreadFilter

AT_ONCE, MOST = 30, 3_000
LONGEST_SEARCH = 500


async def list_threads(request: Request) -> Response:
    """The newest threads, or those that a search finds."""
    words, tag = (request.query_params.get(name, "")[:LONGEST_SEARCH] for name in ("q", "tag"))
    many = request.query_params.get("show", "")
    shown = min(int(many), MOST) if many.isdecimal() and len(many) < 6 else AT_ONCE
    wanted = ThreadFilter(words, (tag,) if tag else ())
    found = await backend_of(request).threads(wanted, limit=shown + 1)
    more = urlencode({"q": words, "tag": tag, "show": shown + 4 * AT_ONCE}) if len(found) > shown else ""
    titles = {one.id: one.name or one.question for one in found}
    return await page(
        request, "threads.html.jinja", threads=found[:shown], titles=titles, words=words, tag=tag, more=more
    )


async def show_thread(request: Request) -> Response:
    """A thread with all its questions."""
    view = await backend_of(request).thread(request.path_params["thread"])
    return await thread_page(request, view)


def to_latest(request: Request, thread: str) -> Response:
    """Back to a thread, there where it goes on."""
    return RedirectResponse(f"{base_of(request)}/threads/{thread}#latest", 303)


async def _left_behind(backend: Backend, view: ThreadView) -> tuple[str, str]:
    """The step at which a thread is, where something came after it, and the newest one there with an answer."""
    if view.running or view.status not in ("paused", "finished"):
        return "", ""
    tree = await backend.steps(view.id)
    head = tree.head
    if head is None:
        return "", ""
    later, answered = {head.name}, head.name if head.answered and view.status == "paused" else ""
    for step in tree.steps:  # each stands after the one that it follows
        if step.parent in later:
            later.add(step.name)
            answered = step.name if step.answered else answered
    return (head.name, answered) if answered or len(later) > 1 else ("", "")


async def thread_page(
    request: Request,
    view: ThreadView,
    status: int = 200,
    *,
    problem: str = "",
    question: str = "",
    files: object = (),
    edited: str = "",
    difference: str = "",
    typed: dict[str, str] | None = None,
    moved: str = "",
    older: bool = True,
    labels: dict[str, str] | None = None,
) -> Response:
    """A thread, with what was typed into its forms when that could not be used.

    Args:
        request: Who asks.
        view: The thread.
        status: Of the answer.
        problem: Why what was typed for a question or a decision could not be used.
        question: The question that was typed.
        files: Its files.
        edited: The code that was typed.
        difference: What it changes.
        typed: The knobs that were typed.
        moved: Why what was sent could not be done, where its form is not there any more.
        older: Whether that is since the page was older than the thread.
        labels: The name and the tags that were typed, and the problem with them.
    """
    asked, variables = view.asked, view.state.get("namespace") or []
    proposal = await asyncio.to_thread(shown_proposal, asked, variables) if asked is not None and asked.answer else None
    behind, forward = await _left_behind(backend_of(request), view)
    original = ("\n".join(asked.plan) if asked.plan is not None else asked.code) if asked is not None else ""
    return await long_page(
        request,
        "shown.html.jinja",
        status,
        view=view,
        shown=await asyncio.to_thread(shown_thread, view, base_of(request)),
        offer=await backend_of(request).offer(),
        typed=typed or knobs_as_typed(view.context),
        pictures=PICTURES,
        behind=behind,
        forward=forward,
        proposal=proposal,
        waits=fingerprint(asked) if asked is not None else "",
        original=original,
        problem=problem,
        question=question,
        files=files,
        edited=edited,
        difference=difference,
        moved=moved,
        older=older,
        labels=labels,
    )


async def label_thread(request: Request) -> Response:
    """Gives a thread a name and tags."""
    thread = request.path_params["thread"]
    async with form_of(request) as form:
        name, tags = text_of(form, "name").strip(), text_of(form, "tags")
    try:
        await backend_of(request).label(thread, name, tags.replace(",", " ").split())
    except ThreadError as error:
        typed = {"name": name, "tags": tags, "problem": str(error)}
        return await thread_page(request, await backend_of(request).thread(thread), 409, labels=typed)
    return RedirectResponse(f"{base_of(request)}/threads/{thread}", 303)


async def ask_to_delete(request: Request) -> Response:
    """Asks once more."""
    view = await backend_of(request).thread(request.path_params["thread"])
    cells = len(view.state.get("cells") or [])
    title = analysis_of(view.id, view.state).title if view.state.get("turn") else view.state.get("question", "")
    stays = backend_of(request).published_stays
    return await page(request, "delete.html.jinja", thread=view.id, title=title, cells=cells, published_stays=stays)


async def delete_thread(request: Request) -> Response:
    """Deletes a thread for good."""
    await backend_of(request).delete(request.path_params["thread"])
    return RedirectResponse(f"{base_of(request)}/", 303)


routes = [
    Route("/", list_threads),
    Route("/threads/{thread}", show_thread),
    Route("/threads/{thread}/labels", label_thread, methods=["POST"]),
    Route("/threads/{thread}/delete", ask_to_delete, methods=["GET"]),
    Route("/threads/{thread}/delete", delete_thread, methods=["POST"]),
]
