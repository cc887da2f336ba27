"""Which model a name stands for, and what is said when it cannot be had."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from models.base import ModelAccessError
from models.failures import explain
from models.playbook.model import Playbook
from models.providers import PROVIDERS, provider_of, split_name
from models.selection import make_chooser


def chooser(**given: Any) -> Any:
    options = {"model": "", "api_key": "", "base_url": "", "timeout": 30.0, "max_retries": 2}
    return make_chooser(**{**options, **given})


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


async def test_with_nothing_configured_the_playbook_answers() -> None:
    assert isinstance(await chooser()(""), Playbook)


async def test_the_playbook_can_be_named() -> None:
    assert isinstance(await chooser(model="gpt-5.4", api_key="k")("playbook"), Playbook)


async def test_the_empty_name_is_the_configured_model() -> None:
    model = await chooser(model="gpt-5.4", api_key="k")(" ")
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "gpt-5.4"


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("qwen3:8b", "qwen3:8b"),
        ("ft:gpt-4o:me::abc", "ft:gpt-4o:me::abc"),
        ("openai:gpt-5.4", "gpt-5.4"),
        ("openai:deepseek:7b", "deepseek:7b"),
        ("org/model", "org/model"),
        ("claude-opus-5", "claude-opus-5"),
    ],
)
async def test_a_name_goes_to_the_endpoint_unless_a_provider_stands_before_it(name: str, sent: str) -> None:
    model = await chooser(base_url="http://127.0.0.1:9/v1")(name)
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == sent
    assert model.stream_usage
    assert model.use_responses_api is False
    assert model.temperature is None


async def test_a_model_is_built_once_per_loop_and_name() -> None:
    choose = chooser(model="a", base_url="http://127.0.0.1:9/v1")
    first, again, other = await asyncio.gather(choose(""), choose("a"), choose("b"))
    assert first is again
    assert first is not other

    def elsewhere() -> Any:
        return asyncio.run(choose("a"))

    apart = await asyncio.to_thread(elsewhere)
    assert apart is not first
    assert apart.root_async_client._client is not first.root_async_client._client


async def test_settings_reach_the_client() -> None:
    model = await chooser(api_key="k", timeout=7.0, max_retries=3, temperature=0.2)("gpt-4.1")
    assert model.temperature == 0.2
    assert model.root_async_client.max_retries == 3
    assert model.root_async_client.timeout.read == 7.0


async def test_no_key_and_no_server_of_ones_own_says_what_to_set() -> None:
    with pytest.raises(ModelAccessError, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL.*playbook"):
        await chooser(model="gpt-5.4")("")


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "http://", "v1"])
async def test_an_address_that_is_none_says_how_to_write_it(url: str) -> None:
    with pytest.raises(ModelAccessError, match="http"):
        await chooser(model="m", base_url=url)("")


@pytest.mark.parametrize("key", ["sk-abc def", "sk-ключ", "sk-abc\ndef"])
async def test_a_key_that_is_none_is_not_repeated(key: str) -> None:
    with pytest.raises(ModelAccessError, match="OPENAI_API_KEY") as caught:
        await chooser(model="m", api_key=key)("")
    assert key not in str(caught.value)


async def test_a_line_break_after_the_key_is_forgiven() -> None:
    model = await chooser(model="m", api_key="sk-abc\n")("")
    assert model.openai_api_key.get_secret_value() == "sk-abc"


async def test_a_missing_package_is_named() -> None:
    with pytest.raises(ModelAccessError, match=r"pip install langchain-anthropic"):
        await chooser()("anthropic:claude-opus-5")
    with pytest.raises(ModelAccessError, match=r"run `pip install langchain-anthropic`"):
        await chooser(served=True)("anthropic:claude-opus-5")


async def test_a_provider_without_its_settings_names_them() -> None:
    with pytest.raises(ModelAccessError, match="AZURE_OPENAI_API_KEY"):
        await chooser()("azure_openai:gpt-5.4")


async def test_a_provider_without_a_model_is_refused() -> None:
    with pytest.raises(ModelAccessError, match="names a provider but no model"):
        await chooser()("openai:")


async def test_a_failure_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = chooser()
    with pytest.raises(ModelAccessError):
        await choose("azure_openai:gpt-5.4")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.invalid")
    monkeypatch.setenv("OPENAI_API_VERSION", "2026-01-01")
    model = await choose("azure_openai:gpt-5.4")
    assert provider_of(model) is PROVIDERS["azure_openai"]
    assert "AZURE_OPENAI_API_KEY" in str(explain(UnauthorisedError(), model))


@pytest.mark.parametrize("where", ["setting", "environment"])
@pytest.mark.parametrize(
    ("name", "own"), [("langsmith:gpt-5.4", "LANGSMITH_API_KEY"), ("azure_openai:gpt-5.4", "AZURE_OPENAI_API_KEY")]
)
async def test_the_endpoints_key_goes_to_no_other_provider(
    monkeypatch: pytest.MonkeyPatch, name: str, own: str, where: str
) -> None:
    monkeypatch.delenv(own, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.invalid")
    monkeypatch.setenv("OPENAI_API_VERSION", "2026-01-01")
    if where == "environment":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    choose = chooser(api_key="sk-of-the-operator" if where == "setting" else "")
    with pytest.raises(ModelAccessError, match=own) as caught:
        await choose(name)
    assert "sk-of-the-operator" not in str(caught.value)
    monkeypatch.setenv(own, "of-its-own")
    assert provider_of(await choose(name)) is not None


async def test_a_client_that_knows_no_timeout_and_takes_the_endpoints_key_is_told_to_have_one_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "langchain_perplexity.py").write_text(
        "class ChatPerplexity:\n"
        "    def __init__(self, model):\n"
        "        self.key = 'sk-of-the-operator'\n"
    )  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "langchain_perplexity", raising=False)
    with pytest.raises(ModelAccessError, match="needs a key of its own"):
        await chooser(api_key="sk-of-the-operator")("perplexity:sonar")


class UnauthorisedError(Exception):
    status_code = 401


def test_every_provider_that_langchain_knows_is_known_here() -> None:
    from langchain.chat_models.base import _BUILTIN_PROVIDERS

    assert set(PROVIDERS) == set(_BUILTIN_PROVIDERS)
    for name, (module, _, _) in _BUILTIN_PROVIDERS.items():
        assert PROVIDERS[name].package.partition("[")[0] == module.partition(".")[0].replace("_", "-")


def test_a_name_is_split_at_known_providers_only() -> None:
    assert split_name("anthropic:claude") == ("anthropic", "claude")
    assert split_name("qwen3:8b") == ("", "qwen3:8b")


def test_importing_the_chooser_loads_no_client() -> None:
    program = "import sys, models.selection; print([m for m in ('openai', 'langchain_openai') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
