"""What a command line says of the network, over what the settings say."""

from dataclasses import dataclass
from typing import Any, get_args

from sandboxes.network import Mode, NetworkError, parse_domains
from stepwell.errors import UsageError


@dataclass(frozen=True, slots=True)
class NetworkChoice:
    """The values of `--network` and `--allow-domain`."""

    mode: str = ""
    domains: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """What goes before the settings: domains that are named here stand in the place of theirs.

        Raises:
            UsageError: they cannot be used.
        """
        modes = get_args(Mode)
        if self.mode and self.mode not in modes:
            raise UsageError(f"--network cannot be {self.mode!r}; there are: {', '.join(modes)}.")
        if self.domains and self.mode not in ("", "allowlist"):
            raise UsageError(f"--allow-domain goes with --network allowlist, not with --network {self.mode}.")
        try:
            parse_domains(self.domains)
        except NetworkError as error:
            raise UsageError(f"--allow-domain: {error}.") from None
        if self.domains:
            return {"network": "allowlist", "network_allow": ",".join(self.domains)}
        return {"network": self.mode} if self.mode else {}

    def options(self) -> tuple[str, ...]:
        """The options as they are given again to a command that goes on."""
        mode = ("--network", self.mode) if self.mode else ()
        return (*mode, *(part for domain in self.domains for part in ("--allow-domain", domain)))
