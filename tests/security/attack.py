"""What a hostile snippet is, and reading the files of `attacks/`.

Such a file begins with a sentence. Then each attack has a line `--- what it does [options]`, and its code below. After
a line `--- next` follows what a later session runs.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent / "attacks"
THEN = {
    "removed",
    "snapshot",
    "collect",
    "another",
    "again",
    "victims",
    "gone",
    "put",
    "growth",
    "program",
    "reached",
    "stays",
    "later",
}


@dataclass(frozen=True, slots=True)
class Attack:
    """A snippet that tries something which a sandbox must not let it do.

    It runs as a cell of a session in which `preamble.txt` ran before. It got through when it prints a line that starts
    with `GOT`, or when the host finds so afterwards. Each is written so that it does no lasting harm where it works,
    and ends in nothing but an `OSError` where it does not.
    """

    name: str
    """What it does, as a sentence without its subject: `reads the keys in ~/.ssh`."""
    theme: str
    """The name of its file."""
    code: str
    alone: bool = False
    """It spoils its session: it gets one that nothing else runs in."""
    then: str = ""
    """What the host does afterwards:

    - `snapshot`: takes a snapshot, its blobs out of the spool, and restores it in another sandbox
    - `collect`: lists the workspace and fetches every file, as when an analysis is delivered
    - `another`, `again`: runs `next` in another thread's sandbox, or in a new session of the same one
    - `victims`: looks whether its own processes, files and folders are as they were
    - `gone`: closes the sandbox and looks whether something goes on in its workspace
    - `removed`: empties the sandbox for another session, then removes it with all its files
    - `put`: puts a file into the workspace
    - `growth`: looks whether it has become much larger itself, or holds more descriptors
    - `program`: runs a program of ours in the same workspace
    - `stays`: runs another cell in the same session
    - `later`: runs `next` in the same session after some seconds
    - `reached`: connects to a port that the attack listens on
    """
    next: str = ""
    seconds: float = 5.0
    """The cell's time limit."""


def attacks() -> list[Attack]:
    """All of them, by theme."""
    found = [attack for file in sorted(FOLDER.glob("on_*.txt")) for attack in _read(file)]
    names = [attack.name for attack in found]
    assert len(names) == len(set(names)), "two attacks of one name"
    return found


def preamble() -> str:
    """What attacks have at hand; `HOST`, what an attacker may know of the host, is put before it."""
    return (FOLDER / "preamble.txt").read_text()


def _read(file: Path) -> list[Attack]:
    found: list[Attack] = []
    for part in re.split(r"^--- ", file.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, code = part.partition("\n")
        if heading == "next":
            found.append(replace(found.pop(), next=code))
            continue
        name, _, options = heading.partition(" [")
        attack = Attack(name=name, theme=file.stem.removeprefix("on_"), code=code)
        for option in filter(None, options.rstrip("]").split(", ")):
            attack = _with(attack, option)
        found.append(attack)
    return found


def _with(attack: Attack, option: str) -> Attack:
    if option == "alone":
        return replace(attack, alone=True)
    if option.startswith("then "):
        then = option.removeprefix("then ")
        assert then in THEN, option
        return replace(attack, then=then)
    return replace(attack, seconds=float(option.removesuffix(" seconds")))
