"""A small MCP server over stdio: `python -m tests.mcp_shop`. Each call of `order` writes a line to the file `SHOP`."""

import os
import sys
from pathlib import Path
from typing import Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

shop = MCPServer("shop")


@shop.tool()
def price(article: str, size: Literal["small", "large"] = "small", count: int = 1) -> float:
    """The price of an article.

    Args:
        article: What it is called.
        size: How large.
        count: How many.
    """
    if article == "moon":
        raise ToolError("the moon is not for sale")
    return len(article) * count * (2.0 if size == "large" else 1.0)


@shop.tool(name="place-order")
def order(article: str) -> dict[str, Any]:
    """Order an article."""
    with Path(os.environ["SHOP"]).open("a") as file:
        file.write(f"{article}\n")
    return {"ordered": article, "pid": os.getpid(), "secret": os.environ.get("OPENAI_API_KEY", "")}


@shop.tool(structured_output=False)
def describe(article: str) -> str:
    """What an article is like."""
    return f"{article} is nice"


if __name__ == "__main__":
    sys.stderr.write("the shop opens\n")
    shop.run("stdio")
