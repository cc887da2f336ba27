"""What people send with forms, read with bounds: questions, knobs, decisions."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, get_args

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from graph.context import Context, KnobError, parse_context
from graph.events import ApprovalAsked
from graph.settings import SettingsError
from stepwell.errors import ThreadError, UsageError
from stepwell.page.backend import Backend, UploadedFile
from stepwell.runs import Decision
from storage.uploads import UploadError, Uploads

FIELDS, FIELD_BYTES, FILES = 200, 2 << 20, 200
PIECE = 1 << 18
NUMBERS: Mapping[str, type] = {"max_cells": int, "max_tokens": int, "max_cost": float, "cell_timeout": float}
TEXTS = ("model", "sandbox", "review", "language", "instructions")


class FormError(ValueError):
    """What was sent cannot be used; the message is one sentence."""


MISTAKES = (FormError, KnobError, UsageError, UploadError, ThreadError, SettingsError)
"""What the form is shown again for, with all that was typed."""


@asynccontextmanager
async def form_of(request: Request, most: int = FIELD_BYTES) -> AsyncIterator[FormData]:
    """Read a form for the time of the block; files lie on the disk meanwhile.

    Args:
        request: Who sends it.
        most: Bytes of the whole.

    Raises:
        FormError: it is too large or no form.
    """
    length = request.headers.get("content-length", "")
    if not length.isdigit():
        raise FormError("The browser did not say how long the form is; try another one.")
    if int(length) > most:
        raise FormError(f"The form has {int(length):,} bytes; at most {most:,} are taken.")
    try:
        form = await request.form(max_files=FILES, max_fields=FIELDS, max_part_size=FIELD_BYTES)
    except HTTPException as error:
        raise FormError(f"The form cannot be read: {error.detail}") from None
    except ClientDisconnect:
        raise FormError("The connection broke off.") from None
    try:
        yield form
    finally:
        await form.close()


def text_of(form: FormData, name: str) -> str:
    """A field of a form; empty when it is missing. Lines end as in Python."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def knobs_of(form: FormData) -> dict[str, Any]:
    """The knobs that a form names; a field that is left empty leaves its knob as it was.

    Raises:
        FormError: a number is none.
        KnobError: a knob cannot have that value.
    """
    found: dict[str, Any] = {name: text for name in TEXTS if (text := text_of(form, name).strip())}
    for name, kind in NUMBERS.items():
        if text := text_of(form, name).strip():
            try:
                found[name] = kind(text)
            except ValueError:
                title = Context.model_fields[name].title
                raise FormError(f"{title}: {text[:60]!r} is no number.") from None
    if text_of(form, "knobs"):  # a box that is not ticked is not sent
        found["approval"] = "cells" if text_of(form, "approval") else "none"
        found["approve_plan"] = bool(text_of(form, "approve_plan"))
    parse_context(found)
    return found


def changed_knobs(before: Context, knobs: Mapping[str, Any]) -> Context | None:
    """The knobs of a run; None: those that its thread has.

    Raises:
        KnobError: one cannot be used.
    """
    return parse_context({**before.model_dump(exclude_unset=True), **knobs}) if knobs else None


def knobs_sent(form: FormData) -> dict[str, str]:
    """The same fields as they were typed, to be shown again."""
    return {name: text_of(form, name) for name in (*TEXTS, *NUMBERS, "approval", "approve_plan")}


def knobs_as_typed(context: Context) -> dict[str, str]:
    """The fields of the form as the knobs of a run say."""
    typed = dict.fromkeys((*TEXTS, *NUMBERS), "")
    before = {name: str(getattr(context, name)) for name in typed if name in context.model_fields_set}
    boxes = {"approval": "1" * (context.approval == "cells"), "approve_plan": "1" * context.approve_plan}
    return {**typed, **before, **boxes}


async def files_of(form: FormData, backend: Backend) -> list[UploadedFile]:
    """The files of a question: those that were uploaded before, and those that come with the form.

    Raises:
        UploadError: one is refused.
    """
    found = []
    for value in form.getlist("file"):
        if isinstance(value, str):
            if value:
                found.append(await backend.uploaded(value))
        elif value.filename:
            found.append(await backend.upload(value.filename, _pieces(value), size=value.size))
    if len(found) > FILES:
        raise UploadError(f"{len(found)} files are too many for one question; {FILES} may be given.")
    return found


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE):
        yield piece


async def take_upload(
    uploads: Uploads, user: str, name: str, data: AsyncIterator[bytes], size: int | None
) -> UploadedFile:
    """Keep a file for a user's question; what does not arrive whole is removed again.

    Raises:
        UploadError: it is refused.
    """
    upload = await uploads.create(user, name, size)
    try:
        async with uploads.open_writer(user, upload.id, 0) as writer:
            async for piece in data:
                await writer.write(piece)
            await writer.mark_complete()
        done = await uploads.look(user, upload.id)
        if not done.complete:
            raise UploadError(f"Only {done.offset:,} of the {size:,} bytes of {done.name} arrived; send it again.")
    except BaseException:
        await uploads.remove(user, upload.id)
        raise
    return UploadedFile(done.spec, done.name, done.offset)


async def known_upload(uploads: Uploads, user: str, file: str) -> UploadedFile:
    """A file that was kept for a user.

    Raises:
        UploadError: there is none of that name.
    """
    _, upload = await asyncio.to_thread(uploads.content, user, file)
    return UploadedFile(upload.spec, upload.name, upload.offset)


def fingerprint(asked: ApprovalAsked) -> str:
    """Names what waits for a decision, so that nobody decides on something else than they were shown."""
    call = asked.call["id"] if asked.call is not None else ""
    whole = repr((asked.number, asked.code, asked.answer, asked.back_to, asked.plan, call))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def decision_of(form: FormData, asked: ApprovalAsked) -> Decision:
    """What was decided.

    Raises:
        FormError: something else waits than what was shown, or it is no decision.
    """
    verdict: Any = text_of(form, "verdict")
    if text_of(form, "of") != fingerprint(asked):
        raise FormError("Something else waits now than what you were shown; look at it, and decide again.")
    if verdict not in get_args(Decision.__annotations__["verdict"]):
        raise FormError("Approve it, edit it, or reject it.")
    code = text_of(form, "code")
    if verdict == "edit" and not code.strip():
        raise FormError("There is no code left; reject it with a remark instead.")
    call = asked.call["id"] if asked.call is not None and verdict == "approve" else ""
    return Decision(
        verdict,
        code=code if verdict == "edit" else "",
        remark=text_of(form, "remark").strip() if verdict == "reject" else "",
        call=call,
        plan=asked.plan is not None,
    )
