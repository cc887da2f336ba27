"""Plain cloudpickle of all variables after each cell, one file per step."""

from pathlib import Path

from bench.rivals.session import Session, serve

OF_PYTHON = frozenset({"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__"})


class Cloudpickle(Session):
    """`cloudpickle.dump` of one dict."""

    def dump(self, file: Path) -> None:
        """Write the variables."""
        import cloudpickle

        values = {name: value for name, value in self.namespace.items() if name not in OF_PYTHON}
        with file.open("wb") as out:
            cloudpickle.dump(values, out)

    def load(self, file: Path) -> None:
        """Read the variables."""
        import cloudpickle

        with file.open("rb") as stored:
            self.namespace.update(cloudpickle.load(stored))


if __name__ == "__main__":
    serve(Cloudpickle)
