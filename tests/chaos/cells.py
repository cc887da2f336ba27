"""The analyses that are disturbed: what their cells do, what can be counted of it, and the model that asks for them."""

import re
from collections.abc import Callable
from typing import Literal

from tests.scripted_replies import Call, Plain, Request

Kind = Literal["inside", "outside", "functions"]
"""`inside`: variables, files and figures. `outside`: each cell writes to a file of the host. `functions`: each cell
calls functions of the user's program."""

CELLS = 5
INPUT = "1\n2\n3\n"
ANSWER = "Done."
CELL = re.compile(r"cell (\d+) · (\w+) · ")
LOST = re.compile(r"cell (\d+) had reached outside of the sandbox")
"""What the model is told of a cell that had ended and is not there any more, as it must not run again by itself."""


def inside(number: int, counter: str) -> str:
    """A cell that changes variables in place, draws random numbers, and writes files; what it holds goes on.

    It does nothing where the one before it is lost, of which the model hears after it alone. It writes its files before
    it changes anything, so that one that finds no room for them can be run again.
    """
    made = {
        1: "import random, time, os, json\nimport numpy as np\n"
        "total = sum(map(int, open('inputs/numbers.txt')))\n"
        "random.seed(7); values = np.zeros(20_000); view = values[10:20]; seen = []; drawn = []",
        3: "import matplotlib.pyplot as plt\nplt.plot(view)\nplt.title('values')",
        4: "with open('outputs/table.csv', 'w') as file: file.write('a,b\\n1,2\\n')",
        CELLS: "with open('outputs/variables.json', 'w') as file:\n"
        "    json.dump([total, seen, drawn, values.sum(), sorted(os.listdir('outputs'))], file)",
    }
    log = "".join(f"{before}\n" for before in range(1, number + 1))
    lines = [
        f"assert seen == list(range(1, {number})), seen" if number > 1 else "",
        f"with open({counter!r}, 'a') as file: file.write('{number}\\n')" if counter else "",
        f"with open('outputs/log.txt', 'w') as file: file.write({log!r})",
        made.get(number, ""),
        "time.sleep(0.03)",
        f"view += {number}; seen.append({number}); drawn.append(random.random())",
        f"print('cell', {number}, values.sum())",
    ]
    return "\n".join(line for line in lines if line)


def outside(number: int, port: int) -> str:
    """A cell that reaches outside of its sandbox once."""
    return (
        f"import socket, time\nwith socket.create_connection(('127.0.0.1', {port})) as s:\n"
        f"    s.sendall(b'{number}\\n')\n    time.sleep(0.03)\nprint({number})"
    )


def functions(number: int) -> str:
    """A cell that calls functions of the program: one that cannot be repeated, and one that can."""
    return f"print(look('{number}'))\nsend('{number}')\nprint(look('{number}'))"


def policy(made: Callable[[int], str], *, again: bool) -> Callable[[Request], Plain]:
    """The model: it asks for the cells in their order, however often it is asked.

    Args:
        made: The code of a cell.
        again: Whether a cell that did not end well, or is lost, is asked for again; otherwise the next one is.
    """
    lost: set[int] = set()

    def reply(request: Request) -> Plain:
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        ran = {int(number): status for number, status in CELL.findall(request.text)}
        lost.update(int(number) for number in LOST.findall(request.text))
        well = [number for number, status in ran.items() if status == "ok" and number not in lost]
        done = len(well) if again else max(ran, default=0)
        if done >= CELLS:
            return Call("submit_answer", answer=ANSWER, skipped=[])
        return Call("run_python", purpose=f"count {done + 1}", step=1, code=made(done + 1))

    return reply
