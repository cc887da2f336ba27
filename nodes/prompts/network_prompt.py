"""What the model is told of the network, and of installing packages."""

from sandboxes.network import Network

SHOWN = 30
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
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    text = f"Of the network, cells reach only these domains, {by}: {', '.join(names[:SHOWN])}{more}.\n"
    index = network.allows("pypi.org", 443) and network.allows("files.pythonhosted.org", 443)
    return text + (PIP if index else "")
