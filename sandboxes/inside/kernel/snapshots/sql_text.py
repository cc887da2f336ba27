"""Names and texts as SQL has them, of sqlite, duckdb and polars."""


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"
