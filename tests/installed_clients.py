"""Clients of an installed Stepwell, run by its Python: an agent, an editor and a notebook, one after the other.

`python installed_clients.py` prints what each got. Nothing of the checkout is imported.
"""

import asyncio
import os
import sys
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from jupyter_client.manager import AsyncKernelManager
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

STEPWELL = os.path.join(os.path.dirname(sys.executable), "stepwell")  # noqa: PTH118, PTH120 - as a client is told
SECONDS = 120.0


def say(*words: object) -> None:
    """One line."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


async def as_agent() -> None:
    """Run two cells in a session."""
    server = StdioServerParameters(command=STEPWELL, args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        for code in ("n = 41", "n + 1"):
            result = await client.call_tool("run_code", {"code": code, "session": "of an agent"})
            said: Any = result.structured_content
            say("agent", said["step"], said["status"], said["output"].splitlines()[-1])


class Editor:
    """An editor that keeps what it is shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.shown.append(str(update))

    def on_connect(self, conn: Any) -> None:
        pass


async def as_editor() -> None:
    """Run a cell in a session."""
    editor = Editor()
    async with spawn_agent_process(editor, STEPWELL, "acp", env=dict(os.environ)) as (connection, _):  # type: ignore[arg-type]  # the methods that it needs
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        session = (await connection.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id  # noqa: PTH109
        ended = await connection.prompt(session_id=session, prompt=[text_block("/run print('it is', 40 + 2)")])
        say("editor", ended.stop_reason, any("it is 42" in one for one in editor.shown))


async def as_notebook() -> None:
    """Run two cells with the kernel, which is restarted between them."""
    manager = AsyncKernelManager(kernel_name="stepwell")
    await manager.start_kernel()
    client: Any = manager.client()
    client.start_channels()
    printed: list[str] = []
    status = ""
    try:
        for code in ("n = 41", "print(n + 1)"):
            await client.wait_for_ready(timeout=SECONDS)
            reply = await client.execute_interactive(
                code,
                timeout=SECONDS,
                allow_stdin=False,
                output_hook=lambda message: printed.append(str(message["content"].get("text", ""))),
            )
            status = reply["content"]["status"]
            if code == "n = 41":
                await manager.restart_kernel(now=True)
        say("notebook", status, "42\n" in printed)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel()


if __name__ == "__main__":
    for work in (as_agent, as_editor, as_notebook):
        asyncio.run(work())
