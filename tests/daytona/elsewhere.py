"""What tests need to run analyses in the emulated Daytona."""

import secrets

from pydantic import SecretStr

from graph.settings import Settings
from tests.daytona.emulator import Emulator


def in_emulator(settings: Settings, emulator: Emulator) -> Settings:
    """The same settings with an account there, and names of sandboxes that no other test has."""
    return settings.model_copy(
        update={
            "daytona_api_key": SecretStr(emulator.api_key),
            "daytona_api_url": emulator.api_url,
            "daytona_target": "us",
            "daytona_prefix": f"test-{secrets.token_hex(4)}",
        }
    )
