"""What the service remembers of a sandbox, from the request that creates it and from its defaults."""

from typing import Any

from tests.daytona.answers import now

WEEK = 7 * 24 * 60


def new_record(asked: dict[str, Any]) -> dict[str, Any]:
    """The record of a new sandbox, but for what changes with its state."""
    built = "buildInfo" in asked
    copied = (
        *("public", "networkBlockAll", "networkAllowList", "domainAllowList", "outboundProxyUrl", "kvm"),
        *("autoStopInterval", "autoArchiveInterval", "autoDeleteInterval", "queueTimeout", "volumes"),
    )
    record = {
        "organizationId": "emulated-organization",
        "user": asked.get("user") or "daytona",
        "env": asked.get("env") or {},
        "labels": asked.get("labels") or {},
        "public": False,
        "networkBlockAll": False,
        "kvm": False,
        "target": asked.get("target") or "us",
        "cpu": asked.get("cpu", 1) if built else 1,
        "gpu": 0,
        "memory": asked.get("memory", 1) if built else 1,
        "disk": asked.get("disk", 3) if built else 3,
        "autoStopInterval": 15,
        "autoArchiveInterval": WEEK,
        "autoDeleteInterval": -1,
        "sandboxClass": "container",
        "daemonVersion": "v0.190.0",
        "createdAt": now(),
    }
    record.update({name: asked[name] for name in copied if asked.get(name) is not None})
    if built:
        record["buildInfo"] = {**asked["buildInfo"], "createdAt": now(), "updatedAt": now(), "snapshotRef": "emulated"}
    else:
        record["snapshot"] = asked.get("snapshot") or "daytona-small"
    return record
