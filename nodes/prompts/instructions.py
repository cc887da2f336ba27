"""What the model is told: the rules, how to reply, the environment, the user's files."""

import re
from collections.abc import Sequence
from functools import lru_cache

from langchain_core.messages import BaseMessage

from graph.context import Context
from graph.state import Input, State
from models.quotation import INPUTS, RULE, quoted
from nodes.prompts.observation import shorten
from sandboxes.functions import Description
from sandboxes.network import NO_NETWORK, Network

INPUTS_CHARS = 30_000
"""Characters for all abstracts together; with many files each is cut."""
LEAST_CHARS = 300
"""Characters of one abstract, however many there are."""
MOST_CHARS = 40_000
"""Characters of the block of all of them."""

RULES = """\
You are Stepwell, a careful data analyst. You answer the user's questions with Python cells that run in a live \
session, one at a time, and by reading what they print.

The session
- What cells define stays: build on it, do not load or define it again.
- inputs/ holds the user's files: never change them. Every file for the user goes into outputs/; nothing else reaches \
the user but the figures.
- Open matplotlib figures are shown to the user by themselves: no plt.show(), and savefig only for a file that was \
asked for.
- {data_rule}
- You see what a cell prints and the value of its last expression, cut at {observation_chars:,} characters: print the \
numbers that you need, not whole tables.
- A cell may run {cell_timeout:g} seconds. Nobody can answer input().
- steps[3]["df"] is a copy of df as it was after cell 3, steps[3].file("outputs/a.csv") a path to that file as it was \
then, steps[3].code the cell. When the user changes a definition, bind the same name again; for a what-if, work on \
copies.
- A cell can go back to an earlier one first and start with all variables and files as they were after it ({back}; 0 \
is the beginning): when the user takes something back, after a what-if that changed more than copies, after a wrong \
turn. The purpose says why; steps still has what is left aside.

How to work
- Mind types, missing values, units, duplicates and odd categories; look where the description of the files does not \
say enough. pandas takes texts such as None and NA for missing, also where they are a category.
- One purpose a cell; small things that belong together may share one. When one fails, fix the cause that the \
traceback shows.
- Never invent data, results or file contents. If the data cannot answer something, say so.
- Every number in the answer comes from a placeholder (see below), was printed by a cell, or follows from printed ones \
by simple arithmetic. Round only in the answer, and in files that are made to be read.
- Keep exactly to the form that the user prescribes for the answer (tags, headings, JSON, columns, decimals).
- Say what you assumed (rows left out, missing values, meaning of columns) and how sure the result is.
- The answer stands alone, in {language}: the result first, then the files and figures that matter.

Computed answers
- In an answer, with or without a cell, {{{{expression}}}} or {{{{expression:format}}}} is replaced by its value in \
the session after the cell: {{{{r:.2f}}}}, {{{{n:,}}}}, {{{{"rose" if b > a else "fell"}}}}, \
{{{{top.head(5):table}}}} (a Markdown table, on lines of its own). Prefer this to typing what cells printed; it needs \
no print. A backslash before the braces keeps them.
- A cell can finish the work: give the answer with it, when its wording holds whatever comes out; a conditional \
placeholder or an assert can see to that, and the answer of a cell that fails is dropped. When what comes out would \
change the method or the wording (which column, whether the data are clean), look first.
"""

BY_TOOL = """\
How to reply
Call run_python with the next cell, in the first reply already, or submit_answer where no cell is needed. A cell that \
finishes the work takes the answer as its `answer`; otherwise call submit_answer once the work is done. Text beside a \
call is a note to yourself.
Where the work takes several cells, give the plan beside the first: two to seven short steps in the language of the \
question, one for each file or figure that was asked for, none for the answer. Copy names and paths exactly. Later \
cells say which step they work on and which are done.
"""

BY_TEXT = """\
How to reply
Either one cell, as a fenced block whose first line says the purpose:
```python
# see which columns there are
...
```
or, when the work is done or no cell is needed, the whole answer:
<answer>
...
</answer>
Both in one reply only when the cell finishes the work: the answer behind it, with placeholders. Begin at once: the \
first reply of a turn is its first cell. Where the work takes several cells, write the plan in front of the first, as \
a numbered list of two to seven short sentences in the language of the question; writing the answer is no step. The \
first line of each cell then names the step, and those that are done: `# step 3 (1, 2 done): compare the regions`. If \
a step cannot be done, the answer says so: `Left out: step 2, because …`.
"""


def system_prompt(
    state: State,
    context: Context,
    functions: Sequence[Description] = (),
    *,
    tools: bool,
    network: Network = NO_NETWORK,
) -> str:
    """The system message of all calls: the same within a thread, so that providers can cache it."""
    parts = [
        RULES.format(
            observation_chars=context.observation_chars,
            cell_timeout=context.cell_timeout,
            language=context.language or "the language of the question",
            data_rule=RULE,
            back="`back_to`" if tools else "first line `# back to 3: why`",
        ),
        BY_TOOL if tools else BY_TEXT,
        environment_text(state),
        network_text(network),
        functions_text(functions, state),
        instructions_text(context.instructions),
    ]
    return "\n".join(part for part in parts if part)


def instructions_text(instructions: str) -> str:
    """The instructions of the operator or the user, placed after our own rules and apart from what files say."""
    asked = instructions.strip()
    return f"What this analysis has to keep to as well\n{asked}\n" if asked else ""


VERSIONED = ("pandas", "polars", "numpy")
"""Packages whose versions differ in what code has to say."""
CJK = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f]")


def environment_text(state: State) -> str:
    """The Python and the packages that cells have, and the fonts where questions or files have text that needs them."""
    environment = state.get("environment")
    if not environment:
        return ""
    known = environment["packages"].items()
    packages = ", ".join(
        f"{_word(name)} {_word(version)}" if name in VERSIONED else _word(name) for name, version in known
    )
    text = f"Python {_word(environment['python'])} with {packages or 'the standard library only'}.\n"
    if not _has_cjk(state):
        return text
    if environment["fonts"]:
        fonts = ", ".join(_word(font) for font in environment["fonts"][:8])
        return text + (
            f"Figures fall back to these fonts for Chinese, Japanese and Korean text: {fonts}. None may have all of a "
            "script's characters; a cell's result names those that are missing.\n"
        )
    return text + "No font has Chinese, Japanese or Korean glyphs: label figures in Latin letters.\n"


def _has_cjk(state: State) -> bool:
    questions = [state["question"], *(turn["question"] for turn in state.get("turns") or [])]
    files = [text for one in state.get("inputs") or [] for text in (one["path"], one["abstract"])]
    return any(CJK.search(text) for text in (*questions, *files))


@lru_cache(maxsize=500)  # each prompt names the same packages
def _word(name: str) -> str:
    """A name or a version, as a sandbox told it."""
    return re.sub(r"[^\w .+()!-]", "", name.replace("\n", " "))


def inputs_text(state: State, limit: int = MOST_CHARS) -> str:
    """The abstracts of the user's files, and what is wrong with those that cannot be read: quoted, in one block.

    Args:
        state: Knows the files.
        limit: Characters before they are quoted.
    """
    inputs = state.get("inputs") or []
    if not inputs:
        return "The user brought no files."
    room = max(INPUTS_CHARS // len(inputs), LEAST_CHARS)
    texts = [_input_text(brought, room) for brought in inputs[: INPUTS_CHARS // LEAST_CHARS]]
    if len(inputs) > len(texts):
        texts.append(f"… and {len(inputs) - len(texts)} more files; list inputs/ to see them.")
    return INPUTS + quoted(shorten("\n\n".join(texts), limit))


def _input_text(brought: Input, room: int) -> str:
    heading = f"### {brought['path']}"
    if brought["problem"]:
        return f"{heading}\nCannot be read: {brought['problem']}"
    lines = brought["abstract"].splitlines()
    # No line of a text file may look as if another file's abstract began there.
    body = [f"\\{line}" if line.lstrip().startswith("###") else line for line in lines[1:]]
    return shorten("\n".join([heading, *body]), room)


def with_inputs(messages: Sequence[BaseMessage], state: State, limit: int = MOST_CHARS) -> list[BaseMessage]:
    """A conversation whose first message begins with the user's files; `limit` as for `inputs_text`."""
    first, *others = messages
    return [first.model_copy(update={"content": f"{inputs_text(state, limit)}\n\n{first.text}"}), *others]


def last_call(max_cells: int, *, tools: bool) -> str:
    """What the model is told when the turn's cells are used up."""
    how = "Call submit_answer now" if tools else "Write the <answer> now"
    return (
        f"All {max_cells} cells of this turn are used. {how}, with what was found so far; say what remains open. "
        "No further cell will run."
    )


def plan_first(*, tools: bool) -> str:
    """What the model is told when somebody wants to see the plan before any cell runs."""
    how = "Call submit_plan now" if tools else "Write the plan now, as a numbered list and nothing else"
    return (
        "The user wants to agree to the plan before any cell runs. "
        f"{how}: two to seven short steps in the language of the question, one for each file or figure that was asked "
        "for, none for the answer. If no cell is needed, give the answer."
    )


SHOWN_DOMAINS = 30
"""Domains that are named."""
PIP = """\
A package that is missing can be installed for this analysis, when nothing that is there will do: \
subprocess.run([sys.executable, "-m", "pip", "install", "NAME"], check=True), then import it. It stays for later cells.
"""


def network_text(network: Network) -> str:
    """What cells may reach, in a sentence or two."""
    if network.mode == "none":
        return "Do not use the network: there is none for cells, and nothing can be downloaded or installed.\n"
    by = "over http and https; libraries find the proxy for it in the environment"
    if network.mode == "full":
        return f"Cells may use the network, {by}.\n{PIP}"
    names = [str(domain) for domain in network.allowed]
    more = f", and {len(names) - SHOWN_DOMAINS} more" if len(names) > SHOWN_DOMAINS else ""
    text = f"Of the network, cells reach only these domains, {by}: {', '.join(names[:SHOWN_DOMAINS])}{more}.\n"
    index = network.allows("pypi.org", 443) and network.allows("files.pythonhosted.org", 443)
    return text + (PIP if index else "")


FUNCTIONS_CHARS = 12_000
"""Characters for all functions together."""
DOC_CHARS = 400
"""Characters of one docstring's first paragraph."""
LEAST_DOC_CHARS = 60

FUNCTION_RULES = """\
Functions of the user's program, defined in the session; ordinary calls, no import. They run outside of the session, \
so a call may change something there that nothing undoes: call them for what was asked, never to try them out. \
Arguments and results: None, booleans, numbers, texts, lists, dictionaries with texts as keys, and whole tables \
(pandas, polars, pyarrow). A failing one raises HostFunctionError.
"""
APPROVAL_RULES = """\
Where it says "asks first", somebody is shown each call with its arguments and approves or refuses it. For that the \
cell is ended at the call and runs again from its beginning later, so write such a call into a cell of its own, with \
arguments that are the same each time (no time, no random numbers), and pass lists rather than calling in a loop. \
A refused call raises HostFunctionError: do not try to get the same done in another way.
"""


def functions_text(functions: Sequence[Description], state: State | None = None) -> str:
    """Their signatures and what their docstrings begin with; empty when there are none.

    Args:
        functions: What is offered.
        state: Knows the variables that hide a function of their name.
    """
    if not functions:
        return ""
    hidden = {variable["name"] for variable in (state or {}).get("namespace") or []}
    rules = FUNCTION_RULES + (APPROVAL_RULES if any(one.needs_approval for one in functions) else "")
    room = max(min(DOC_CHARS, FUNCTIONS_CHARS // len(functions) - 100), LEAST_DOC_CHARS)
    return rules + "".join(f"- {_function_line(one, room, hidden)}\n" for one in functions)


def _function_line(function: Description, room: int, hidden: set[str]) -> str:
    paragraph = " ".join(function.doc.strip().partition("\n\n")[0].split())
    line = f"{function.name}{shorten(str(function.signature()), 500)}"
    line += " (asks first)" if function.needs_approval else ""
    if function.name in hidden:
        line += f" (hidden by your variable of that name; after `del {function.name}` it is back in the next cell)"
    return f"{line}: {shorten(paragraph, room)}" if paragraph else line


REVIEW_RULES = """\
The user has not seen this answer yet. Review it first as somebody else would who wants to find its faults. Judge it \
by what the cells did and printed, by what is known of the files, and by earlier answers.

Send it back only for a fault that matters to the user:
- it does not answer the question, or leaves out a part of it or a file that was asked for;
- it says something that the cells did not show, or that contradicts them;
- code or output shows that a result is wrong (wrong column, wrong filter, duplicates or missing values that change \
it and are not mentioned);
- an assumption that decides the result is not stated;
- it does not keep to the form that the user prescribed, or is not in the language of the question.
That the data cannot answer the question is a good answer when the cells or the files' columns show it.
Do not ask for more than the user did, for style, or for further checks that would not change the answer. Rounding \
and simple arithmetic with printed numbers are fine. Old cells are shown shortened: a number that you cannot find may \
have been printed.
"""

REVIEW_BY_TOOL = """
Call submit_review now: `good_enough`, whether the user can be given this answer, and `missing`, what must be done \
first, each one instruction; empty when it is good enough."""
REVIEW_BY_JSON = '\nReply with one JSON object and nothing else: {"good_enough": true or false, "missing": ["…"]}'


def also_needed(instructions: str) -> str:
    """What the operator or the user wants of an answer besides."""
    asked = instructions.strip()
    return f"\nAn answer also lacks something when one of these does not hold:\n{asked}\n" if asked else ""
