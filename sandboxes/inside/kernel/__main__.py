"""Run as a program, the kernel's folder describes its Python: version, analysis packages, fonts. One JSON object."""

import importlib.metadata
import json
import platform
import sys

from . import figures

PACKAGES = (
    "pandas", "numpy", "scipy", "scikit-learn", "statsmodels", "matplotlib", "seaborn", "openpyxl", "xlrd", "pyarrow",
    "duckdb", "polars", "pypdf", "lxml",
)  # fmt: skip


def packages() -> dict[str, str]:
    """The analysis packages that are installed, with their versions."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def font_families() -> list[str]:
    """The families with Chinese, Japanese or Korean glyphs that plots can use; none without matplotlib."""
    try:
        from matplotlib import font_manager
    except Exception:  # a broken matplotlib is found out by the cell that needs it
        return []
    return figures.families(font_manager)


if __name__ == "__main__":
    description = {"python": platform.python_version(), "packages": packages(), "fonts": font_families()}
    sys.stdout.write(json.dumps(description, ensure_ascii=False) + "\n")
