"""The files in deploy/ hold together: they parse strictly, and every name in them is known to whom it is meant for."""

import inspect
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from graph.settings import Settings
from graph.users.policy import read_policy
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.local.isolation import LEVELS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = sorted(DEPLOY.glob("*/docker-compose.yml"))
KUBERNETES = sorted(DEPLOY.rglob("kubernetes*.yaml"))
SERVERS = [*COMPOSE, *(file for file in KUBERNETES if file.parent != DEPLOY)]
SCHEMAS = ("1.30", "1.33")

OURS = {
    name.upper() if field.validation_alias else f"STEPWELL_{name.upper()}"
    for name, field in Settings.model_fields.items()
}
AMAZON = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}
IMAGES = {
    "pgvector/pgvector": {"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB", "PGDATA"},
    "minio/minio": {"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"},
    "minio/mc": {"KEY", "SECRET"},  # of the command that stands there
    "valkey/valkey": set(),
}
"""What the images of others read, as their documents say."""


def documents(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text()))


def names_in_the_source_of(*modules: str) -> set[str]:
    """Everything in a vendor's source that may be the name of a variable."""
    import importlib.util

    found: set[str] = set()
    for module in modules:
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.submodule_search_locations
        for folder in spec.submodule_search_locations:
            for file in Path(folder).rglob("*.py"):
                found |= set(re.findall(r"[\"']([A-Z][A-Z0-9_]{2,})[\"']", file.read_text()))
    return found


def containers(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The image and the variables of each container that a file starts."""
    if file in COMPOSE:
        for service in documents(file)[0]["services"].values():
            yield service["image"], service.get("environment", {})
        return
    maps = {one["metadata"]["name"]: one["data"] for one in documents(file) if one["kind"] == "ConfigMap"}
    for one in documents(file):
        if one["kind"] in ("Deployment", "StatefulSet"):
            pod = one["spec"]["template"]["spec"]
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                given = {item["name"]: item for item in container.get("env", [])}
                for source in container.get("envFrom", []):
                    given |= maps[source["configMapRef"]["name"]]
                yield container["image"], given


def known_to(image: str) -> set[str]:
    name = image.rpartition(":")[0].removeprefix("registry.example.org/")
    if name not in ("stepwell-langgraph", "stepwell-aegra"):
        return IMAGES[name]
    s3fs = pytest.importorskip("s3fs")

    bucket = {f"FSSPEC_S3_{name.upper()}" for name in inspect.signature(s3fs.S3FileSystem.__init__).parameters}
    ours = OURS | AMAZON | bucket | {"LANGGRAPH_STRICT_MSGPACK"}
    if name == "stepwell-langgraph":
        return ours | names_in_the_source_of("langgraph_api")
    return ours | set((ROOT / "tests/aegra_variables.txt").read_text().split())


@pytest.mark.parametrize("file", [*COMPOSE, *KUBERNETES], ids=lambda file: str(file.relative_to(DEPLOY)))
def test_every_variable_is_known_to_what_reads_it(file: Path) -> None:
    found = list(containers(file))
    assert found
    for image, given in found:
        assert set(given) <= known_to(image), (image, set(given) - known_to(image))


def test_a_mistyped_variable_would_be_noticed() -> None:
    for image in ("stepwell-langgraph:1", "stepwell-aegra:1"):
        assert not {"STEPWELL_BLOB", "DATABASE_URLS", "FSSPEC_S3_ENDPOINT", "N_JOBS_PER_WORKERS"} & known_to(image)


def test_what_the_example_of_an_env_file_names_is_used_in_a_compose_file_and_the_other_way_round() -> None:
    named = set(re.findall(r"^([A-Z_]+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE))
    used = {name for file in COMPOSE for name in re.findall(r"\$\{([A-Z_]+)", file.read_text())}
    assert named == used


@pytest.mark.parametrize("file", SERVERS, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_the_policy_can_be_used_is_where_it_is_looked_for_and_lets_one_user_have_no_server(file: Path) -> None:
    text = (DEPLOY / "policy.toml").read_text()
    if file in COMPOSE:
        said = documents(file)[0]
        variables = said["services"]["server"]["environment"]
        secret = said["secrets"][Path(variables["STEPWELL_POLICY"]).name]
        assert (file.parent / secret["file"]).resolve() == DEPLOY / "policy.toml"
    else:
        maps = {one["metadata"]["name"]: one["data"] for one in documents(file) if one["kind"] == "ConfigMap"}
        variables = maps["stepwell"]
        assert variables["STEPWELL_POLICY"] == "/etc/stepwell/policy/policy.toml"
        assert maps["stepwell-policy"] == {"policy.toml": text}
    policy = read_policy(Settings(policy=DEPLOY / "policy.toml"))
    assert policy is not None
    quotas = policy.of("key:anybody").quotas
    assert quotas.sandboxes < int(variables["STEPWELL_MAX_SANDBOXES"])
    assert quotas.runs * 2 < int(variables["N_JOBS_PER_WORKER"]) * int(variables.get("WORKER_COUNT", 1))


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.parent.name)
def test_a_compose_file_is_one_by_the_compose_specification(file: Path) -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="has no wheel for this machine")
    text = file.read_text()
    read = compose_spec.PyCompose.from_yaml(text)
    assert "server" in read.service_names()
    for right, wrong in (("stop_grace_period", "stop_grace_time"), ("service_healthy", "healthy"), ("60s", "60x")):
        with pytest.raises(ValueError, match=r"services\."):
            compose_spec.PyCompose.from_yaml(text.replace(right, wrong))


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.parent.name)
def test_what_a_compose_file_names_is_there(file: Path) -> None:
    said = documents(file)[0]
    services = said["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert set(service["networks"]) <= set(said["networks"])
        for volume in service.get("volumes", []):
            source, _, target = volume.rpartition(":")
            assert target.startswith("/")
            assert not source or source in said["volumes"]
        for option in service.get("security_opt", []):
            if option.startswith("seccomp="):
                json.loads((file.parent / option.removeprefix("seccomp=")).read_text())
        if "build" in service:
            context = (file.parent / service["build"]["context"]).resolve()
            assert context == ROOT
            assert (context / service["build"]["dockerfile"]).exists()
    assert services["server"]["secrets"] == list(said["secrets"])
    for variable, path in services["server"]["environment"].items():
        if str(path).startswith("/run/secrets/"):
            assert Path(path).name in said["secrets"], variable


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: str(file.relative_to(DEPLOY)))
@pytest.mark.parametrize("version", SCHEMAS)
def test_a_manifest_fits_the_schemas_of_kubernetes(file: Path, version: str) -> None:
    for one in documents(file):
        kubernetes_validate.validate(one, version, strict=True)
    broken = documents(file)[-1]
    broken["spec"]["podSelectors"] = broken["spec"].pop("podSelector")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


@pytest.mark.parametrize("file", [file for file in KUBERNETES if file in SERVERS], ids=lambda file: file.parent.name)
def test_the_parts_of_a_manifest_find_each_other(file: Path) -> None:
    by_kind = {one["kind"]: one for one in documents(file)}
    pod = by_kind["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert by_kind["Service"]["spec"]["selector"] == labels
    for kind, key in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert by_kind[kind]["spec"][key]["matchLabels"] == labels
    server = pod["spec"]["containers"][0]
    mounts = {mount["name"] for mount in server["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["spec"]["volumes"]}
    claims = [
        one["persistentVolumeClaim"]["claimName"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one
    ]
    assert claims == [by_kind["PersistentVolumeClaim"]["metadata"]["name"]]
    maps = {one["metadata"]["name"]: one["data"] for one in documents(file) if one["kind"] == "ConfigMap"}
    for variable in ("STEPWELL_API_KEYS", "STEPWELL_POLICY"):
        folder = str(Path(maps["stepwell"][variable]).parent)
        assert folder in [mount["mountPath"] for mount in server["volumeMounts"]]
    assert {one["configMap"]["name"] for one in pod["spec"]["volumes"] if "configMap" in one} <= set(maps)
    port = server["ports"][0]["containerPort"]
    ingress, egress = (by_kind["NetworkPolicy"]["spec"][way] for way in ("ingress", "egress"))
    assert all(rule["ports"] == [{"protocol": "TCP", "port": port}] for rule in ingress)
    assert namespaces(ingress, "from") == {"ingress-nginx", "monitoring"}  # users, and Prometheus
    assert [one["port"] for rule in egress if namespaces([rule], "to") == {"monitoring"} for one in rule["ports"]] == [
        4318
    ]
    scaled = by_kind["HorizontalPodAutoscaler"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == by_kind["Deployment"]["metadata"]["name"]
    assert "replicas" not in by_kind["Deployment"]["spec"]  # each rollout would undo what the autoscaler has decided
    assert by_kind["PodDisruptionBudget"]["spec"]["maxUnavailable"] < scaled["minReplicas"]
    assert {one["resource"]["name"] for one in scaled["metrics"]} <= set(server["resources"]["requests"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert server[probe]["httpGet"]["port"] == "http"
    stores = {one["metadata"]["name"] for one in documents(DEPLOY / "kubernetes-stores.yaml")}
    text = file.read_text()
    assert set(re.findall(r"stepwell-(?:postgres|valkey)", text)) <= stores


def namespaces(rules: list[Any], way: str) -> set[str]:
    """The namespaces that rules of a network policy name."""
    peers = [peer for rule in rules for peer in rule[way] if "namespaceSelector" in peer]
    return {peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for peer in peers}


@pytest.mark.parametrize("file", SERVERS, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_a_server_is_an_ordinary_user_behind_walls_with_time_to_end(file: Path) -> None:
    """And asks for a level of isolation that there is."""
    settings = [given for image, given in containers(file) if "STEPWELL_BLOBS" in given]
    assert len(settings) == 1
    assert settings[0]["STEPWELL_REQUIRE_ISOLATION"] in LEVELS
    drain = float(settings[0]["STEPWELL_DRAIN_SECONDS"])
    if file in COMPOSE:
        server = documents(file)[0]["services"]["server"]
        grace, before = float(server["stop_grace_period"].removesuffix("s")), 0.0
        assert server["user"] == "10001:10001"
        assert server["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in server["security_opt"]
        limits = server["deploy"]["resources"]["limits"]
        assert {"cpus", "memory", "pids"} <= set(limits)
    else:
        pod = next(one for one in documents(file) if one["kind"] == "Deployment")["spec"]["template"]["spec"]
        grace = float(pod["terminationGracePeriodSeconds"])
        before = float(pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"])
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= set(container["resources"]["limits"])
    assert grace >= before + drain + 30


UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
HOST = 1_200 * MEGABYTE
"""What a server itself needs, with its zygotes, and what sandboxes take in the 50 ms until it is seen."""


def size(text: str) -> int:
    """Bytes, as compose files and Kubernetes write them."""
    number, unit = re.fullmatch(r"(\d+)([a-z]*)", text.lower()).groups()  # type: ignore[union-attr]
    return int(number) * UNITS[unit.removesuffix("b")]


def server_of(file: Path) -> tuple[dict[str, Any], int, int, int]:
    """The variables of a server, its memory, what of it file systems take, and its disk (0: not limited)."""
    given = next(given for _, given in containers(file) if "STEPWELL_BLOBS" in given)
    if file in COMPOSE:
        server = documents(file)[0]["services"]["server"]
        mounts = [one.partition(":size=") for one in server.get("tmpfs", [])]
        assert all(limit for _, _, limit in mounts), "a tmpfs without a size takes as much as there is"
        memory = server["deploy"]["resources"]["limits"]["memory"]
        return given, size(memory), sum(size(limit) for _, _, limit in mounts), 0
    pod = next(one for one in documents(file) if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    folders = [volume["emptyDir"] for volume in pod["volumes"] if "emptyDir" in volume]
    in_memory = sum(size(one["sizeLimit"]) for one in folders if one.get("medium") == "Memory")
    disk = max(size(one["sizeLimit"]) for one in folders if one.get("medium") != "Memory")
    return given, size(pod["containers"][0]["resources"]["limits"]["memory"]), in_memory, disk


@pytest.mark.parametrize("file", SERVERS, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_all_sandboxes_at_their_limits_fit_into_the_container(file: Path) -> None:
    """There is no control group in it: what they use beyond the container's memory ends the server."""
    given, memory, in_memory, disk = server_of(file)
    limits = Limits(
        memory=int(given["STEPWELL_SANDBOX_MEMORY_MB"]) * MEGABYTE,
        workspace=int(given["STEPWELL_SANDBOX_DISK_MB"]) * MEGABYTE,
        tmp=int(given.get("STEPWELL_SANDBOX_TMP_MB", 0)) * MEGABYTE,
    )
    places = int(given["STEPWELL_MAX_SANDBOXES"])
    assert 2 * limits.tmp_bytes + limits.shared_memory_bytes < limits.memory, "files in memory count as memory"
    assert places * limits.memory + in_memory + HOST <= memory
    if disk:  # the workspace, and the place of its snapshots
        assert places * (2 * limits.workspace + limits.memory) <= disk


def test_every_image_has_a_version() -> None:
    images = [image for file in [*COMPOSE, *KUBERNETES] for image, _ in containers(file)]
    for dockerfile in ("aegra/Dockerfile", "Dockerfile"):
        images += re.findall(r"^FROM (\S+)", (DEPLOY / dockerfile).read_text(), re.MULTILINE)
    for image in images:
        name, _, version = image.rpartition(":")
        assert name, image
        assert re.search(r"\d+\.\d+|\d{4}-\d\d-\d\d", version), image


def test_the_image_for_aegra_copies_what_is_there_and_gets_what_is_locked() -> None:
    text = (DEPLOY / "aegra/Dockerfile").read_text().replace("\\\n", " ")
    copied = [shlex.split(line)[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    sources = [source for line in copied for source in line]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert taken_along(source), source
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert packages <= set(sources)
    assert "--require-hashes -r requirements.lock" in text
    served = json.loads((DEPLOY / "aegra/aegra.json").read_text())
    for path in (served["auth"]["path"], served["http"]["app"]):
        module, _, _ = path.partition(":")
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    file, _, name = served["graphs"]["stepwell"].partition(":")
    assert f"import {name}" in (DEPLOY / "aegra" / file).read_text()


def test_the_image_of_the_command_is_made_of_the_wheel() -> None:
    """Its installing line is run by `test_wheel.py`."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    instructions = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] not in "# "]
    copied = [rest.split() for word, rest in instructions if word == "COPY"]
    assert copied == [["requirements.lock", "dist/stepwell-*.whl", "/build/"]]
    assert taken_along("requirements.lock")
    assert taken_along("dist/stepwell-0.1.0-py3-none-any.whl")
    said = dict(instructions)
    assert said["USER"] == "10001:10001", "not root"
    assert json.loads(said["ENTRYPOINT"]) == ["stepwell"]
    command = json.loads(said["CMD"])
    assert command[:2] == ["mcp", "--http"]
    assert command[2] == said["EXPOSE"]
    variables = dict(one.split("=") for one in said["ENV"].split())
    assert variables["STEPWELL_HOME"] == said["VOLUME"]
    known = {f"STEPWELL_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in variables if name.startswith("STEPWELL_")} <= known
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [extras] = re.findall(r"stepwell\[([\w,]+)\]", said["RUN"])
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    [version] = re.findall(r"python:(\d+\.\d+)", said["FROM"])
    assert tuple(map(int, version.split("."))) >= (3, 11)


def taken_along(source: str) -> bool:
    """Whether .dockerignore lets a path into the context of a build."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*", "all is left out that is not named"
    named = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    return any(source == name or source.startswith(f"{name}/") for name in named)


@pytest.mark.parametrize("secret", [".env", "deploy/example.env", ".venv", ".git", "tests", "examples", "deploy/keys"])
def test_what_is_nobodys_business_stays_out_of_images(secret: str) -> None:
    assert not taken_along(secret)
