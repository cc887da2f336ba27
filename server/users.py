"""Who sends a request: found out from an API key or a token, for our routes and for LangGraph's alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from graph.settings import Settings
from graph.users.identity import LOCAL

MAX_CREDENTIAL = 16_384
"""Characters of a key or a token."""


class UnknownUserError(Exception):
    """A request does not say who sends it, or says it with something that is not valid; the message says what to do."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who uses the server."""

    id: str
    """What everything of theirs is marked with; different for each kind of credential."""
    operator: bool = False
    """Whether they may see what concerns the whole server, such as its metrics."""


class Authenticator(Protocol):
    """Verifies one kind of credential."""

    async def authenticate(self, credential: str) -> User | None:
        """The user who has it; None when it is of another kind or unknown.

        Raises:
            UnknownUserError: it is of this kind, and not valid.
        """


class Users:
    """Finds out who sends a request.

    Args:
        authenticators: The kinds of credentials that are taken; without any, everybody is the one local user.
    """

    def __init__(self, authenticators: tuple[Authenticator, ...]) -> None:
        self._authenticators = authenticators

    @classmethod
    def of(cls, settings: Settings) -> "Users":
        """The users that the operator has configured; reads the file of keys.

        Raises:
            SettingsError: the file of keys cannot be read.
        """
        authenticators: list[Authenticator] = []
        if settings.api_keys is not None:
            from server.api_keys import ApiKeys

            authenticators.append(ApiKeys(settings.api_keys))
        if settings.oidc_issuer:
            from server.oidc import Issuer

            authenticators.append(Issuer(settings.oidc_issuer, settings.oidc_audience, settings.oidc_user))
        return cls(tuple(authenticators))

    @property
    def auth_required(self) -> bool:
        """Whether a request must say who sends it."""
        return bool(self._authenticators)

    async def sender(self, headers: Mapping[bytes, bytes]) -> User:
        """Who sends a request.

        Args:
            headers: The request's, with lower-case names.

        Raises:
            UnknownUserError: it does not say so, or what it shows is not valid.
        """
        if not self._authenticators:
            return User(LOCAL, operator=True)
        credential = credential_in(headers)
        if not credential:
            raise UnknownUserError("Say who you are: send `Authorization: Bearer KEY` or `X-Api-Key: KEY`.")
        if len(credential) <= MAX_CREDENTIAL:
            for authenticator in self._authenticators:
                if (user := await authenticator.authenticate(credential)) is not None:
                    return user
        raise UnknownUserError("This key or token is not known here.")


def credential_in(headers: Mapping[bytes, bytes]) -> str:
    """The key or token that a request shows; empty when it shows none."""
    try:
        scheme, _, credential = headers.get(b"authorization", b"").decode("ascii").strip().partition(" ")
        if scheme:
            return credential.strip() if scheme.lower() == "bearer" else ""
        return headers.get(b"x-api-key", b"").decode("ascii").strip()
    except UnicodeDecodeError:
        return ""
