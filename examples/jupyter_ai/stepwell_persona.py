"""Stepwell as a persona of Jupyter AI: put this file into `.jupyter/personas/` beside your notebooks.

Needs `jupyter-ai-acp-client` where JupyterLab is, and the command `stepwell` from an environment of its own, since the
two ask for different versions of the protocol's package: `uv tool install 'stepwell[acp]'`. In a chat `@Stepwell` then
asks Stepwell. Its plan, cells and files are shown as the chat has them; its modes, `/steps`, `/back STEP` and
`/run CODE` are there, too.
"""

import shutil
from typing import Any

from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona
from jupyter_ai_persona_manager import PersonaDefaults, PersonaRequirementsUnmet

if shutil.which("stepwell") is None:
    raise PersonaRequirementsUnmet("The command `stepwell` is missing: run `uv tool install 'stepwell[acp]'`.")


class StepwellPersona(BaseAcpPersona):  # type: ignore[misc]  # Jupyter AI is not among what the project installs
    """An analysis whose every step is a place to come back to."""

    NOTEBOOK_EDITING_GUIDANCE = ""
    """What is said before the first question to agents that edit notebooks; before a question, `/run` is none."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, executable=["stepwell", "acp"], **more)

    @property
    def defaults(self) -> PersonaDefaults:
        """What the chat shows of it."""
        return PersonaDefaults(
            name="Stepwell",
            description="Analyses data in a sandbox, step by step; every step can be gone back to.",
            avatar_path="",
            system_prompt="",
        )
