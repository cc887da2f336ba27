"""An answer, or a delivered table, that has not the form which the question prescribes goes back to the model."""

from graph.context import Context
from graph.events import Finished, SentBack
from graph.settings import Settings
from stepwell.runs import start
from tests.analyses import follow, last, only, with_model
from tests.scripted_model import Call, ScriptedServer


def write(columns: str) -> Call:
    code = f"open('outputs/totals.csv', 'w').write('\\ufeff{columns}\\n1;2\\n')"
    return Call("run_python", purpose="Write the table", code=code)


async def test_columns_of_a_delivered_table_are_those_that_were_named(settings: Settings) -> None:
    answer = Call("submit_answer", answer="Written to totals.csv.")
    async with ScriptedServer([write("month;sum"), answer, write("Month;total amount"), answer]) as server:
        question = "Write totals.csv with the columns month and `total_amount`."
        run = start(question, settings=with_model(settings, server.base_url), context=Context(review="never"))
        events = await follow(run)
    assert [one.missing for one in only(events, SentBack)] == [
        ["totals.csv lacks columns that the user named: total_amount."]
    ]
    assert last(events, Finished).concerns == []


async def test_a_sentence_that_goes_on_after_the_columns_names_no_more(settings: Settings) -> None:
    answer = Call("submit_answer", answer="Written to totals.csv.")
    async with ScriptedServer([write("month;before;raise"), answer]) as server:
        question = "Write totals.csv with the columns month, before and raise, in euros: a row for each month."
        run = start(question, settings=with_model(settings, server.base_url), context=Context(review="never"))
        events = await follow(run)
    assert only(events, SentBack) == []
    assert last(events, Finished).concerns == []


async def test_a_form_that_is_never_kept_is_said_beside_the_answer(settings: Settings) -> None:
    answer = Call("submit_answer", answer="It is three.")
    async with ScriptedServer([answer, answer, answer]) as server:
        run = start(
            "How many? End with a line `ANSWER: <n>`.",
            settings=with_model(settings, server.base_url),
            context=Context(review="never", max_reviews=2),
        )
        events = await follow(run)
    told = ["The last line of the answer has to begin with: ANSWER:"]
    assert [one.missing for one in only(events, SentBack)] == [told, told]
    assert last(events, Finished).concerns == told
