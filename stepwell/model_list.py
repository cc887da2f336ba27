"""Which models can be used with the settings as they are, and what the others lack. Nothing is asked of a network."""

import os
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from graph.settings import Settings
from models.providers import ENDPOINT, PROVIDERS, split_name

PLAYBOOK = "playbook"
WITHOUT_KEY = {"ollama"}
"""Providers whose server may be one's own, which asks for no key."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """The built-in playbook, the endpoint, or a provider."""

    name: str
    """As `--model` takes it: `playbook`, `openai:NAME`, `anthropic:NAME`."""
    missing: tuple[str, ...]
    """Variables and packages that it lacks; empty: it can be used."""
    remark: str = ""
    default: bool = False
    """Whether the default model comes from it."""


def model_sources(settings: Settings) -> list[ModelSource]:
    """All sources of models; those that can be used come first."""
    used = split_name(settings.model.strip())[0] if settings.model.strip() not in ("", PLAYBOOK) else PLAYBOOK
    key, url = settings.openai_api_key.get_secret_value().strip(), settings.openai_base_url.strip()
    found = [
        ModelSource(PLAYBOOK, (), "built in: a fixed analysis of any table, no key, no network", used == PLAYBOOK),
        ModelSource(
            "openai:NAME",
            () if key or url else ("OPENAI_API_KEY, or OPENAI_BASE_URL of a server of your own",),
            "the endpoint OPENAI_BASE_URL; NAME alone will do" if url else "NAME alone will do",
            used in ENDPOINT,
        ),
    ]
    for name, needs in PROVIDERS.items():
        if name not in ENDPOINT:
            missing = [] if name in WITHOUT_KEY or os.environ.get(needs.key, "").strip() else [needs.key]
            missing += [] if _installed(needs.package) else [f"the package {needs.package}"]
            found.append(ModelSource(f"{name}:NAME", tuple(missing), default=used == name))
    return sorted(found, key=lambda one: bool(one.missing))


def default_reason(settings: Settings, origin: str) -> str:
    """Which model answers when a run names none, and why.

    Args:
        settings: The operator's.
        origin: What has set STEPWELL_MODEL: `environment` or a file.
    """
    if not settings.model.strip():
        return "The default is playbook, since STEPWELL_MODEL is not set; `stepwell config set model NAME` sets it."
    place = "in the environment" if origin == "environment" else f"in {origin}"
    return f"The default is {settings.model.strip()}, since STEPWELL_MODEL says so {place}."


def _installed(package: str) -> bool:
    try:
        distribution(package.partition("[")[0])
    except PackageNotFoundError:
        return False
    return True
