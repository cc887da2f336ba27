"""What cells change beside their variables comes back in a new process: settings, modules, the environment."""

# ruff: noqa: E501 (the lines of cells)

import builtins

import pytest

from tests.contract.conftest import Steps


async def test_settings_of_libraries(steps: Steps) -> None:
    await steps.run("""
        import decimal, logging, sys, warnings
        import matplotlib.pyplot as plt, numpy as np, pandas as pd
        plt.style.use("ggplot"); plt.rcParams["font.size"] = 23.0
        pd.set_option("display.max_rows", 7); pd.options.display.precision = 3
        np.set_printoptions(precision=2); np.seterr(divide="raise")
        warnings.filterwarnings("error", message="only this"); warnings.simplefilter("ignore", DeprecationWarning)
        decimal.getcontext().prec = 5
        logging.getLogger("noisy").setLevel(logging.ERROR)
        sys.setrecursionlimit(2_345)
        settings = plt.rcParams
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(plt.rcParams["font.size"], plt.rcParams["axes.facecolor"], settings is plt.rcParams)
        print(pd.get_option("display.max_rows"), pd.options.display.precision, np.array([1.23456]), np.geterr()["divide"])
        print(decimal.Decimal(1) / 3, logging.getLogger("noisy").level, sys.getrecursionlimit())
        warnings.warn("old", DeprecationWarning)
        try: warnings.warn("only this")
        except UserWarning: print("an error")
    """)
        == "23.0 #E5E5E5 True\n7 3 [1.23] raise\n0.33333 40 2345\nan error\n"
    )


async def test_what_is_registered_after_a_step_is_in_the_next_one(steps: Steps) -> None:
    await steps.run("""
        import copyreg, sqlite3
        class A: pass
    """)
    await steps.keep()
    await steps.keep()  # by now it is known that nothing in the registers is a cell's
    await steps.run("copyreg.pickle(A, lambda one: (A, ())); sqlite3.register_adapter(A, str)")
    await steps.take_up()
    asked = "print(A in copyreg.dispatch_table, any(kind is A for kind, _ in sqlite3.adapters))"
    assert await steps.run(asked) == "True True\n"


async def test_whether_garbage_is_looked_for_stays_as_it_was(steps: Steps) -> None:
    await steps.run("import gc")
    await steps.take_up()
    assert await steps.run("print(gc.isenabled()); gc.disable()") == "True\n"
    await steps.take_up()
    assert await steps.run("print(gc.isenabled())") == "False\n"


async def test_the_environment_and_the_search_path_only_as_far_as_cells_changed_them(steps: Steps) -> None:
    await steps.run("""
        import os, sys
        os.environ["MINE"] = "set here"; os.environ["LANG"] = "de"; del os.environ["PYTHONUTF8"]
        os.makedirs("lib", exist_ok=True); open("lib/far.py", "w").write("VALUE = 5")
        sys.path.append(os.path.abspath("lib")); sys.path.insert(0, "elsewhere")
        import far
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(os.environ["MINE"], os.environ["LANG"], "PYTHONUTF8" in os.environ)
        print(sys.path[0], far.VALUE, sys.path.count(sys.path[-1]))
    """)
        == "set here de False\nelsewhere 5 1\n"
    )


@pytest.mark.slow
async def test_modules_come_back_under_their_names(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, xml.dom.minidom as dom, sklearn, os.path as p
        import sklearn.linear_model, scipy
        import scipy.stats
        from statsmodels import api as sm
        later = lambda: __import__("importlib").import_module("sklearn.cluster")
        later()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(np.__name__, dom.__name__, p.__name__, sm.__name__, scipy.stats.norm.name, "sklearn.cluster" in __import__("sys").modules)
        print(sklearn.linear_model.LinearRegression.__name__, sklearn.cluster.KMeans.__name__)
    """)
        == "numpy xml.dom.minidom posixpath statsmodels.api norm True\nLinearRegression KMeans\n"
    )


async def test_modules_of_the_workspace_come_back_before_what_needs_them(steps: Steps) -> None:
    await steps.run("""
        import os
        os.makedirs("mine/deep", exist_ok=True)
        open("mine/__init__.py", "w").write("from .deep import tools\\nseen = []\\nlevel = 1\\ndef note(a): seen.append(a); return level\\n")
        open("mine/deep/__init__.py", "w").write("")
        open("mine/deep/tools.py", "w").write("class Tool:\\n    made = []\\n    def __init__(self): Tool.made.append(1)\\ndef wrap(f):\\n    def inner(*a): return f(*a) + OFFSET\\n    inner.__module__ = f.__module__\\n    return inner\\nOFFSET = 1\\n")
        import mine
        from mine.deep.tools import Tool, wrap
        from mine import seen
        tool = Tool()
        mine.note("a"); mine.level = 5
        @wrap
        def f(a): return a
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(isinstance(tool, Tool), Tool is mine.deep.tools.Tool, mine.note("b"), seen, seen is mine.seen)
        mine.deep.tools.OFFSET = 100
        print(f(1))
    """)
        == "True True 5 ['a', 'b'] True\n101\n"
    )


async def test_cells_begin_in_the_workspace_wherever_the_last_one_went(steps: Steps) -> None:
    await steps.run("import os; os.chdir('/')")
    await steps.take_up()
    assert await steps.run("print(os.path.basename(os.getcwd()))") == "workspace\n"


async def test_the_environment_in_a_variable_is_not_kept(steps: Steps) -> None:
    await steps.run("import os; environment = os.environ; inner = {'e': os.environ}")
    await steps.take_up()
    assert await steps.run("print(environment is os.environ, inner['e'] is os.environ)") == "True True\n"


async def test_cloudpickle_of_the_kernel_is_not_the_users(steps: Steps) -> None:
    await steps.run("x = lambda: 1")
    await steps.take_up()
    code = "import sys; print(getattr(sys.modules.get('cloudpickle'), '__name__', 'cloudpickle'), x())"
    assert await steps.run(code) == "cloudpickle 1\n"


async def test_handlers_of_loggers_and_the_arguments(steps: Steps) -> None:
    await steps.run("""
        import io, logging, sys
        text = io.StringIO()
        own = logging.getLogger("own"); own.setLevel(logging.INFO); own.propagate = False
        handler = logging.StreamHandler(text); handler.setFormatter(logging.Formatter("%(message)s!")); own.addHandler(handler)
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="root %(message)s")
        sys.argv = ["program", "--fast"]
        own.info("one")
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        own.info("two"); logging.info("three")
        print(repr(text.getvalue()), own.handlers == [handler], sys.argv)
    """)
        == "root three\n'one!\\ntwo!\\n' True ['program', '--fast']\n"
    )


@pytest.mark.parametrize("steps", ["local"], indirect=True)
@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("import os; real = os.stat; os.stat = None", "(os.stat, real.__name__)"),
        ("import os; real = os.path.join; os.path.join = None", "(os.path.join, real.__name__)"),
        ("import os; real = os.replace; os.replace = lambda *a: 1", "(os.replace(1), real.__name__)"),
        ("import pickle; real = pickle.dumps; pickle.dumps = lambda x: b'mine'", "(pickle.dumps(1), real.__name__)"),
    ],
)
async def test_functions_that_python_itself_calls_may_be_replaced(steps: Steps, code: str, asked: str) -> None:
    """A snapshot is taken all the same, and the cell's own is there afterwards: here, and where it is restored."""
    await steps.run("kept = [1]")
    await steps.keep()
    await steps.run(code)
    await steps.keep()
    here = await steps.run(f"print({asked}); kept.append(2)")
    await steps.take_up()
    assert (await steps.run(f"print({asked})"), await steps.run("print(kept)")) == (here, "[1, 2]\n")


BUILTINS = sorted(vars(builtins).keys() - {"_"})


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_every_name_in_builtins_may_be_replaced(steps: Steps) -> None:
    """One by one and then all of them by what raises: cells run, show values and wait, and the session is kept."""
    await steps.run("""
        import asyncio, builtins
        real = dict(vars(builtins))
        def broken(*a, **k): raise real["RuntimeError"]("never")
        kept, put = [], vars(builtins).__setitem__
    """)
    for name in BUILTINS:
        await steps.run(f"put('{name}', broken); kept.append('{name}')")
        shown = await steps.sandbox.run("display(kept)\nawait asyncio.sleep(0)\nkept", number=1, timeout=20)
        assert shown.status in ("ok", "error"), name  # it may fail, of what was replaced
        assert not (await steps.keep()).lost, name
        await steps.run(f"put('{name}', real['{name}'])\nawait asyncio.sleep(0)")
    await steps.run("for name in kept: put(name, broken)")
    await steps.take_up()
    await steps.run("kept += ['more']; real['print'](kept[-2:], max is broken, set is broken)")
    await steps.take_up()
    assert await steps.run("real['print'](kept[-1], len is broken, real['len'] is not broken)") == "more True True\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_names_of_builtins_may_be_variables(steps: Steps) -> None:
    names = [name for name in BUILTINS if not name.startswith("__")]
    await steps.run(f"globals().update(dict.fromkeys({names}, 5))")
    await steps.take_up()
    assert await steps.run("__builtins__.print(isinstance, compile, len, open, print)") == "5 5 5 5 5\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_builtins_that_a_cell_deletes_are_its_own_again(steps: Steps) -> None:
    """Also if an expression comes after that; and what no name could lead to is no reason to keep nothing."""
    await steps.run("import builtins\nvars(builtins)[1] = vars(builtins)['a:b'] = 2\ndel __builtins__\n1")
    assert await steps.run("import builtins; print(__builtins__ is builtins)") == "True\n"
    await steps.take_up()


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_what_cells_put_into_builtins_comes_back(steps: Steps) -> None:
    await steps.run("""
        import builtins, types
        real = print
        def shown(*words): real("shown", *words)
        vars(builtins)["shout"] = lambda text: text.upper()
        space, module = {"n": 1}, types.ModuleType("made")
        exec("def f(): return shout('f'), vars", space); exec("def f(): return shout('g')", vars(module))
        builtins.print, builtins.vars = shown, None
    """)
    asked = "print(space['f'](), module.f(), list(space), real is builtins.print, builtins.print is shown)"
    said = await steps.run(asked)
    for _ in range(2):
        await steps.take_up()
        assert await steps.run(asked) == said == "shown ('F', None) G ['n', '__builtins__', 'f'] False True\n"


async def test_settings_that_are_changed_after_a_step_are_in_the_next_one(steps: Steps) -> None:
    """Those of libraries are read by few calls, and classes are looked for again only once others were registered."""
    await steps.run(
        "import collections.abc, logging, sys\nimport numpy as np, pandas as pd, matplotlib as mpl\nrows = [1]"
    )
    for _ in range(2):
        await steps.keep()
    await steps.run(
        """
        class Odd:
            pass

        collections.abc.Iterator.register(Odd)
        pd.set_option("display.max_rows", 7)
        mpl.rcParams["lines.linewidth"] = 5.5
        mpl.rcParams["font.family"] = ["serif", "cursive"]
        np.set_printoptions(precision=3)
        logging.getLogger("mine").setLevel(17)
        sys.argv[:] = ["x", "--fast"]
        """
    )
    await steps.keep()
    await steps.take_up()
    said = await steps.run(
        """
        print(issubclass(Odd, collections.abc.Iterator), pd.get_option("display.max_rows"), mpl.rcParams["lines.linewidth"])
        print(mpl.rcParams["font.family"], np.get_printoptions()["precision"], logging.getLogger("mine").level, sys.argv)
        """
    )
    assert said == "True 7 5.5\n['serif', 'cursive'] 3 17 ['x', '--fast']\n"
