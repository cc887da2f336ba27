"""Tokens of an OpenID Connect issuer: its keys are discovered, kept, and fetched anew when they are old or one is new.

OpenID Connect Discovery 1.0 for where the keys are, RFC 7517 for what they look like, RFC 7519 and RFC 8725 for tokens.
"""

import asyncio
import logging
import math
import time
from typing import Any

import httpx
import jwt

from server.users import UnknownUserError, User

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""With two keys, one of them public: what is signed with a secret that both sides know is not taken, nor what is not
signed."""
KEPT_SECONDS = 3_600.0
AGAIN_SECONDS = 10.0
WAIT_SECONDS = 10.0
LEEWAY = 30
"""Seconds that clocks may differ."""
RSA_BITS = 2_048
"""The shortest key that is taken, as RFC 7518 demands it."""
OPERATOR = "stepwell:operator"
"""The scope that opens what concerns the whole server."""

logger = logging.getLogger(__name__)


class Issuer:
    """Verifies the tokens of one issuer.

    Args:
        url: The issuer, as its tokens name it.
        audience: For whom tokens must be.
        claim: What names the user in them.
        kept: Seconds that its keys are good for.
        again: How soon they are fetched again for a token that names an unknown one.
    """

    def __init__(
        self, url: str, audience: str, claim: str, *, kept: float = KEPT_SECONDS, again: float = AGAIN_SECONDS
    ) -> None:
        self._url = url
        self._audience = audience
        self._claim = claim
        self._keys: dict[str, jwt.PyJWK] = {}
        self._kept_seconds = kept
        self._again_seconds = again
        self._fetched = self._tried = -math.inf
        self._turn = asyncio.Lock()

    async def authenticate(self, credential: str) -> User | None:
        """The user of this token; None when it is not a token.

        Raises:
            UnknownUserError: it is not valid, or the issuer cannot be reached to tell.
        """
        try:
            head = jwt.get_unverified_header(credential)
        except jwt.InvalidTokenError:
            return None
        if head.get("alg") not in ALGORITHMS:
            raise UnknownUserError("This token is signed in a way that is not taken.")
        key = await self._key(str(head.get("kid") or ""))
        try:
            claims: dict[str, Any] = jwt.decode(
                credential,
                key,
                algorithms=[head["alg"]],
                audience=self._audience,
                issuer=self._url,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.InvalidTokenError, jwt.InvalidKeyError, TypeError, ValueError) as error:
            raise UnknownUserError(f"This token is not valid: {_sentence(error)}.") from None
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if several and claims.get("azp") != self._audience:  # whom it was made for could show it to us
            raise UnknownUserError("This token is for several audiences, and its `azp` does not name this server.")
        return self._user(claims)

    def _user(self, claims: dict[str, Any]) -> User:
        name = claims.get(self._claim)
        if not isinstance(name, str) or not name.strip():
            raise UnknownUserError(f"This token names no user: it has no `{self._claim}`.")
        if self._claim == "email" and claims.get("email_verified") is not True:
            raise UnknownUserError("The address in this token is not verified.")
        scopes = claims.get("scope")
        return User(f"oidc:{name}", operator=OPERATOR in (scopes.split() if isinstance(scopes, str) else []))

    async def _key(self, id: str) -> jwt.PyJWK:
        # Who is known does not wait for what others have asked the issuer.
        if id in self._keys and (self._turn.locked() or not self._old()):
            return self._keys[id]
        async with self._turn:  # of many requests at once, one fetches
            due = time.monotonic() - self._tried > self._again_seconds
            if (self._old() or id not in self._keys) and due:
                try:
                    async with asyncio.timeout(WAIT_SECONDS):  # for all of it, however slowly it comes
                        self._keys = await self._fetch()
                    self._fetched = time.monotonic()
                except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError, TimeoutError) as error:
                    # The keys that are there stay good: an issuer that is away for an hour locks nobody out.
                    logger.warning("The keys of the issuer cannot be fetched (%s).", _sentence(error))
                finally:
                    self._tried = time.monotonic()  # those who waited meanwhile do not ask again one by one
            if id in self._keys:
                return self._keys[id]
            if not id and len(self._keys) == 1:
                return next(iter(self._keys.values()))
        if not self._keys:
            raise UnknownUserError("The issuer cannot be reached now; try again later.")
        raise UnknownUserError("This token is signed with a key that its issuer does not have.")

    def _old(self) -> bool:
        return time.monotonic() - self._fetched > self._kept_seconds

    async def _fetch(self) -> dict[str, jwt.PyJWK]:
        # Making a client reads certificates from the disk.
        client = await asyncio.to_thread(httpx.AsyncClient, timeout=WAIT_SECONDS, follow_redirects=False)
        async with client:
            found = await client.get(f"{self._url.rstrip('/')}/.well-known/openid-configuration")
            about = found.raise_for_status().json()
            if about["issuer"] != self._url:
                raise ValueError("it names itself differently")
            keys_at = str(about["jwks_uri"])
            if self._url.startswith("https://") and not keys_at.startswith("https://"):
                raise ValueError("its keys are not at an https:// URL")
            listed = (await client.get(keys_at)).raise_for_status().json()["keys"]
        keys: dict[str, jwt.PyJWK] = {}
        for one in listed:
            if one.get("use", "sig") != "sig" or one.get("kty") == "oct":
                continue
            try:
                key = jwt.PyJWK(one)
            except (jwt.PyJWTError, ValueError):
                continue  # of a kind that is not known here
            if one.get("kty") == "RSA" and key.key.key_size < RSA_BITS:
                logger.warning("A key of the issuer is not taken: it has fewer than %d bits.", RSA_BITS)
                continue
            keys[str(one.get("kid") or "")] = key
        return keys


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
