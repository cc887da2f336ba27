"""What the operator configures: `STEPWELL_…` variables, read here and nowhere else."""

import asyncio
import hashlib
import math
import os
import re
import shlex
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from graph.env_files import EnvFileError, load_env_files
from sandboxes.daytona.options import API_URL, Account, Options
from sandboxes.docker.options import IMAGE, DockerOptions
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.network import Mode, Network, parse_domains
from storage.amounts import parse_age, parse_size
from storage.missing_packages import check_package
from storage.uploads import DEFAULT_TYPES

if TYPE_CHECKING:
    from sandboxes.local.isolation import IsolationRequest

ELSEWHERE = {"STEPWELL_DEBUG", "STEPWELL_SETUP_PYTHON", "STEPWELL_CHROMIUM"}
"""Variables of our prefix that the command, the installer and the tests read by themselves."""

LINK_SECRET_LENGTH = 32
"""Characters that nobody guesses, if they are drawn by lot."""

NO_ISOLATION_WARNING = (
    "STEPWELL_ISOLATION=process: code runs without walls. "
    "It can read, change and send whatever this user can, keys too."
)
"""What is said wherever code runs so."""


class SettingsError(Exception):
    """The operator must fix something; the message is one line and needs no traceback."""


class NotNowError(SettingsError):
    """What the settings name cannot be reached now; they may be right."""


class Prices(tuple[float, float]):
    """Price of a million input tokens and of a million output tokens."""

    __slots__ = ()

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What these tokens cost, in the currency of the prices."""
        return (self[0] * input_tokens + self[1] * output_tokens) / 1_000_000


class Settings(BaseSettings):
    """The operator's settings. Use `read_settings`, which turns mistakes into one sentence."""

    model_config = SettingsConfigDict(env_prefix="STEPWELL_", env_ignore_empty=True, extra="ignore", frozen=True)

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("stepwell"))
    """Threads, their workspaces and caches."""
    artifacts: str = ""
    """Folder or fsspec URL that finished files go to, a folder per thread; empty: one in the working directory."""
    public_url: str = ""
    """`https://…`: where a server's users reach it, for links to files; empty: the address of `langgraph dev`, and on
    any other server links without an address."""
    link_secret: SecretStr = SecretStr("")
    """What signs a server's links to files, the same for all servers; empty: a key in the data folder."""
    link_days: int = Field(default=7, ge=1, le=365)
    """How long such a link works."""
    blobs: str = ""
    """Folder or fsspec URL that snapshots are kept in; empty: `blobs/` in the data folder."""
    database_url: SecretStr = SecretStr("")
    """`postgresql://…`: the database that checkpoints are kept in; empty: a SQLite file in the data folder."""
    model: str = ""
    """The default model; empty: the built-in playbook."""
    openai_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    openai_base_url: str = Field(
        default="", validation_alias=AliasChoices("OPENAI_BASE_URL", "OPENAI_API_BASE", "openai_base_url")
    )
    model_timeout: float = Field(default=180.0, gt=0)
    """Seconds one model call may take."""
    model_retries: int = Field(default=4, ge=0, le=20)
    """Times a call is repeated after a rate limit or a network failure, with growing pauses."""
    temperature: float | None = None
    prices: str = ""
    """`input,output`: the price of a million tokens of each; needed for a money budget."""
    figures: Literal["auto", "kitty", "iterm", "sixel", "none"] = "auto"
    """How the terminal shows pictures; auto: by what it says of itself, also when it is asked."""
    python: str = ""
    """The Python that cells run in; empty: the one that runs Stepwell."""
    isolation: str = ""
    """The level of local sandboxes; empty: the best that works here. `process` is none, and has to be asked for."""
    require_isolation: str = ""
    """The weakest level that will do; empty: any but `process`."""
    sandbox_memory_mb: int = Field(default=0, ge=0)
    """Memory of one local sandbox; 0: half of the machine's."""
    sandbox_processes: int = Field(default=256, ge=8)
    """Processes and threads of one local sandbox."""
    sandbox_disk_mb: int = Field(default=50_000, ge=0)
    """All files of one workspace; 0: no limit."""
    sandbox_tmp_mb: int = Field(default=0, ge=0)
    """`/tmp` of one local sandbox, and as much for its HOME; 0: a quarter of its memory, at most 2,000."""
    sandbox_file_mb: int = Field(default=10_000, ge=0)
    """One file; 0: no limit."""
    sandbox_open_files: int = Field(default=1_024, ge=64)
    """Files that one process has open."""
    sandbox_cpu_seconds: int = Field(default=0, ge=0)
    """Computing of one process in its whole life; 0: no limit."""
    sleep_after: float = Field(default=600.0, ge=0, allow_inf_nan=False)
    """Seconds without use until a sandbox is put to sleep; 0: only when another needs its place."""
    max_sandboxes: int = Field(default=0, ge=0)
    """Local sandboxes that may live at a time in this process, further ones wait; 0: one for each 256 MB of memory, at
    least 4."""
    proof_share: float = Field(default=0.1, ge=0, le=1, allow_inf_nan=False)
    """The part of one processor that trial restores of steps may use in the long run; 0: none are made."""
    proof_mb: int = Field(default=1_000, ge=0)
    """Memory of the largest session that is restored on trial."""
    kept_copies: int = Field(default=2, ge=0, le=20)
    """Earlier steps of a local session that stay in memory, to go back to at once; 0: only the last one."""
    drain_seconds: float = Field(default=20.0, ge=0, allow_inf_nan=False)
    """How long a server that is asked to end lets the cells that run finish, before it interrupts them."""
    daytona_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("DAYTONA_API_KEY", "daytona_api_key")
    )
    daytona_jwt_token: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("DAYTONA_JWT_TOKEN", "daytona_jwt_token")
    )
    daytona_organization_id: str = Field(
        default="", validation_alias=AliasChoices("DAYTONA_ORGANIZATION_ID", "daytona_organization_id")
    )
    daytona_api_url: str = Field(default=API_URL, validation_alias=AliasChoices("DAYTONA_API_URL", "daytona_api_url"))
    daytona_target: str = Field(default="", validation_alias=AliasChoices("DAYTONA_TARGET", "daytona_target"))
    """The region; empty: the organization's default."""
    daytona_prefix: str = Field(default="stepwell", pattern=r"^[a-z0-9][a-z0-9-]{0,20}$")
    """How the names of sandboxes begin: different for installations that share an account."""
    daytona_snapshot: str = ""
    """The Daytona snapshot that sandboxes are made from; empty: the organization's default."""
    daytona_image: str = ""
    """A container image instead of a snapshot."""
    daytona_cpu: int = Field(default=0, ge=0)
    """With an image: cores; 0: Daytona's default. The same for memory and disk, in GiB."""
    daytona_memory: int = Field(default=0, ge=0)
    daytona_disk: int = Field(default=0, ge=0)
    daytona_auto_stop: int = Field(default=15, ge=0)
    """Minutes without use until Daytona stops a sandbox that nobody has stopped; 0: never."""
    daytona_auto_archive: int = Field(default=-1, ge=-1)
    """Minutes that a sandbox is stopped until it is archived; -1: Daytona's default."""
    daytona_auto_delete: int = Field(default=15, ge=-1)
    """Minutes that a sandbox is stopped until it is deleted, once all that is in it is stored; 0: at once; -1: never.
    Its thread goes on in a new one."""
    daytona_network_allow_list: str = ""
    """IPv4 networks that cells there may reach, as Daytona takes them; goes before `network`."""
    docker_command: str = "docker"
    """The command line of the container engine that sandboxes of kind `docker` are made by: `podman`, `sudo docker`."""
    docker_image: str = ""
    """The image of their containers: with `sh`, Python 3.11 or newer as `python3`, and pandas; empty:
    `stepwell-sandbox`. Where it is named, users of a server may ask for containers."""
    docker_prefix: str = Field(default="stepwell", pattern=r"^[a-z0-9][a-z0-9-]{0,20}$")
    """How the names of containers begin: different for installations that share an engine."""
    docker_cpus: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Cores of one container; 0: all."""
    docker_network: str = ""
    """The engine's network that containers are in when `network` is `full`. Who names it has closed it to what is
    private."""
    docker_auto_stop: int = Field(default=15, ge=0)
    """Minutes without use until a container that nobody has stopped stops by itself; 0: never."""
    docker_auto_delete: int = Field(default=15, ge=-1)
    """Minutes that a container is stopped until it is deleted, once all that is in it is stored; 0: at once; -1:
    never. Its thread goes on in a new one."""
    mcp: Path | None = None
    """A JSON file that names MCP servers, whose tools cells can call."""
    network: Mode = "none"
    """What cells may reach: nothing, the domains of `network_allow`, or every public address."""
    network_allow: str = Field(default="", validate_default=True)
    """Domains with commas between them (`example.org`, `*.example.org`, `example.org:8443`); used by `allowlist`."""
    max_input_bytes: int = Field(default=20_000_000_000, gt=0)
    """The largest input that is taken in."""
    input_roots: str = ""
    """Folders that a server may take local inputs from, separated by `:`; empty: its working directory. The command
    and the Python API take any path that their user can read."""
    input_urls: str = ""
    """What a server with users may fetch inputs from: beginnings of URLs with commas between them
    (`https://data.example.org/,s3://bucket/public/`); `*`: any. Without users and for the command: any."""
    api_keys: Path | None = None
    """The file with the hashes of the server's API keys, made by `python -m server.keys`."""
    oidc_issuer: str = ""
    """The URL of an OpenID Connect issuer whose tokens the server takes."""
    oidc_audience: str = ""
    """For whom its tokens must be; needed with `oidc_issuer`."""
    oidc_user: str = Field(default="sub", min_length=1)
    """The claim that names the user."""
    policy: Path | None = None
    """A TOML file with what users of a server may ask for; empty: the defaults of `graph/users/policy.py`."""
    webhooks: str = Field(default="", validate_default=True)
    """Where webhooks may go on a server with users: beginnings of URLs with commas between them, each with its host
    (`https://hooks.example.org/stepwell/`); empty: nowhere. Without users: anywhere."""
    crons: bool = False
    """Whether users of a server may make crons. Without users: always."""
    origins: str = ""
    """Origins of web pages, with commas between them, that a server without users answers besides Studio's."""
    uploads: Path | None = None
    """Where uploaded inputs lie; empty: `uploads/` in the data folder. Workers must share it."""
    upload_types: str = DEFAULT_TYPES
    """File name endings that may be uploaded, with commas between them; `*`: any."""
    upload_user_mb: int = Field(default=20_000, ge=1)
    """All uploads of one user together."""
    upload_days: float = Field(default=7.0, gt=0, allow_inf_nan=False)
    """How long an upload is kept after it was last written."""
    gc_keep_last: int = Field(default=0, ge=0)
    """A server gives up the snapshots of all but so many steps at the end of each branch; 0: it does not."""
    gc_older_than: str = ""
    """`30d`: it gives up the snapshots of older steps; empty: it does not."""
    gc_budget: str = ""
    """`20GB`: it gives up snapshots from the oldest on until the store holds no more; empty: it does not."""

    @field_validator("link_secret", mode="after")
    @classmethod
    def _long_enough(cls, secret: SecretStr) -> SecretStr:
        if 0 < len(secret.get_secret_value()) < LINK_SECRET_LENGTH:
            raise ValueError(f"it needs {LINK_SECRET_LENGTH} characters or more, such as `openssl rand -hex 32` gives")
        return secret

    @field_validator("public_url", mode="after")
    @classmethod
    def _address(cls, public_url: str) -> str:
        if public_url and not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", public_url):
            raise ValueError("it must be an address such as https://stepwell.example.com, without a query")
        return public_url.rstrip("/")

    @field_validator("home", "mcp", "api_keys", "uploads", "policy", mode="after")
    @classmethod
    def _absolute(cls, home: Path | None) -> Path | None:
        if home is None:
            return None
        try:
            home = home.expanduser()
        except RuntimeError as error:
            raise ValueError(f"{home} names a user whose folder is not known") from error
        return Path(os.path.abspath(home))  # noqa: PTH100 - resolve() would follow links and read the disk

    @field_validator("blobs", mode="after")
    @classmethod
    def _absolute_unless_url(cls, blobs: str) -> str:
        return blobs if not blobs or "://" in blobs else os.path.abspath(Path(blobs).expanduser())  # noqa: PTH100

    @field_validator("database_url")
    @classmethod
    def _postgresql(cls, url: SecretStr) -> SecretStr:
        given = url.get_secret_value()
        if given and not given.startswith(("postgresql://", "postgres://")):
            raise ValueError("a URL that begins with postgresql:// is needed")
        return url

    @field_validator("network_allow")
    @classmethod
    def _domains(cls, domains: str, info: ValidationInfo) -> str:
        allowed = parse_domains([domains])
        if info.data.get("network") == "allowlist":
            Network("allowlist", allowed)
        return domains

    @field_validator("docker_command")
    @classmethod
    def _words(cls, command: str) -> str:
        shlex.split(command)
        return command

    @field_validator("webhooks")
    @classmethod
    def _hosts(cls, webhooks: str) -> str:
        for one in named(webhooks):
            parts = urlsplit(one)
            if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
                raise ValueError(f"{one[:100]!r} does not begin with http(s)://HOST/")
        return webhooks

    @field_validator("gc_older_than")
    @classmethod
    def _age(cls, age: str) -> str:
        if age:
            parse_age(age)
        return age

    @field_validator("gc_budget")
    @classmethod
    def _size(cls, size: str) -> str:
        if size:
            parse_size(size)
        return size

    @field_validator("prices")
    @classmethod
    def _two_numbers(cls, prices: str) -> str:
        if prices:
            try:
                parts = [float(part) for part in prices.split(",")]
            except ValueError:
                parts = []
            if len(parts) != 2 or not all(0 <= part < math.inf for part in parts):
                raise ValueError("two prices separated by a comma are needed, such as 2.5,10")
        return prices

    @field_validator("oidc_issuer")
    @classmethod
    def _safe_issuer(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if issuer and (not parts.hostname or parts.scheme not in (("https", "http") if local else ("https",))):
            raise ValueError("an https:// URL is needed; http:// is taken for this machine alone")
        return issuer

    @model_validator(mode="after")
    def _audience_with_issuer(self) -> Self:
        if self.oidc_issuer and not self.oidc_audience:
            raise ValueError("STEPWELL_OIDC_ISSUER needs STEPWELL_OIDC_AUDIENCE: for whom its tokens must be")
        return self

    @property
    def without_isolation(self) -> bool:
        """Whether cells in local sandboxes can do all that this process can."""
        return self.isolation == "process"

    @property
    def has_users(self) -> bool:
        """Whether a server asks who somebody is; without, it answers this machine alone."""
        return self.api_keys is not None or bool(self.oidc_issuer)

    @property
    def blob_owner(self) -> Path:
        """The file that holds the name of the blobs' owner. For a database, `open_checkpoints` writes it."""
        url = self.database_url.get_secret_value()
        name = hashlib.sha256(url.encode()).hexdigest()[:16] if url else "command"
        return self.home / f"blob-owner-{name}"

    @property
    def uploads_folder(self) -> Path:
        """Where uploaded inputs lie."""
        return self.uploads or self.home / "uploads"

    @property
    def limits(self) -> Limits:
        """What a local sandbox may use."""
        return Limits(
            memory=self.sandbox_memory_mb * MEGABYTE,
            processes=self.sandbox_processes,
            file=self.sandbox_file_mb * MEGABYTE,
            workspace=self.sandbox_disk_mb * MEGABYTE,
            tmp=self.sandbox_tmp_mb * MEGABYTE,
            open_files=self.sandbox_open_files,
            cpu=self.sandbox_cpu_seconds,
        )

    @property
    def shared(self) -> bool:
        """Whether threads may be gone on with on other machines, which do not have this one's workspaces."""
        return bool(self.database_url.get_secret_value()) or "://" in self.blobs

    @property
    def daytona(self) -> Options:
        """How sandboxes in Daytona are made."""
        return Options(
            Account(
                api_key=self.daytona_api_key.get_secret_value(),
                jwt_token=self.daytona_jwt_token.get_secret_value(),
                organization_id=self.daytona_organization_id,
                api_url=self.daytona_api_url,
                target=self.daytona_target,
            ),
            prefix=self.daytona_prefix,
            snapshot=self.daytona_snapshot,
            image=self.daytona_image,
            cpu=self.daytona_cpu,
            memory=self.daytona_memory,
            disk=self.daytona_disk,
            auto_stop=self.daytona_auto_stop,
            auto_archive=self.daytona_auto_archive,
            auto_delete=self.daytona_auto_delete,
            network=self.network_rules,
            network_allow_list=self.daytona_network_allow_list,
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of sandboxes that are configured."""
        configured = {"local": True, "daytona": self.daytona.account.known, "docker": bool(self.docker_image)}
        return tuple(kind for kind, known in configured.items() if known)

    @property
    def docker(self) -> DockerOptions:
        """How containers are made."""
        return DockerOptions(
            command=tuple(shlex.split(self.docker_command)),
            image=self.docker_image or IMAGE,
            prefix=self.docker_prefix,
            limits=self.limits,
            cpus=self.docker_cpus,
            network=self.network_rules,
            engine_network=self.docker_network,
            auto_stop=self.docker_auto_stop,
            auto_delete=self.docker_auto_delete,
        )

    @property
    def local(self) -> "IsolationRequest":
        """What is asked of local sandboxes."""
        from sandboxes.local.isolation import IsolationRequest

        return IsolationRequest(
            self.python,
            self.home / "cache",
            self.isolation,
            self.require_isolation,
            self.limits,
            self.network_rules,
            self.kept_copies,
        )

    @property
    def network_rules(self) -> Network:
        """What cells may reach."""
        return Network.only(self.network_allow) if self.network == "allowlist" else Network(self.network)

    def with_network(self, network: Network | None) -> "Settings":
        """These settings with another network; None: the same."""
        if network is None:
            return self
        domains = ",".join(str(domain) for domain in network.allowed)
        return self.model_copy(update={"network": network.mode, "network_allow": domains})

    @property
    def price_list(self) -> Prices | None:
        """The prices, or None when there are none."""
        return Prices(float(part) for part in self.prices.split(",")) if self.prices else None


def read_settings(**given: Any) -> Settings:
    """Read the settings from the environment and from `.env` files (`graph.env_files`).

    Vendors' keys in them (such as `OPENAI_API_KEY`) are put into the environment of this process, where the vendors'
    libraries look for them; they never reach a sandbox.

    Args:
        given: Values that go before the environment.

    Raises:
        SettingsError: a variable is unknown or its value cannot be used.
    """
    try:
        load_env_files()
    except EnvFileError as error:
        raise SettingsError(str(error)) from None
    fields = Settings.model_fields.items()
    known = {f"STEPWELL_{name.upper()}" for name, field in fields if field.validation_alias is None} | ELSEWHERE
    for name in sorted(os.environ):
        if name.startswith("STEPWELL_") and name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.85)
            meant = f"did you mean {near[0]}?" if near else f"known are: {', '.join(sorted(known))}."
            raise SettingsError(f"{name} is not a setting of Stepwell; {meant}")
    try:
        settings = Settings(**given)
        _check_packages(settings)
        return settings
    except ValidationError as error:
        first = error.errors()[0]
        said = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            raise SettingsError(f"{said}.") from None
        name = str(first["loc"][0])
        variable = name if name.isupper() else f"STEPWELL_{name.upper()}"
        raise SettingsError(f"{variable} cannot be used: {said}.") from None


def _check_packages(settings: Settings) -> None:
    """See before anything begins that what the storage needs is there: at its end, an analysis would be hard to save.

    Raises:
        SettingsError: a package is missing.
    """
    for name in ("artifacts", "blobs"):
        try:
            check_package(getattr(settings, name))
        except ImportError as error:
            raise SettingsError(f"STEPWELL_{name.upper()} {error}.") from None


def named(listed: str) -> tuple[str, ...]:
    """What a setting lists with commas between."""
    return tuple(one.strip() for one in listed.split(",") if one.strip())


def server_keeps_our_checkpoints(settings: Settings) -> bool:
    """Whether the LangGraph server that runs this keeps checkpoints where the command and the Python API do.

    It does when `langgraph.json` names our checkpointer; and a server that brings its own keeps them in the database
    that it shares with us, when there is one.
    """
    named = os.environ.get("LANGGRAPH_CHECKPOINTER", "")  # what `langgraph.json` says, as the server hands it on
    return "server.checkpoints." in named or bool(settings.database_url.get_secret_value())


async def settings_or_default(settings: Settings | None) -> Settings:
    """The settings that were given, or else what the environment says; for use in an event loop."""
    return await asyncio.to_thread(read_settings) if settings is None else settings
