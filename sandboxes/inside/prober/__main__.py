"""Run as a program: `… FACTS`, what stands on the host, as JSON; prints what got through, by property, as JSON."""

import json
import os
import sys
from typing import Any

from .probes import PROBES


def main(facts: dict[str, Any]) -> dict[str, list[str]]:
    """What got through, by property."""
    through: dict[str, list[str]] = {}
    for what, (property, probe) in PROBES.items():
        try:
            got = probe(facts)
        except OSError:
            got = False
        if got:
            through.setdefault(property, []).append(what)
    return through


sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
sys.stdout.flush()
os._exit(0)
