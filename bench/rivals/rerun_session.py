"""Keeps the source of the cells, and runs it again."""

from pathlib import Path

from bench.rivals.session import Session, serve


class Rerun(Session):
    """A step is the cells up to it."""

    _code = ""

    def run(self, code: str, number: int) -> None:
        """Run a cell."""
        self._code = code
        super().run(code, number)

    def dump(self, file: Path) -> None:
        """Write the cell."""
        file.write_text(self._code)

    def load(self, file: Path) -> None:
        """Run the cells."""
        for number in range(1, int(file.name.rpartition("-")[2]) + 1):
            self.run(self._file(number).read_text(), number)


if __name__ == "__main__":
    serve(Rerun)
