"""What users of a server may ask of it: the operator's file of limits, read and checked here and nowhere else.

The most that each knob of a run may say, which models and kinds of sandboxes there are, what a user may have at a time
and in a day, and what a request may send. Each part has defaults, and each user may have other values than the rest.
"""

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graph.context import Context, KnobError, parse_context
from graph.settings import Settings, SettingsError
from models.providers import bare_name
from models.selection import PLAYBOOK

BUDGETS = ("max_tokens", "max_cost")
"""Knobs where 0 means that the run sets no limit of its own."""
MAX_POLICY_BYTES = 1_000_000


class PolicyTable(BaseModel):
    """A table of the file: no unknown keys, no NaN or infinity, no text where a number is expected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class RunLimits(PolicyTable):
    """The most that each knob of a run may say; the names are those of the knobs."""

    models: tuple[str, ...] = Field(default=(), strict=False)
    """Names or patterns (`gpt-5.4*`) of the models that a run may name besides the default one and the playbook."""
    sandboxes: tuple[str, ...] = Field(default=(), strict=False)
    """Kinds of sandboxes; empty: `local`, and `daytona` and `docker` where they are configured."""
    max_cells: int = Field(default=100, ge=1, le=1000)
    cell_timeout: float = Field(default=1_800.0, gt=0)
    call_timeout: float = Field(default=600.0, gt=0)
    max_reviews: int = Field(default=5, ge=0, le=10)
    max_tokens: int = Field(default=5_000_000, ge=0)
    """For one thread; 0: no limit."""
    max_cost: float = Field(default=0.0, ge=0)
    """For one thread, in the currency of STEPWELL_PRICES; 0: no limit."""
    observation_chars: int = Field(default=20_000, ge=200)
    abstract_chars: int = Field(default=20_000, ge=200)
    prompt_chars: int = Field(default=400_000, ge=8_000)
    max_snapshot_bytes: int = Field(default=8_000_000_000, ge=0)
    max_rebuild_seconds: float = Field(default=600.0, ge=0)
    max_artifact_bytes: int = Field(default=1_000_000_000, ge=1)
    max_upload_bytes: int = Field(default=10_000_000_000, ge=1)


class Quotas(PolicyTable):
    """What one user may have at a time, in a minute and in a day."""

    runs: int = Field(default=3, ge=1)
    """Runs that are at work or queued; a further one waits until one of them has ended."""
    waiting_runs: int = Field(default=100, ge=0)
    """Runs that wait so; a further one is refused."""
    wait_seconds: float = Field(default=50.0, ge=0)
    """How long one waits so until it is refused."""
    sandboxes: int = Field(default=0, ge=0)
    """Places of STEPWELL_MAX_SANDBOXES; 0: all but one."""
    disk_mb: int = Field(default=50_000, ge=1)
    """What the user's threads keep: snapshots and published files."""
    tokens_a_day: int = Field(default=20_000_000, ge=0)
    """Tokens in and out, by the clock of UTC; 0: no limit."""
    cost_a_day: float = Field(default=0.0, ge=0)
    """In the currency of STEPWELL_PRICES; 0: no limit."""
    requests_a_minute: int = Field(default=3_000, ge=1)
    megabytes_a_minute: int = Field(default=6_000, ge=1)
    """Of what requests send, uploads too."""


class RequestLimits(PolicyTable):
    """What one request may send, whoever sends it; uploads have their own limits."""

    megabytes: float = Field(default=32.0, gt=0)
    values: int = Field(default=100_000, ge=100)
    """Values of a JSON document, those within others too."""
    depth: int = Field(default=64, ge=8)
    """How deep they may lie within one another."""
    seconds: float = Field(default=30.0, gt=0)
    """How long it may take to arrive."""
    listed: int = Field(default=1_000, ge=1)
    """The largest `limit` of a search."""
    history: int = Field(default=100, ge=1)
    """The largest `limit` of a thread's history, where each entry has its whole state."""


class UserOverrides(PolicyTable):
    """What is different for one user; everything else is as for the others."""

    limits: RunLimits = RunLimits()
    quotas: Quotas = Quotas()

    def limits_over(self, general: RunLimits) -> RunLimits:
        """The limits of this user."""
        return general.model_copy(update=self.limits.model_dump(exclude_unset=True))

    def quotas_over(self, general: Quotas) -> Quotas:
        """The quotas of this user."""
        return general.model_copy(update=self.quotas.model_dump(exclude_unset=True))


class PolicyFile(PolicyTable):
    """The policy file as a whole."""

    limits: RunLimits = RunLimits()
    quotas: Quotas = Quotas()
    bodies: RequestLimits = RequestLimits()
    users: dict[str, UserOverrides] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one user may ask for."""

    limits: RunLimits
    quotas: Quotas
    model: str
    """The default model; a run may always name it."""
    kinds: tuple[str, ...]

    def knobs(self, given: object) -> Context:
        """The knobs of a run as they hold for this user.

        A knob that has its default value counts as one that nobody has set, because forms send them all: where the
        default is more than the user may have, the most that they may have takes its place.

        Raises:
            KnobError: a knob is unknown, or of a wrong type, or more than the user may say.
        """
        context = parse_context(given)
        self._check_names(context)
        lowered: dict[str, Any] = {}
        for name in RunLimits.model_fields:
            if name not in Context.model_fields:
                continue
            value, most = getattr(context, name), getattr(self.limits, name)
            if name in BUDGETS:
                value, most = value or math.inf, most or math.inf
            if value <= most:
                continue
            if getattr(context, name) != Context.model_fields[name].default:
                raise KnobError(
                    f"{name} is {_number(value)}, and at most {_number(most)} is allowed here; the operator sets that."
                )
            lowered[name] = most
        return context.model_copy(update=lowered) if lowered else context

    def _check_names(self, context: Context) -> None:
        if context.sandbox not in self.kinds:
            raise KnobError(
                f"sandbox is {context.sandbox[:50]!r}, and only {_listed(self.kinds)} may be used here; "
                "the operator sets that."
            )
        asked = bare_name(context.model)
        allowed = (bare_name(self.model) or PLAYBOOK, PLAYBOOK, *map(bare_name, self.limits.models))
        if asked and not any(fnmatchcase(asked, pattern) for pattern in allowed):
            raise KnobError(
                f"model is {context.model[:100]!r}, and only {_listed(dict.fromkeys(allowed))} may be used here; "
                "the operator sets that."
            )


class Policy:
    """What the users of a server may ask for.

    Args:
        document: What the operator's file says.
        settings: What else they have configured.

    Raises:
        SettingsError: money is limited, and there are no prices.
    """

    def __init__(self, document: PolicyFile, settings: Settings) -> None:
        self.bodies = document.bodies
        self._document = document
        self._model = settings.model.strip()
        self._kinds = settings.kinds
        self._general = self._allowance(document.limits, document.quotas)
        self._others = {
            user: self._allowance(one.limits_over(document.limits), one.quotas_over(document.quotas))
            for user, one in document.users.items()
        }
        everybody = (self._general, *self._others.values())
        if settings.price_list is None and any(one.limits.max_cost or one.quotas.cost_a_day for one in everybody):
            raise SettingsError("STEPWELL_POLICY: max_cost and cost_a_day need STEPWELL_PRICES.")

    def of(self, user: str) -> Allowance:
        """What this user may ask for."""
        return self._others.get(user, self._general)

    def _allowance(self, limits: RunLimits, quotas: Quotas) -> Allowance:
        return Allowance(limits, quotas, self._model, limits.sandboxes or self._kinds)


def read_policy(settings: Settings) -> Policy | None:
    """The policy of a server: of the file that STEPWELL_POLICY names, else the defaults.

    Returns:
        None where there are no users and no file: then the server is one person's, who may do what they like.

    Raises:
        SettingsError: the file cannot be read, or something in it cannot be used.
    """
    if settings.policy is None:
        return Policy(PolicyFile(), settings) if settings.has_users else None
    try:
        with settings.policy.open("rb") as file:
            content = file.read(MAX_POLICY_BYTES + 1)
        if len(content) > MAX_POLICY_BYTES:
            raise SettingsError(f"STEPWELL_POLICY: {settings.policy} is larger than {MAX_POLICY_BYTES:,} bytes.")
        said = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise SettingsError(f"STEPWELL_POLICY: {settings.policy} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise SettingsError(f"STEPWELL_POLICY: {settings.policy} is not TOML ({error}).") from None
    try:
        return Policy(PolicyFile.model_validate(said), settings)
    except ValidationError as error:
        raise SettingsError(f"STEPWELL_POLICY: {settings.policy}: {_first(error)}.") from None


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{where} is not known there"
    return f"{where} cannot be used: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name[:100] for name in names)


def _number(value: float) -> str:
    return "unlimited" if value == math.inf else f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
