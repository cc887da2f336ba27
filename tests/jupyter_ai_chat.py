"""A chat of Jupyter AI with the persona of the examples, without its page; run by a Python that has its client.

`python jupyter_ai_chat.py FOLDER MODE QUESTION …` prints, as JSON, what the chat shows in the end and what was asked
for permission. Personas are found as Jupyter AI finds them, in `.jupyter/personas` of the folder. It imports
nothing of the checkout.
"""

import asyncio
import json
import sys
from typing import Any

from jupyter_ai_persona_manager.persona_manager import PersonaManager
from jupyterlab_chat.models import NewMessage, User
from jupyterlab_chat.ychat import YChat

SECONDS = 120.0
ASKED_EVERY = 0.05


class Chat:
    """A chat, and whoever types and clicks in it.

    Args:
        folder: Where its file lies.
    """

    def __init__(self, folder: str) -> None:
        self.document = YChat()
        self.document.initial_path = "talk.chat"
        self.document.set_user(User(username="ann", name="Ann", display_name="Ann"))
        loop = asyncio.get_running_loop()
        self.manager = PersonaManager(chat=self.document, root_dir=folder, event_loop=loop)
        [self.persona] = [one for one in self.manager.personas.values() if one.name == "Stepwell"]
        self.asked: list[dict[str, Any]] = []

    async def ask(self, text: str) -> None:
        """Say something, and wait until the persona has answered; what it asks is approved."""
        number = self.document.add_message(NewMessage(body=text, sender="ann"))
        await asyncio.sleep(0)  # the document learns where the message is
        message = self.document.get_message(number)
        assert message is not None
        answering = asyncio.ensure_future(self.persona.on_message(message))
        while not answering.done():
            await asyncio.wait((answering,), timeout=ASKED_EVERY)
            await self._approve()
        await answering

    async def _approve(self) -> None:
        """Click what the page's button does."""
        if not self.persona._client_session_future or not self.persona._client_session_future.done():
            return
        client = await self.persona.get_client()
        for (session, call), request in list(client._permission_manager._pending.items()):
            self.asked.append({"options": [one.kind for one in request.options]})
            [allow] = [one.option_id for one in request.options if one.kind == "allow_once"]
            assert client.resolve_permission(session, call, allow)

    async def choose_mode(self, mode: str) -> None:
        """Choose one of the agent's modes, as the toolbar does."""
        client = await self.persona.get_client()
        await client.set_session_mode(mode, await self.persona.get_session_id())


async def main(folder: str, mode: str, *questions: str) -> None:
    """Ask the first question, choose the mode, ask the others."""
    chat = Chat(folder)
    async with asyncio.timeout(SECONDS):
        for number, question in enumerate(questions):
            if number == 1 and mode:
                await chat.choose_mode(mode)
            await chat.ask(question)
    sent = [{"sender": one.sender, "body": one.body, "metadata": one.metadata} for one in chat.document.get_messages()]
    modes = [one.id for one in chat.persona.acp_modes]
    sys.stdout.write(json.dumps({"messages": sent, "asked": chat.asked, "modes": modes, "me": chat.persona.id}) + "\n")
    (await chat.persona.get_agent_subprocess()).terminate()


asyncio.run(main(*sys.argv[1:]))
