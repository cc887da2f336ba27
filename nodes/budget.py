"""Counting what model calls cost, and knowing when a budget is used up."""

from graph.context import Context
from graph.settings import Prices
from graph.state import State, Usage
from graph.users.consumption import current_meter
from models.base import ModelAccessError, Tokens


def add_usage(state: State, node: str, tokens: Tokens) -> dict[str, Usage]:
    """The usage table with one node's call added; where users have quotas, it counts towards theirs, too."""
    if (meter := current_meter.get()) is not None:
        meter.spend(tokens.input, tokens.output)
    usage = dict(state.get("usage") or {})
    before = usage.get(node) or Usage(calls=0, input_tokens=0, output_tokens=0, estimated=False)
    usage[node] = spent = Usage(
        calls=before["calls"] + tokens.calls,
        input_tokens=before["input_tokens"] + tokens.input,
        output_tokens=before["output_tokens"] + tokens.output,
        estimated=before["estimated"] or tokens.estimated,
    )
    if cached := before.get("cached_tokens", 0) + tokens.cached:
        spent["cached_tokens"] = cached
    return usage


def tokens_spent(state: State) -> tuple[int, int]:
    """Input and output tokens of the thread so far."""
    usage = (state.get("usage") or {}).values()
    return sum(row["input_tokens"] for row in usage), sum(row["output_tokens"] for row in usage)


def budget_reached(state: State, context: Context, prices: Prices | None) -> str:
    """Which budget of the thread or of its user's day is used up, as a sentence; empty when there is room.

    Raises:
        ModelAccessError: a money budget is set and there are no prices to hold it against.
    """
    spent_in, spent_out = tokens_spent(state)
    if context.max_tokens and spent_in + spent_out >= context.max_tokens:
        return f"The token budget of {context.max_tokens:,} is used up ({spent_in + spent_out:,} spent)."
    if context.max_cost:
        if prices is None:
            raise ModelAccessError(
                "A money budget needs prices: set STEPWELL_PRICES to the price of a million input and output tokens, "
                "such as 2.5,10."
            )
        cost = prices.cost(spent_in, spent_out)
        if cost >= context.max_cost:
            return f"The money budget of {context.max_cost:g} is used up ({cost:.4f} spent)."
    meter = current_meter.get()
    return meter.used_up() if meter is not None else ""
