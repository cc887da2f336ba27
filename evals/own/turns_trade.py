"""Tasks of several turns on orders and postings."""

from evals.own.forms import Line, Turn, best, play
from evals.own.records import World
from evals.own.views import Money, Sales, back, change, keep, less, now, start

FILES = "orders.csv shops.tsv products.txt corrections.jsonl"
SALES = (
    "Count each order number once. By sales I mean the sum of pieces times price of the orders that are paid, in euros "
    "with two decimals. What are the sales?"
)
BANK = (
    "By flow I mean the sum of the postings in euros with two decimals; cents divided by 100 are euros. What is "
    "the flow?"
)
REVERSED = "A posting with `reverses` takes back the posting of that id."


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [*_definitions(world), *_what_ifs(world), *_filters(world), *_flows(world), *_more_flows(world)]


def _definitions(world: World) -> list[Line]:
    def euros(state: Sales) -> float:
        return state.euros(world)

    def count(state: Sales) -> int:
        return len(state.orders(world))

    both = frozenset({"paid", "open"})
    return [
        play(
            "turns-status",
            FILES,
            [
                Turn(SALES, start(Sales()), now(euros)),
                Turn(
                    "From now on open orders belong to the sales, too. What are they?",
                    change(statuses=both),
                    now(euros),
                ),
                Turn("Only the region East, please. And the sales?", change(regions=frozenset({"East"})), now(euros)),
                Turn(
                    "Back to my first definition of sales, still only the region East. What are they now?",
                    change(statuses=frozenset({"paid"})),
                    now(euros),
                ),
                Turn(
                    "How much less is that than your very first answer?", keep(), lambda s: [euros(s[0]) - euros(s[-1])]
                ),
            ],
        ),
        play(
            "turns-corrections",
            FILES,
            [
                Turn(SALES, start(Sales()), now(euros)),
                Turn(
                    "Now let corrections.jsonl replace the pieces; of several corrections of an order the latest `at` "
                    "counts. What are the sales?",
                    change(corrected=True),
                    now(euros),
                ),
                Turn("By how much did the corrections raise the sales?", keep(), less(euros, 1)),
                Turn(
                    "With the corrections: how many paid orders are worth 5,000 euros or more?",
                    change(at_least=500_000),
                    now(count),
                ),
                Turn("And without the corrections?", change(corrected=False), now(count)),
            ],
        ),
    ]


def _what_ifs(world: World) -> list[Line]:
    def euros(state: Sales) -> float:
        return state.euros(world)

    return [
        play(
            "turns-what-if",
            FILES,
            [
                Turn(SALES, start(Sales()), now(euros)),
                Turn(
                    "What would they have been with all prices of the category light 10 % higher? Only suppose it.",
                    change(dearer=(("light", 10),)),
                    now(euros),
                ),
                Turn(
                    "As it really was: what are the sales of the first half of the year?",
                    back(1, months=(1, 6)),
                    now(euros),
                ),
                Turn(
                    "Suppose again that light were 10 % dearer, and kitchen 5 %: what would those of the half year be?",
                    change(dearer=(("light", 10), ("kitchen", 5))),
                    now(euros),
                ),
                Turn("By how much is that more than the half year really had?", keep(), less(euros, 3)),
                Turn("Drop all suppositions and the half year. What are the sales?", back(1), now(euros)),
            ],
        ),
        _regions(world),
    ]


def _regions(world: World) -> Line:
    def euros(state: Sales) -> float:
        return state.euros(world)

    def region(state: Sales) -> str:
        return best(state.by_region(world))

    return play(
        "turns-region",
        FILES,
        [
            Turn(
                "Count each order number once. Which region has the greatest sum of pieces times price of paid orders?",
                start(Sales()),
                lambda s: [region(s[-1])],
            ),
            Turn(
                "And in the second quarter?",
                change(months=(4, 6)),
                lambda s: [region(s[-1])],
            ),
            Turn(
                "In the whole year, for the category paper only?",
                back(1, categories=frozenset({"paper"})),
                lambda s: [region(s[-1])],
            ),
            Turn(
                "For paper in the whole year: what is the sum of all regions together, in euros with two decimals?",
                keep(),
                now(euros),
            ),
            Turn("And that of the second quarter, for all categories?", back(2), now(euros)),
        ],
    )


def _filters(world: World) -> list[Line]:
    def euros(state: Sales) -> float:
        return state.euros(world)

    def count(state: Sales) -> int:
        return len(state.orders(world))

    south = frozenset({"South", "West"})
    return [
        play(
            "turns-rollback",
            FILES,
            [
                Turn(SALES, start(Sales()), now(euros)),
                Turn("Keep only the regions South and West. What are the sales?", change(regions=south), now(euros)),
                Turn("Keep of these only March to August. What are they?", change(months=(3, 8)), now(euros)),
                Turn(
                    "Keep of these only the category kitchen. The sales?",
                    change(categories=frozenset({"kitchen"})),
                    now(euros),
                ),
                Turn("Forget the last filter. How many orders are left?", back(3), now(count)),
                Turn("Forget the filter on the months, too. What are the sales?", back(2), now(euros)),
                Turn("How much is that above what March to August alone had?", keep(), less(euros, 3)),
            ],
        ),
        play(
            "turns-threshold",
            FILES,
            [
                Turn(
                    "Count each order number once. An order is large when pieces times price is 10,000 euros or more. "
                    "How "
                    "many large orders are there, of any status?",
                    start(Sales(statuses=frozenset({"paid", "open", "returned"}), at_least=1_000_000)),
                    now(count),
                ),
                Turn("I was wrong: large is 8,000 euros or more. How many?", change(at_least=800_000), now(count)),
                Turn("How many of these were returned?", change(statuses=frozenset({"returned"})), now(count)),
                Turn(
                    "How many were returned by the first limit, 10,000 euros?",
                    change(at_least=1_000_000),
                    now(count),
                ),
                Turn(
                    "By the limit that counts, what percentage of the large orders was returned? Two decimals.",
                    back(3),
                    lambda s: [100 * count(s[2]) / count(s[1])],
                ),
            ],
        ),
    ]


def _flows(world: World) -> list[Line]:
    def euros(state: Money) -> float:
        return state.euros(world)

    def count(state: Money) -> int:
        return len(state.postings(world))

    return [
        play(
            "turns-reversals",
            "bank.sqlite",
            [
                Turn(BANK, start(Money()), now(euros)),
                Turn(
                    "Only accounts of the kind giro: what is the flow?", change(kinds=frozenset({"giro"})), now(euros)
                ),
                Turn(
                    f"{REVERSED} Leave out reversals and what they reverse. How many postings are left of those "
                    "accounts?",
                    change(without_reversals=True),
                    now(count),
                ),
                Turn("Of how many did that rule rid us?", keep(), lambda s: [count(s[1]) - count(s[2])]),
                Turn("With that rule, how many are left of all accounts?", back(1, without_reversals=True), now(count)),
            ],
        ),
        play(
            "turns-texts",
            "bank.sqlite",
            [
                Turn(BANK, start(Money()), now(euros)),
                Turn("What is it for postings whose text begins with Card only?", change(texts=("Card",)), now(euros)),
                Turn("With those that begin with Invoice added?", change(texts=("Card", "Invoice")), now(euros)),
                Turn("Of April to June only?", change(months=(4, 6)), now(euros)),
                Turn(
                    "Suppose only postings of at least 500 euros, whatever the sign, counted. What is the flow?",
                    change(at_least=50_000),
                    now(euros),
                ),
                Turn("No, all amounts again. How many postings are there?", back(4), now(count)),
                Turn(
                    "How many more were there before you took April to June only?",
                    keep(),
                    lambda s: [count(s[2]) - count(s[3])],
                ),
            ],
        ),
    ]


def _more_flows(world: World) -> list[Line]:
    def euros(state: Money) -> float:
        return state.euros(world)

    owner = world.accounts[4].owner
    return [
        play(
            "turns-owner",
            "bank.sqlite statement.txt",
            [
                Turn(BANK, start(Money()), now(euros)),
                Turn(f"Leave out the account of {owner}. What is it?", change(without=(owner,)), now(euros)),
                Turn("What is the flow of that account alone?", keep(), lambda s: [euros(s[0]) - euros(s[1])]),
                Turn("The others, in January and February?", change(months=(1, 2)), now(euros)),
                Turn("And with that account, in January and February?", back(1, months=(1, 2)), now(euros)),
            ],
        )
    ]
