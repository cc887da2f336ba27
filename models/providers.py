"""The providers that `provider:name` can name, with the package and the key that each of them needs."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Provider:
    """What a provider needs besides a model's name."""

    package: str
    """The pip package with its chat model."""
    key: str
    """The environment variable with its key, or what else it wants to know of the account."""


OPENAI = Provider("langchain-openai", "OPENAI_API_KEY")

PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider("langchain-anthropic", "ANTHROPIC_API_KEY"),
    "anthropic_bedrock": Provider("langchain-aws", "AWS_ACCESS_KEY_ID"),
    "azure_ai": Provider("langchain-azure-ai", "AZURE_AI_CREDENTIAL"),
    "azure_openai": Provider("langchain-openai", "AZURE_OPENAI_API_KEY"),
    "baseten": Provider("langchain-baseten", "BASETEN_API_KEY"),
    "bedrock": Provider("langchain-aws", "AWS_ACCESS_KEY_ID"),
    "bedrock_converse": Provider("langchain-aws", "AWS_ACCESS_KEY_ID"),
    "bedrock_mantle_anthropic": Provider("langchain-aws", "AWS_BEARER_TOKEN_BEDROCK"),
    "bedrock_mantle_openai": Provider("langchain-aws[openai]", "AWS_BEARER_TOKEN_BEDROCK"),
    "cohere": Provider("langchain-cohere", "COHERE_API_KEY"),
    "deepseek": Provider("langchain-deepseek", "DEEPSEEK_API_KEY"),
    "fireworks": Provider("langchain-fireworks", "FIREWORKS_API_KEY"),
    "google_anthropic_vertex": Provider("langchain-google-vertexai", "GOOGLE_APPLICATION_CREDENTIALS"),
    "google_genai": Provider("langchain-google-genai", "GOOGLE_API_KEY"),
    "google_vertexai": Provider("langchain-google-vertexai", "GOOGLE_APPLICATION_CREDENTIALS"),
    "groq": Provider("langchain-groq", "GROQ_API_KEY"),
    "huggingface": Provider("langchain-huggingface", "HUGGINGFACEHUB_API_TOKEN"),
    "ibm": Provider("langchain-ibm", "WATSONX_API_KEY"),
    "langsmith": Provider("langchain-openai", "LANGSMITH_API_KEY"),
    "litellm": Provider("langchain-litellm", "the key variable of the provider behind LiteLLM"),
    "meta": Provider("langchain-meta", "META_API_KEY"),
    "mistralai": Provider("langchain-mistralai", "MISTRAL_API_KEY"),
    "nvidia": Provider("langchain-nvidia-ai-endpoints", "NVIDIA_API_KEY"),
    "ollama": Provider("langchain-ollama", "OLLAMA_API_KEY"),
    "openai": OPENAI,
    "openrouter": Provider("langchain-openrouter", "OPENROUTER_API_KEY"),
    "perplexity": Provider("langchain-perplexity", "PPLX_API_KEY"),
    "together": Provider("langchain-together", "TOGETHER_API_KEY"),
    "upstage": Provider("langchain-upstage", "UPSTAGE_API_KEY"),
    "xai": Provider("langchain-xai", "XAI_API_KEY"),
}


ENDPOINT = ("", "openai")
"""Providers that stand for the OpenAI-compatible endpoint."""


def split_name(name: str) -> tuple[str, str]:
    """Split `provider:name`.

    Returns:
        The provider and its model. The provider is empty when what stands before the first colon is none: `qwen3:8b`
        and `ft:gpt-4o:…` are names of models.
    """
    provider, colon, rest = name.partition(":")
    if colon and provider in PROVIDERS:
        return provider, rest
    return "", name


def bare_name(name: str) -> str:
    """The name without the provider of the endpoint, which is the one that is meant where none is named."""
    provider, rest = split_name(name.strip())
    return rest if provider in ENDPOINT else name.strip()


def provider_of(model: Any) -> Provider | None:
    """The provider whose package a chat model comes from; None for models of our own."""
    return _provider_of(type(model).__mro__)


@lru_cache(maxsize=100)  # each call of a model asks
def _provider_of(kinds: tuple[type, ...]) -> Provider | None:
    packages = {provider.package.partition("[")[0]: provider for provider in reversed(PROVIDERS.values())}
    packages[OPENAI.package] = OPENAI
    for kind in kinds:
        package = kind.__module__.partition(".")[0].replace("_", "-")
        if kind.__name__.startswith("Azure") and package == OPENAI.package:
            return PROVIDERS["azure_openai"]
        if package in packages:
            return packages[package]
    return None
