"""Behind a company's proxy, which signs every connection with a certificate that only the system knows."""

import asyncio
import datetime
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from graph.settings import Settings
from tests.other_process import environment
from tests.scripted_model import Call, ScriptedServer

SCRIPT = [Call("submit_answer", answer="It was reached.")]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the company's certificate (`ca.pem`), and one for localhost that it signed (`localhost.pem`)."""
    folder = tmp_path_factory.mktemp("authority")
    key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    company = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Company's proxy")])
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)

    def made(subject: x509.Name, public: ec.EllipticCurvePublicKey, *, signs: bool) -> x509.Certificate:
        certificate = x509.CertificateBuilder(company, subject, public, x509.random_serial_number())
        certificate = certificate.not_valid_before(begin).not_valid_after(begin + datetime.timedelta(days=9))
        certificate = certificate.add_extension(x509.BasicConstraints(signs, None), critical=True)
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        return certificate.add_extension(names, critical=False).sign(key, hashes.SHA256())

    root = made(company, key.public_key(), signs=True)
    leaf = made(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), own.public_key(), signs=False)
    text = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(text))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "localhost.pem").write_bytes(own.private_bytes(text, *plain) + leaf.public_bytes(text))
    return folder


@asynccontextmanager
async def behind_tls(url: str, authority: Path) -> AsyncIterator[str]:
    """The address of a door with TLS to a server without."""
    there = urlsplit(url)

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(there.hostname, there.port)
        try:
            await asyncio.gather(copy(reader, outer), copy(inner, writer), return_exceptions=True)
        finally:  # a line that is still open when its loop is closed fails some later test
            outer.close()
            writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "localhost.pem")
    async with await asyncio.start_server(serve, "localhost", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"https://localhost:{port}{there.path}"


async def asked(url: str, settings: Settings, *before: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Ask a question of a model at an address."""
    command = [*before, sys.executable, "-m", "stepwell", "run", "Are you there?", "--quiet"]
    told = environment(settings, url, OPENAI_API_KEY="none", **more)
    return await asyncio.to_thread(subprocess.run, command, env=told, capture_output=True, text=True)


@pytest.mark.slow
async def test_a_certificate_that_nobody_knows_is_one_sentence(settings: Settings, authority: Path) -> None:
    async with ScriptedServer([]) as model, behind_tls(model.base_url, authority) as url:
        done = await asked(url, settings, STEPWELL_MODEL_RETRIES="0")
    assert done.returncode == 1
    assert "certificate" in done.stderr.lower()
    assert "SSL_CERT_FILE" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
async def test_a_certificate_that_is_named_is_trusted(settings: Settings, authority: Path) -> None:
    async with ScriptedServer(SCRIPT) as model, behind_tls(model.base_url, authority) as url:
        done = await asked(url, settings, SSL_CERT_FILE=str(authority / "ca.pem"))
        assert done.stdout.startswith("It was reached."), done.stderr


async def test_a_certificate_that_the_system_trusts_is_trusted(
    settings: Settings, authority: Path, tmp_path: Path
) -> None:
    """The folder of the system's certificates is another one for the command, which sees mounts of its own."""
    folder = Path(ssl.get_default_verify_paths().openssl_capath).resolve()
    inside = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        'mount --bind "$0" "$1" && shift && exec "$@"',
    ]
    if not folder.is_dir() or not shutil.which("openssl") or not shutil.which("unshare"):
        pytest.skip("OpenSSL's command or its folder is missing")
    if subprocess.run([*inside, str(tmp_path), str(folder), "true"], capture_output=True).returncode:
        pytest.skip("no mounts of its own can be had here")
    asking = ["openssl", "x509", "-hash", "-noout", "-in", str(authority / "ca.pem")]
    name = subprocess.run(asking, capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / "certs").mkdir()
    shutil.copy(authority / "ca.pem", tmp_path / "certs" / f"{name}.0")
    async with ScriptedServer(SCRIPT) as model, behind_tls(model.base_url, authority) as url:
        done = await asked(url, settings, *inside, str(tmp_path / "certs"), str(folder))
        assert done.stdout.startswith("It was reached."), done.stderr
