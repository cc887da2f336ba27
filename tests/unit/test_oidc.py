"""Tokens of an issuer: its keys are found, kept, and found anew; what is not its word for us is not taken."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from graph.settings import SettingsError, read_settings
from server.api_keys import line_of, new_key
from server.oidc import Issuer
from server.users import UnknownUserError, Users


@dataclass
class Login:
    """An issuer on this machine."""

    url: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    asked: int = 0
    away: bool = False
    answers: threading.Event = field(default_factory=threading.Event)
    """Whether it answers at all."""
    named: str = ""
    """How it names itself, where that is not its URL."""

    def new_key(self, id: str, kind: str = "RS256") -> None:
        made: Any = (
            rsa.generate_private_key(65_537, 2_048) if kind == "RS256" else ec.generate_private_key(ec.SECP256R1())
        )
        self.keys[id] = (kind, made)

    def published(self) -> list[dict[str, Any]]:
        algorithms: dict[str, Any] = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}
        found = []
        for id, (kind, made) in self.keys.items():
            found.append({**json.loads(algorithms[kind].to_jwk(made.public_key())), "kid": id, "use": "sig"})
        return found

    def token(self, id: str = "one", *, key: Any = None, head: Any = None, **claims: Any) -> str:
        kind, made = self.keys.get(id, ("RS256", None))
        said = {"iss": self.url, "aud": "stepwell", "sub": "alice", "exp": time.time() + 60, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, key or made, algorithm=kind, headers={"kid": id, **(head or {})})


@pytest.fixture
def login() -> Iterator[Login]:
    login = Login()
    login.answers.set()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            login.asked += 1
            login.answers.wait()
            body: Any = {"keys": login.published()}
            if self.path == "/.well-known/openid-configuration":
                body = {"issuer": login.named or login.url, "jwks_uri": f"{login.url}/keys"}
            said = json.dumps(body).encode()
            self.send_response(503 if login.away else 200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    login.url = f"http://127.0.0.1:{server.server_address[1]}"
    login.new_key("one")
    yield login
    login.answers.set()
    server.shutdown()
    server.server_close()
    thread.join()


def issuer(login: Login, claim: str = "sub", **times: float) -> Issuer:
    return Issuer(login.url, "stepwell", claim, **times)


async def test_a_token_says_who_it_is_and_keys_are_asked_for_once(login: Login) -> None:
    door = issuer(login)
    login.new_key("two", "ES256")
    users = await asyncio.gather(*(door.authenticate(login.token(id)) for id in ("one", "two") * 5))
    assert {user.id for user in users if user is not None} == {"oidc:alice"}
    assert login.asked == 2
    operator = await door.authenticate(login.token(scope="openid stepwell:operator"))
    assert operator is not None
    assert operator.operator
    assert not any(user.operator for user in users if user is not None)


async def test_what_is_no_token_is_somebody_elses_to_know(login: Login) -> None:
    for credential in ("", "sw_key", "a.b.c", "é"):
        assert await issuer(login).authenticate(credential) is None
    assert login.asked == 0


async def test_a_token_that_is_not_the_issuers_word_for_us_is_refused(login: Login) -> None:
    stranger = rsa.generate_private_key(65_537, 2_048)
    wrong = {
        "another audience": login.token(aud="other"),
        "no audience": login.token(aud=None),
        "another issuer": login.token(iss="https://evil.example.org"),
        "over": login.token(exp=time.time() - 120),
        "without an end": login.token(exp=None),
        "not yet": login.token(nbf=time.time() + 600),
        "nobody": login.token(sub=None),
        "no text": login.token(sub=""),
        "another key of that name": login.token(key=stranger),
        "an unknown key": login.token("unknown", key=stranger),
        "not signed": jwt.encode({"iss": login.url, "aud": "stepwell", "sub": "alice"}, "", algorithm="none"),
        "signed with a secret": jwt.encode(
            {"iss": login.url, "aud": "stepwell", "sub": "alice", "exp": time.time() + 60},
            "x" * 64, algorithm="HS256", headers={"kid": "one"},
        ),
        "a key that it brings along": login.token(
            key=stranger, head={"jwk": {"kty": "RSA"}, "jku": "https://evil.example.org"}
        ),
    }  # fmt: skip
    door = issuer(login)
    taken = []
    for what, token in wrong.items():
        with contextlib.suppress(UnknownUserError):
            taken.append((what, await door.authenticate(token)))
    assert not taken
    head, body, signature = login.token().split(".")
    with pytest.raises(UnknownUserError):
        await door.authenticate(f"{head}.{body}.{signature[:-4]}AAAA")


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")  # of the test, which signs with it
async def test_a_key_that_is_too_short_is_no_key(login: Login, caplog: pytest.LogCaptureFixture) -> None:
    login.keys["short"] = ("RS256", rsa.generate_private_key(65_537, 1_024))
    door = issuer(login)
    with pytest.raises(UnknownUserError, match="does not have"):
        await door.authenticate(login.token("short"))
    assert "2048 bits" in caplog.text
    assert await door.authenticate(login.token("one")) is not None


@pytest.mark.parametrize(
    ("claims", "taken"),
    [
        ({"aud": ["stepwell"]}, True),
        ({"aud": ["stepwell"], "azp": "a-client"}, True),
        ({"aud": "stepwell", "azp": "a-client"}, True),
        ({"aud": ["stepwell", "another"], "azp": "stepwell"}, True),
        ({"aud": ["stepwell", "another"]}, False),
        ({"aud": ["another", "stepwell"], "azp": "another"}, False),
        ({"aud": ["stepwell", "stepwell2"], "azp": ["stepwell"]}, False),
    ],
)
async def test_a_token_for_several_audiences_is_taken_when_it_was_made_for_us(
    login: Login, claims: dict[str, Any], taken: bool
) -> None:
    door = issuer(login)
    if taken:
        assert await door.authenticate(login.token(**claims)) is not None
        return
    with pytest.raises(UnknownUserError, match="several audiences"):
        await door.authenticate(login.token(**claims))


async def test_a_new_key_is_found_and_one_that_was_taken_away_is_not_good_for_long(login: Login) -> None:
    door = issuer(login, kept=0.0, again=0.0)
    old = login.token()
    assert await door.authenticate(old) is not None
    login.new_key("new")
    assert await door.authenticate(login.token("new")) is not None
    del login.keys["one"]
    with pytest.raises(UnknownUserError, match="does not have"):
        await door.authenticate(old)


async def test_unknown_keys_do_not_have_the_issuer_asked_again_and_again(login: Login) -> None:
    door = issuer(login)
    stranger = rsa.generate_private_key(65_537, 2_048)
    for number in range(5):
        with pytest.raises(UnknownUserError):
            await door.authenticate(login.token(f"unknown-{number}", key=stranger))
    assert login.asked == 2


async def test_an_issuer_that_is_away_locks_nobody_out_who_is_known_already(login: Login) -> None:
    door = issuer(login, kept=0.0, again=0.0)
    assert await door.authenticate(login.token()) is not None
    login.away = True
    assert await door.authenticate(login.token()) is not None
    with pytest.raises(UnknownUserError, match="cannot be reached"):
        await issuer(login).authenticate(login.token())


async def test_an_issuer_that_names_itself_differently_is_not_believed(login: Login) -> None:
    login.named = "https://evil.example.org"
    with pytest.raises(UnknownUserError, match="cannot be reached"):
        await issuer(login).authenticate(login.token())


async def test_an_address_counts_when_it_is_verified(login: Login) -> None:
    door = issuer(login, "email")
    user = await door.authenticate(login.token(email="a@example.org", email_verified=True))
    assert user is not None
    assert user.id == "oidc:a@example.org"
    for verified in (False, None, "true"):
        with pytest.raises(UnknownUserError, match="not verified"):
            await door.authenticate(login.token(email="a@example.org", email_verified=verified))


@pytest.mark.parametrize(
    ("issuer_url", "audience", "words"),
    [("https://login.example.org", "", "STEPWELL_OIDC_AUDIENCE"), ("http://login.example.org", "x", "https://"),
     ("login.example.org", "x", "https://")],
)  # fmt: skip
def test_an_issuer_that_cannot_be_trusted_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, issuer_url: str, audience: str, words: str
) -> None:
    monkeypatch.setenv("STEPWELL_OIDC_ISSUER", issuer_url)
    monkeypatch.setenv("STEPWELL_OIDC_AUDIENCE", audience)
    with pytest.raises(SettingsError, match=words):
        read_settings()


async def test_a_user_with_a_key_and_one_with_a_token_of_the_same_name_are_two(login: Login, tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "keys").write_text(line_of("alice", key) + "\n")
    named = {"api_keys": tmp_path / "keys", "oidc_issuer": login.url, "oidc_audience": "stepwell"}
    settings = await asyncio.to_thread(read_settings, **named)
    assert settings.has_users
    users = await asyncio.to_thread(Users.of, settings)
    assert users.auth_required
    for shown, who in ((key, "key:alice"), (login.token(), "oidc:alice")):
        assert (await users.sender({b"authorization": b"Bearer " + shown.encode()})).id == who
        assert (await users.sender({b"x-api-key": shown.encode()})).id == who
    for wrong in (b"", b"Bearer", b"Bearer x.y.z", b"Bearer \xff", b"Basic " + key.encode()):
        with pytest.raises(UnknownUserError):
            await users.sender({b"authorization": wrong})
    assert not Users.of(await asyncio.to_thread(read_settings)).auth_required


@pytest.mark.parametrize("old", [True, False], ids=["its keys are old", "a token names another key"])
async def test_an_issuer_that_does_not_answer_holds_nobody_up_whose_key_is_known(login: Login, old: bool) -> None:
    door = issuer(login, again=0.0, kept=0.0 if old else 3_600.0)
    assert await door.authenticate(login.token()) is not None
    login.answers.clear()
    login.new_key("new")
    asked = login.asked
    waiting = asyncio.create_task(door.authenticate(login.token() if old else login.token("new")))
    waiting.add_done_callback(lambda one: one.exception())
    while login.asked == asked:
        await asyncio.sleep(0.01)
    other = asyncio.create_task(door.authenticate(login.token()))
    done, _ = await asyncio.wait([other, waiting], return_when=asyncio.FIRST_COMPLETED)
    login.answers.set()
    assert other in done
    assert await other is not None
    assert await waiting is not None
