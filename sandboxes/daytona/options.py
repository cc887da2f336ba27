"""What the operator says of sandboxes in Daytona: which account, what machine, how long it is kept, what it reaches."""

from dataclasses import dataclass, field

from sandboxes.network import NO_NETWORK, Network

MOST_RULES = 10
"""Networks, or domains, that the service takes for one sandbox."""
LONGEST = 43_199
"""Minutes: one less than what is not stored is kept."""
API_URL = "https://app.daytona.io/api"


@dataclass(frozen=True, slots=True)
class Account:
    """An account at Daytona."""

    api_key: str = field(default="", repr=False)
    jwt_token: str = field(default="", repr=False)
    organization_id: str = ""
    api_url: str = API_URL
    target: str = ""
    """The region; empty: the organization's default."""

    @property
    def known(self) -> bool:
        """Whether there is a key."""
        return bool(self.api_key or (self.jwt_token and self.organization_id))


@dataclass(frozen=True, slots=True)
class Options:
    """How sandboxes are made and kept."""

    account: Account = field(default_factory=Account)
    prefix: str = "stepwell"
    """How their names begin, and the value of their label `stepwell`."""
    snapshot: str = ""
    """The Daytona snapshot that they are made from; empty: the organization's default, unless `image` is given."""
    image: str = ""
    """A container image instead of a snapshot; only with it can resources be chosen."""
    cpu: int = 0
    memory: int = 0
    """GiB."""
    disk: int = 0
    """GiB."""
    auto_stop: int = 15
    """Minutes without use until Daytona stops one by itself; 0: never."""
    auto_archive: int = -1
    """Minutes that one is stopped until it is archived; -1: Daytona's default."""
    auto_delete: int = 15
    """Minutes that one is stopped until it is deleted, once the store has all that is in it; -1: never."""
    create_seconds: float = 300.0
    """How long making or starting one may take."""
    late_seconds: float = 120.0
    """How long after its time limit the end of a cell may be waited for; then the sandbox is stopped."""
    network: Network = NO_NETWORK
    """What cells may reach: nothing, domains, or everything."""
    network_allow_list: str = ""
    """IPv4 networks that may be reached, as Daytona takes them; goes before `network`."""

    def network_rules(self) -> dict[str, object]:
        """The network part of a request for a sandbox."""
        if self.network_allow_list:
            return {"network_allow_list": ",".join(one.strip() for one in self.network_allow_list.split(","))}
        if self.network.mode == "none":
            return {"network_block_all": True}
        if self.network.mode == "allowlist":
            names = (f"*.{domain.name}" if domain.below else domain.name for domain in self.network.allowed)
            return {"domain_allow_list": ",".join(names)}
        return {}

    @property
    def stored_minutes(self) -> int:
        """Minutes that one is kept of which the store has everything; less than any other is."""
        return min(self.auto_delete, LONGEST)

    @property
    def problem(self) -> str:
        """What Daytona would refuse, in a sentence that says what to change; empty: nothing is known."""
        if self.network_allow_list:
            networks = sum(bool(one.strip()) for one in self.network_allow_list.split(","))
            if networks > MOST_RULES:
                return (
                    f"Daytona takes at most {MOST_RULES} networks; STEPWELL_DAYTONA_NETWORK_ALLOW_LIST has {networks}."
                )
        elif self.network.mode == "allowlist" and len(self.network.allowed) > MOST_RULES:
            names = len(self.network.allowed)
            return f"Daytona takes at most {MOST_RULES} domains; STEPWELL_NETWORK_ALLOW names {names}."
        return ""

    @property
    def reaches(self) -> str:
        """What the kernel is told that cells may reach."""
        return "allowlist" if self.network_allow_list else self.network.mode
