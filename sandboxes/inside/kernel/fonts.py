"""Chinese, Japanese and Korean text in plots: fonts that have the glyphs stand behind whatever font is asked for.

Fonts come from the system and from the Python packages that carry some; those packages are found, not imported. The
list that matplotlib makes for each text is extended, so a style, a theme or `rcParams` cannot switch the glyphs off.
"""

import glob
import importlib.util
import logging
import os
import re
from types import ModuleType
from typing import Any

CARRIERS = ("mplfonts", "matplotlib_fontja", "koreanize_matplotlib")
NAMES = re.compile(
    r"noto (sans|serif)( mono)? (cjk|sc|tc|hk|jp|kr)\b|source han|wenquanyi|ipa(ex)?\s?(gothic|mincho)|ipapgothic|nanum"
    r"|droid sans fallback|ar pl |simhei|simsun|microsoft (yahei|jhenghei)|pingfang|hiragino|heiti|stheiti|songti"
    r"|yu ?gothic|meiryo|ms (p?gothic|p?mincho)|malgun|apple(gothic| sd gothic)|arial unicode|takao|vl ?gothic|unifont"
    r"|sarasa|lxgw|baekmuk|un ?dotum",
    re.IGNORECASE,
)
SAMPLES = "中あ가"
"""One Chinese character, one kana, one hangul syllable: a family is of use when it has any of them."""
MAX_FAMILIES = 6


def do_not_tell_of_building(module: ModuleType) -> None:
    """Called once matplotlib is there, before it looks for fonts: its remark on a slow machine is no result."""
    logging.getLogger("matplotlib.font_manager").addFilter(
        lambda record: "building the font cache" not in record.getMessage()
    )


def carried_files() -> list[str]:
    """The font files that Python packages carry."""
    files: list[str] = []
    for name in CARRIERS:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for ending in ("ttf", "otf", "ttc"):
                files += sorted(
                    glob.glob(os.path.join(glob.escape(folder), "fonts", "**", f"*.{ending}"), recursive=True)
                )
    return files


def families(manager: ModuleType) -> list[str]:
    """The installed families with such glyphs, the most complete first; those that packages carry are registered.

    Args:
        manager: `matplotlib.font_manager`.
    """
    fonts: Any = manager.fontManager
    known = {font.fname for font in fonts.ttflist}
    for file in carried_files():
        if file not in known:
            try:
                fonts.addfont(file)
            except Exception:  # a font file that matplotlib cannot read is no font
                continue
    found: dict[str, int] = {}
    for font in fonts.ttflist:
        if font.name not in found and NAMES.search(font.name):
            found[font.name] = _coverage(font.fname)
    useful = [name for name in found if found[name]]
    return sorted(useful, key=lambda name: (-found[name], name))[:MAX_FAMILIES]


def _coverage(file: str) -> int:
    """How many Chinese characters a font file has, plus one for each sample that it has; 0 when it has none."""
    from matplotlib.ft2font import FT2Font

    try:
        characters = FT2Font(file).get_charmap()
    except Exception:  # a font file that cannot be read is no font
        return 0
    samples = sum(ord(sample) in characters for sample in SAMPLES)
    return samples and samples + sum(0x4E00 <= character <= 0x9FFF for character in characters)


def extend(module: ModuleType) -> None:
    """Put the families behind every font that `matplotlib.font_manager` finds."""
    manager: Any = module
    find = getattr(manager.FontManager, "_find_fonts_by_props", None)
    behind = families(module)
    if not behind:
        return
    if find is None:  # a matplotlib that changed inside: works until a style sets the family
        import matplotlib

        matplotlib.rcParams["font.family"] = [*matplotlib.rcParams["font.family"], *behind]
        return

    looked_up: dict[tuple[Any, ...], list[Any]] = {}

    def fallbacks(self: Any, prop: Any) -> list[Any]:
        """Which files they are depends on the cut of the letters alone; matplotlib asks for every text it draws."""
        key = (prop.get_style(), prop.get_variant(), prop.get_weight(), prop.get_stretch())
        if key not in looked_up:
            properties = prop.copy()
            properties.set_file(None)
            paths = []
            for family in behind:
                properties.set_family(family)
                paths.append(self.findfont(properties, "ttf", fallback_to_default=False))
            looked_up[key] = paths
        return looked_up[key]

    def find_with_fallbacks(self: Any, prop: Any, fontext: str = "ttf", *args: Any, **options: Any) -> Any:
        found = find(self, prop, fontext, *args, **options)
        if fontext != "ttf" or not isinstance(found, list):
            return found
        return found + [path for path in fallbacks(self, manager.FontProperties._from_any(prop)) if path not in found]

    manager.FontManager._find_fonts_by_props = find_with_fallbacks
