"""`dill.dump_module` after each cell, one file per step."""

from pathlib import Path

from bench.rivals.session import Session, serve


class Dill(Session):
    """dill as its documentation keeps an interpreter session. It is imported when the session's `__main__` is there."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        import dill

        self._dill = dill

    def dump(self, file: Path) -> None:
        """Write the variables."""
        self._dill.dump_module(str(file))

    def load(self, file: Path) -> None:
        """Read the variables."""
        self._dill.load_module(str(file))


if __name__ == "__main__":
    serve(Dill)
