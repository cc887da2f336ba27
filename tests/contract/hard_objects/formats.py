"""Sessions of engineers: tables in other forms, figures, pictures, files, and what libraries were told."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "polars with names and spaces of one's own": session(
        """
        import polars as pl, numpy as np, datetime as dt, contextlib
        rate = 2
        @pl.api.register_expr_namespace("tax")
        class Tax:
            def __init__(self, e): self._e = e
            def net(self): return self._e / rate
        @pl.api.register_dataframe_namespace("house")
        class House:
            opened = 0
            def __init__(self, df): House.opened += 1; self._df = df
            def wide(self): return self._df.width * rate
        @pl.api.register_series_namespace("m")
        class M:
            def __init__(self, s): self.s = s
            def twice(self): return self.s * 2
        stack = contextlib.ExitStack(); stack.enter_context(pl.Config(tbl_rows=3, float_precision=2)); pl.Config.set_fmt_str_lengths(9)
        df = pl.DataFrame({"v": [1.0, 4.0], "k": ["a", "b"]}); df.house.wide(); net = pl.col("v").tax.net(); lf = df.lazy().with_columns(net.alias("n"))
        df.write_csv("d.csv"); scan = pl.scan_csv("d.csv").filter(pl.col("v") > 1); df.write_parquet("d.parquet"); pq = pl.scan_parquet("d.parquet").select(pl.col("v").sum())
        E = pl.Enum(["lo", "hi"]); e = pl.Series("e", ["hi", "lo"], dtype=E); c1 = pl.Series(["x", "y"], dtype=pl.Categorical); c2 = pl.Series(["y", "z"], dtype=pl.Categorical); pl.set_random_seed(5)
        gb = df.group_by("k", maintain_order=True); it = iter(gb); key, part = next(it); rows = df.iter_rows(named=True); next(rows); slices = df.iter_slices(1); next(slices); roll = df.with_row_index().rolling("index", period="2i")
        """,
        """
        rate = 4 ;; df.select(pl.col("v").tax.net()).to_series().to_list(), df.house.wide(), House.opened, lf.collect()["n"].to_list()
        df["v"].m.twice().to_list(), hasattr(pl.DataFrame, "house"), pl.Series.m.__class__.__name__
        pl.Config.state()["POLARS_FMT_MAX_ROWS"], str(df), pl.Config.state()["POLARS_FMT_STR_LEN"]
        stack.close() ;; pl.Config.state()["POLARS_FMT_MAX_ROWS"], str(df)
        scan.collect().to_dicts(), pq.collect().item()
        e.dtype == E, (e > "lo").to_list(), c1.append(c2).to_list(), c1.dtype, e.to_physical().to_list(), e.sort().to_list()
        next(it)[0], part.to_dicts(), key
        next(rows), next(slices).to_dicts()
        gb.len().to_dicts(), roll.agg(pl.col("v").sum()).to_dicts()
        """,
        named="it rows slices gb roll scan set_random_seed",
    ),
    "arrow with functions and types of one's own": session(
        """
        import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.parquet as pq, pyarrow.fs as fs, pyarrow.csv as pcsv, pyarrow.ipc as ipc, pyarrow.feather as pf, os
        k = 2
        def times(ctx, x): return pc.multiply(x, k)
        pc.register_scalar_function(times, "times_k", {"summary": "s", "description": "d"}, {"x": pa.int64()}, pa.int64())
        class Uuid(pa.ExtensionType):
            def __init__(self, v=1): self.v = v; super().__init__(pa.binary(2), "house.uuid")
            def __arrow_ext_serialize__(self): return str(self.v).encode()
            @classmethod
            def __arrow_ext_deserialize__(cls, st, ser): return cls(int(ser))
            def __arrow_ext_class__(self): return UuidArray
        class UuidArray(pa.ExtensionArray):
            def hexes(self): return [v.hex() for v in self.storage.to_pylist()]
        pa.register_extension_type(Uuid()); t = Uuid(7); arr = pa.ExtensionArray.from_storage(t, pa.array([b"ab", b"cd"], pa.binary(2))); tb = pa.table({"u": arr, "n": [1, 2]})
        pa.set_cpu_count(3); pa.set_io_thread_count(5); pool = pa.system_memory_pool(); pa.set_memory_pool(pool)
        # %%
        os.makedirs("parts", exist_ok=True); pq.write_to_dataset(pa.table({"y": [1, 1, 2], "v": [5, 6, 7]}), "parts", partition_cols=["y"]); dset = ds.dataset("parts", partitioning="hive"); view = dset.filter(pc.field("y") == 1); scan = view.scanner(columns=["v"]); frag = list(dset.get_fragments())[0]; pfile = pq.ParquetFile(frag.path); local = fs.LocalFileSystem(); sub = fs.SubTreeFileSystem("parts", local)
        sink = pa.BufferOutputStream(); w = ipc.new_stream(sink, tb.schema); w.write_table(tb); opts = pcsv.ReadOptions(skip_rows=1); conv = pcsv.ConvertOptions(null_values=["-"]); pw = pq.ParquetWriter("half.parquet", pa.schema([("a", pa.int64())])); pw.write_table(pa.table({"a": [1]})); batches = tb.to_reader(max_chunksize=1); batches.read_next_batch(); mb = pa.allocate_buffer(4, resizable=True); so = pc.SortOptions([("n", "descending")])
        """,
        """
        pc.call_function("times_k", [pa.array([1, 2])]).to_pylist(), pc.get_function("times_k").arity
        k = 5 ;; pc.call_function("times_k", [pa.array([1, 2])]).to_pylist()
        arr.type == t, arr.type.v, type(arr).__name__, arr.hexes(), tb["u"].type.v
        ipc.open_stream(ipc.new_stream and pa.ipc.serialize_pandas(tb.select(["n"]).to_pandas())).read_all().column_names, pa.cpu_count(), pa.io_thread_count(), pa.default_memory_pool().backend_name
        view.to_table().to_pydict(), scan.to_table().to_pydict(), frag.path.endswith(".parquet"), dset.partitioning.schema.names, pfile.metadata.num_rows
        [f.base_name for f in sub.get_file_info(fs.FileSelector("."))], local.equals(fs.LocalFileSystem()), opts.skip_rows, conv.null_values
        w.write_table(tb); w.close() ;; ipc.open_stream(sink.getvalue()).read_all().num_rows
        pw.write_table(pa.table({"a": [2]})); pw.close() ;; pq.read_table("half.parquet").to_pydict()
        batches.read_next_batch().to_pydict()["n"]
        roundtrip = ipc.open_stream(pa.py_buffer(ipc.serialize_pandas(tb.to_pandas(types_mapper=None).assign(u=0)))).read_all() ;; roundtrip.num_rows, mb.size, pc.sort_indices(tb, options=so).to_pylist()
        """,
        named="Uuid scan frag pfile w sink pw batches opts view dset mb so conv times_k",
    ),
    "a house style of figures": session(
        """
        import matplotlib as mpl; mpl.use("Agg")
        import matplotlib.pyplot as plt, numpy as np, contextlib
        from matplotlib import scale as ms, colors as mc, style, projections, transforms as mt, units, cm
        from cycler import cycler
        base = mc.LinearSegmentedColormap.from_list("house", ["white", "navy"]); mpl.colormaps.register(base); mpl.colormaps.register(base.reversed(name="house_back")); reg = mpl.colormaps["house"]; mpl.color_sequences.register("duo", ["r", "b"])
        style.library["house"] = {"lines.linewidth": 7.0}; style.use("house"); stack = contextlib.ExitStack(); stack.enter_context(mpl.rc_context({"font.size": 21})); stack.enter_context(style.context("ggplot")); mpl.rcParams["axes.prop_cycle"] = cycler(color=["k", "g"]); mpl.rcParams["axes.titlesize"] = 33
        power = 2.0
        class Pow(ms.ScaleBase):
            name = "pow"
            def __init__(self, axis=None, **kw): super().__init__(axis)
            def get_transform(self): return mt.IdentityTransform() if power == 1 else ms.FuncTransform(lambda v: np.sign(v) * np.abs(v) ** power, lambda v: np.abs(v) ** (1 / power))
            def set_default_locators_and_formatters(self, axis): pass
        ms.register_scale(Pow)
        class Plain(plt.Axes):
            name = "plain"
            def hello(self): return self.get_title() + "!"
        projections.register_projection(Plain); fig = plt.figure(); ax = fig.add_subplot(projection="plain"); ax.set_title("T"); ax.set_xscale("pow"); norm = mc.TwoSlopeNorm(0, -1, 4); fn = mc.FuncNorm((lambda v: v * power, lambda v: v / power), 0, 1); ax.scatter([1], [1], c=[0.5], norm=norm, cmap="house"); lut = reg(0.5); light = mc.LightSource(30); mc.get_named_colors_mapping()["acme"] = "#123456"; listed = mc.ListedColormap(["r", "g"], name="l2"); listed.set_bad("y"); bn = mc.BoundaryNorm([0, 1, 2], 2); sm = cm.ScalarMappable(norm, listed); plt.ioff(); mpl.use("svg", force=True) if False else None
        """,
        """
        mpl.colormaps["house"](0.5) == lut, "house_back" in mpl.colormaps, list(mpl.color_sequences["duo"]), plt.get_cmap("house").name
        "house" in style.available or "house" in style.library, style.library["house"]["lines.linewidth"], mpl.rcParams["lines.linewidth"]
        mpl.rcParams["font.size"], mpl.rcParams["axes.titlesize"], list(mpl.rcParams["axes.prop_cycle"])
        stack.close() ;; mpl.rcParams["font.size"], mpl.rcParams["axes.titlesize"], mpl.rcParams["lines.linewidth"], len(list(mpl.rcParams["axes.prop_cycle"]))
        "pow" in ms.get_scale_names(), ax.get_xscale(), ax.transScale.transform((3, 1)).tolist(), type(ax.xaxis._scale).__name__
        power = 3.0 ;; plt.figure().add_subplot(projection="plain").hello(), ax.hello(), float(fn(0.2)), type(ax) is Plain, projections.get_projection_class("plain") is Plain
        mc.to_hex("acme"), listed.get_bad().tolist(), bn(1.5), sm.to_rgba(2.0), sm.norm is norm, ax.collections[0].norm is norm
        norm.vmax = 40 ;; float(ax.collections[0].norm(20)), sm.norm.vmax, ax.collections[0].get_cmap().name, plt.isinteractive(), light.azdeg
        """,
        named="stack",
    ),
    "rules for all figures": session(
        """
        import matplotlib; matplotlib.use("Agg")
        import matplotlib as mpl, matplotlib.pyplot as plt, matplotlib.font_manager as fm, numpy as np, os, matplotlib.ticker as mt, matplotlib.units as mu, shutil
        open("house.mplstyle", "w").write("lines.linewidth: 6\\naxes.grid: True\\n"); plt.style.use("house.mplstyle"); plt.set_cmap("magma") if False else None; mpl.rcParams["image.cmap"] = "magma"; plt.rc("font", size=17, family=["DejaVu Sans"]); shutil.copy(os.path.join(mpl.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), "own.ttf"); fm.fontManager.addfont("own.ttf"); n = len(fm.fontManager.ttflist); fp = fm.FontProperties(fname="own.ttf", size=9); plt.ion()
        class Temp:
            def __init__(self, c): self.c = c
        class Conv(mu.ConversionInterface):
            seen = 0
            @staticmethod
            def convert(v, u, a): Conv.seen += 1; return [x.c * scale for x in v] if isinstance(v, (list, tuple, np.ndarray)) else (v.c * scale if isinstance(v, Temp) else v)
            @staticmethod
            def axisinfo(u, a): return mu.AxisInfo(label="deg")
            @staticmethod
            def default_units(x, a): return "c"
        scale = 2; mu.registry[Temp] = Conv(); ax = plt.figure().add_subplot(); ax.plot([Temp(1), Temp(2)]); mpl.rcParams["axes.formatter.useoffset"] = False; cyc = ax._get_lines.get_next_color(); mpl.rcParams["path.effects"] = []; mpl.rcParams["date.converter"] = "concise"; hooks = []; mpl.rcParams["figure.hooks"] = []; orig = plt.show; plt.show = lambda *a, **k: hooks.append("shown"); plt.Axes.tidy = lambda self: self.set_title("tidy") and self.get_title(); mpl.axes.Axes.marker = 5; norm_plot = ax.plot
        """,
        """
        mpl.rcParams["lines.linewidth"], mpl.rcParams["axes.grid"], mpl.rcParams["image.cmap"], mpl.rcParams["font.size"], mpl.rcParams["date.converter"]
        len(fm.fontManager.ttflist) == n, any(f.fname.endswith("own.ttf") for f in fm.fontManager.ttflist), fp.get_size(), fp.get_file()
        plt.isinteractive(), plt.rcParams is mpl.rcParams
        scale = 3 ;; ax.plot([Temp(5)])[0].get_ydata(orig=False).tolist(), ax.yaxis.get_converter().__class__.__name__ if hasattr(ax.yaxis, "get_converter") else None, ax.yaxis.units
        plt.show() ;; hooks, orig is plt.show, plt.Axes.tidy(ax), ax.marker, norm_plot.__self__ is ax
        ax._get_lines.get_next_color(), cyc, ax.get_ylabel() or ax.yaxis.label.get_text()
        mpl.rcdefaults() ;; mpl.rcParams["lines.linewidth"], mpl.rcParams["font.size"]
        """,
    ),
    "figures drawn again": session(
        """
        import matplotlib; matplotlib.use("Agg")
        import matplotlib.pyplot as plt, numpy as np, pandas as pd, datetime as dt, matplotlib.dates as md, matplotlib.ticker as mt
        from matplotlib.gridspec import GridSpec
        unit = "h"
        class Hours(mt.Formatter):
            def __init__(self): self.asked = 0
            def __call__(self, v, pos=None): self.asked += 1; return f"{v:g}{unit}"
        fig = plt.figure(figsize=(4, 3), layout="tight"); gs = GridSpec(2, 2, figure=fig, width_ratios=[2, 1]); a1 = fig.add_subplot(gs[0, :]); a2 = fig.add_subplot(gs[1, 0], sharex=a1); a3 = fig.add_subplot(gs[1, 1], projection="3d"); days = pd.date_range("2024-01-01", periods=4); a1.plot(days, [1, 3, 2, 4], marker="o", gid="main"); a1.xaxis.set_major_formatter(md.ConciseDateFormatter(a1.xaxis.get_major_locator())); a2.yaxis.set_major_formatter(Hours()); eb = a2.errorbar(days, [1, 2, 3, 4], yerr=0.5, label="e"); stem = a2.stem(days, [1, 1, 2, 2]); a3.plot_surface(*np.meshgrid([0, 1], [0, 1]), np.ones((2, 2))); a3.view_init(20, 40); span = a1.axvspan(days[0], days[1], alpha=0.2); tab = a1.table([["x"]], loc="top"); hist = np.histogram([1, 2, 2]); sf = plt.figure("subs"); left, right = sf.subfigures(1, 2); la = left.subplots(); la.bar(["p", "q"], [1, 2]); cat = la.xaxis.units; pie = right.subplots().pie([1, 2], labels=["u", "w"]); han, lab = a2.get_legend_handles_labels(); leg = fig.legend(han, lab); tx = a1.set_title("T"); a1.set_yscale("log"); from matplotlib.backends.backend_agg import FigureCanvasAgg; fig.canvas.draw(); pix = int(np.asarray(fig.canvas.buffer_rgba()).astype(int).sum()); ln = a1.lines[0]; ln.set_picker(5); fig.my_note = {"k": 1}; a1.owner = ln
        """,
        """
        FigureCanvasAgg(fig).draw() ;; int(np.asarray(fig.canvas.buffer_rgba()).astype(int).sum()) == pix
        unit = "m" ;; a2.yaxis.get_major_formatter()(2), a2.yaxis.get_major_formatter().asked > 0, type(a1.xaxis.get_major_formatter()).__name__
        a2.set_xlim(days[1], days[2]) ;; [md.num2date(v).day for v in a1.get_xlim()], a1.get_shared_x_axes().joined(a1, a2)
        eb.lines[0] in a2.lines, stem.markerline in a2.lines, a2.containers[0] is eb, span in a1.patches, tab in a1.tables, tx is a1.title, leg in fig.legends
        la.bar(["q", "r"], [1, 1]) ;; [t.get_text() for t in la.get_xticklabels()], la.xaxis.units is cat, list(cat._mapping), la.figure is left, left.figure is sf or left.figure is left, sf.subfigs[1] is right
        a3.elev, a3.azim, gs.get_width_ratios(), a1.get_subplotspec().get_gridspec() is gs, fig.my_note, a1.owner is ln, ln.get_gid(), ln.get_picker()
        a1.get_yscale(), [w.get_text() for w in pie[1]], fig.get_layout_engine().__class__.__name__, fig.axes.index(a3), plt.figure("subs") is sf
        fig.savefig("f.png") ;; __import__("os").path.getsize("f.png") > 1000, plt.close(sf), plt.get_fignums(), fig.canvas.manager is not None
        """,
    ),
    "pictures": session(
        """
        from PIL import Image, ImageDraw, ImageFont, ImageSequence, ImageFile, ImageOps, ImageChops, ImageFilter, ImagePalette
        import numpy as np, io
        Image.MAX_IMAGE_PIXELS = 5_000; ImageFile.LOAD_TRUNCATED_IMAGES = True
        im = Image.new("RGB", (8, 8), "red"); dr = ImageDraw.Draw(im); dr.rectangle([0, 0, 3, 3], fill="blue"); im.info["dpi"] = (72, 72); im.save("p.png", dpi=(96, 96)); lazy = Image.open("p.png"); opened = Image.open("p.png"); opened.load(); arr = np.zeros((4, 4, 4), "u1"); shared = Image.frombuffer("RGBA", (4, 4), arr, "raw", "RGBA", 0, 1); view = np.asarray(im)
        frames = [Image.new("RGB", (4, 4), (i * 90, 0, 0)) for i in range(3)]; frames[0].save("a.gif", save_all=True, append_images=frames[1:], duration=[10, 20, 30], loop=0); gif = Image.open("a.gif"); gif.seek(1); seq = ImageSequence.Iterator(gif); pal = Image.new("P", (2, 2)); pal.putpalette([1, 2, 3, 4, 5, 6]); pal.info["transparency"] = 1; px = im.load(); ex = im.getexif(); ex[0x010E] = "desc"
        class Blur(ImageFilter.MultibandFilter):
            def __init__(self, n): self.n = n
            def filter(self, image): return image.filter(2 * self.n) if False else image
        bl = Blur(2); font = ImageFont.load_default(12); im.note = "hand"; crop = im.crop((0, 0, 2, 2)); f = Image.new("F", (2, 2), 1.5); i16 = Image.new("I;16", (2, 2), 700); parts = im.split(); merged = Image.merge("RGB", parts[::-1]); b = io.BytesIO(); im.save(b, "JPEG", quality=50); jpg = Image.open(b)
        def opener(fp, name): return Image.new("L", (1, 1))
        Image.register_open("HOUSE", opener, lambda prefix: prefix[:4] == b"HOUS"); Image.init(); Image.register_extension("HOUSE", ".house")
        """,
        """
        dr.point((7, 7), fill="green") ;; im.getpixel((7, 7)), px[7, 7], view[7, 7].tolist(), crop.getpixel((0, 0))
        px[0, 0] = (9, 9, 9) ;; im.getpixel((0, 0)), im.info, im.note, dr.im is im.im
        lazy.size, lazy.getpixel((0, 0)), lazy.format, opened.format, opened.info.get("dpi"), lazy.filename.endswith("p.png")
        arr[0, 0] = 255 ;; shared.getpixel((0, 0)), shared.readonly
        gif.tell(), gif.n_frames, gif.info["duration"], gif.getpixel((0, 0)), gif.seek(2), gif.info["duration"]
        next(seq).getpixel((0, 0)), pal.getpalette()[:6], pal.info, pal.convert("RGB").getpixel((0, 0)), f.getpixel((0, 0)), i16.mode, i16.getpixel((0, 0))
        Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, "HOUSE" in Image.OPEN, Image.registered_extensions().get(".house"), Image.open(io.BytesIO(b"HOUSE")).size
        dict(ex), im.getexif() is ex, bl.n, merged.getpixel((1, 1)), jpg.format, jpg.getpixel((0, 0)), font.getlength("abc"), parts[0].getpixel((6, 1))
        """,
        named="px seq dr",
        known="arr[0, 0] = 255 ;; shared.getpixel((0, 0)), shared.readonly",
    ),
    "pictures from files": session(
        """
        from PIL import Image, ImageDraw, ImageFont, ImageOps, PngImagePlugin, TiffImagePlugin, ImageEnhance, ImageStat, ImageCms
        import io, os, numpy as np, matplotlib
        meta = PngImagePlugin.PngInfo(); meta.add_text("author", "me"); Image.new("RGBA", (6, 4), (1, 2, 3, 200)).save("a.png", pnginfo=meta, dpi=(100, 100)); png = Image.open("a.png"); loaded = Image.open("a.png"); loaded.load(); Image.new("RGB", (5, 5), "red").save("b.jpg", exif=(lambda e: (e.__setitem__(271, "Cam"), e)[1])(Image.Exif())); jpg = Image.open("b.jpg"); jpg.draft("L", (2, 2)); ex = jpg.getexif(); pages = [Image.new("L", (3, 3), i * 50) for i in range(3)]; pages[0].save("m.tif", save_all=True, append_images=pages[1:]); tif = Image.open("m.tif"); tif.seek(2); buf = io.BytesIO(); Image.new("L", (2, 2), 9).save(buf, "PNG"); mem = Image.open(buf); closed = Image.open("a.png"); closed.close(); arr = np.arange(48, dtype="u1").reshape(4, 4, 3); fa = Image.fromarray(arr); th = fa.copy(); th.thumbnail((2, 2)); font = ImageFont.truetype(os.path.join(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), 11); en = ImageEnhance.Brightness(fa); stt = ImageStat.Stat(fa); mask = Image.new("L", (4, 4), 128); pal = fa.quantize(4); album = {"cover": fa, "all": [fa, th]}; fa.caption = "hi"; anim = Image.open("m.tif")
        class Photo:
            def __init__(self, im): self.im = im; self.draw = None
            def dot(self, xy): self.im.putpixel(xy, (0, 0, 0)); return self
        ph = Photo(fa).dot((0, 0)); pages[1].paste(5, (0, 0, 1, 1)); tif2 = Image.open("m.tif"); tif2.seek(1); tif2.load(); tif2.putpixel((2, 2), 77)
        """,
        """
        png.text, png.info.get("dpi"), png.getpixel((0, 0)), loaded.text, loaded.format, loaded.filename, png.format_description
        jpg.mode, jpg.getexif()[271], dict(ex), jpg.format, jpg.size
        tif.tell(), tif.getpixel((0, 0)), tif.n_frames, tif.seek(1), tif.getpixel((0, 0)), tif.tag_v2[256]
        mem.getpixel((1, 1)), mem.format, buf.getvalue()[:4]
        closed.getpixel((0, 0))
        album["cover"] is fa, album["all"][0] is ph.im, fa.caption, fa.getpixel((0, 0)), th.size, pal.getcolors(), en.image is fa, stt.mean, ph.dot((1, 1)).im.getpixel((1, 1))
        font.getbbox("Hi"), font.size, font.getname(), pages[1].getpixel((0, 0)), tif2.getpixel((2, 2)), tif2.tell(), anim.is_animated
        fa.putpixel((3, 3), (9, 9, 9)) ;; album["cover"].getpixel((3, 3)), arr[3, 3].tolist()
        """,
        named="closed",
    ),
    "caches, pools and limits": session(
        """
        import joblib, numpy as np, threadpoolctl, contextlib, os, functools
        stack = contextlib.ExitStack(); stack.enter_context(joblib.parallel_config(backend="threading", n_jobs=2, verbose=0)); lim = stack.enter_context(threadpoolctl.threadpool_limits(limits=1))
        mem = joblib.Memory("jl", verbose=0); calls = []
        @mem.cache(ignore=["dbg"])
        def heavy(a, dbg=False): calls.append(a); return {"a": a, "arr": np.arange(a)}
        first = heavy(3); ref = heavy.call_and_shelve(4); par = joblib.Parallel(n_jobs=1); dl = joblib.delayed(lambda v: v + offset)(1); offset = 10; joblib.dump({"m": np.eye(2)}, "m.joblib"); mm = joblib.load("m.joblib", mmap_mode=None); h = joblib.hash(first["arr"])
        @functools.lru_cache(maxsize=None)
        def fast(v): calls.append(("f", v)); return v
        fast(1)
        class Report:
            def __init__(self): self.mem = mem; self.run = mem.cache(self.compute)
            def compute(self, v): return v * 3
        rep = Report(); rep.run(2)
        """,
        """
        heavy(3)["a"], calls, heavy.check_call_in_cache(3), heavy(3, dbg=True)["a"], calls
        ref.get()["a"], ref.func if hasattr(ref, "func") else None, heavy.func.__name__
        joblib.Parallel()(joblib.delayed(abs)(v) for v in [-1, -2]), joblib.effective_n_jobs(), joblib.parallel.get_active_backend()[1] if hasattr(joblib.parallel, "get_active_backend") else None
        offset = 20 ;; dl[0](*dl[1]), par.n_jobs, h == joblib.hash(first["arr"])
        [i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"][:1]
        stack.close() ;; joblib.parallel.get_active_backend()[1], joblib.effective_n_jobs()
        rep.run(2), rep.mem is mem, heavy.store_backend.location.endswith("joblib"), mem.reduce_size(items_limit=10)
        """,
        named="stack lim",
    ),
    "documents, tables and text": session(
        """
        import pypdf, io, yaml, regex, orjson, python_calamine, openpyxl, sortedcontainers as sc, narwhals as nw, pandas as pd, jinja2, tomlkit, fsspec, xxhash, zstandard, wcwidth
        w = pypdf.PdfWriter(); pg = w.add_blank_page(100, 200); w.add_metadata({"/Title": "T"}); out = io.BytesIO(); w.write(out); rd = pypdf.PdfReader(io.BytesIO(out.getvalue())); rp = rd.pages[0]
        wb = openpyxl.Workbook(); wb.active.append([1, "x"]); wb.save("c.xlsx"); cal = python_calamine.CalamineWorkbook.from_path("c.xlsx"); sheet = cal.get_sheet_by_index(0)
        key = 1
        sd = sc.SortedDict(lambda k: -k * key, {1: "a", 3: "b"}); keys = sd.keys(); sl = sc.SortedKeyList([3, 1, 2], key=lambda v: -v); ss = sc.SortedSet(["b", "a"]); it = sl.islice(1); next(it); sd.meta = 5
        pat = regex.compile(r"(?<w>\\w+)(?:,(?<w>\\w+))*", regex.V1); m = pat.match("a,b,c"); nl = regex.compile(r"\\L<opts>", opts=["x", "y"]); fz = regex.search("(?:cats){e<=1}", "cat"); sc_ = pat.scanner("a,b d") if hasattr(pat, "scanner") else None
        frame = pd.DataFrame({"a": [1, 2]}); nf = nw.from_native(frame); ns = nf["a"]; nx = nw.col("a") * 2; env = jinja2.Environment(trim_blocks=True); env.filters["mul"] = lambda v: v * key; env.globals["g"] = frame; tpl = env.from_string("{{ 3|mul }}{{ g.a.sum() }}"); doc = tomlkit.parse("# c\\na = 1 # x\\n[t]\\nb = [1, 2]\\n"); tt = doc["t"]
        fs = fsspec.filesystem("memory"); fs.pipe("/f.txt", b"hello"); fh = fs.open("/f.txt"); fh.read(2); loc = fsspec.filesystem("file"); xh = xxhash.xxh3_64(seed=3); xh.update(b"ab"); zc = zstandard.ZstdCompressor(level=5); zd = zstandard.ZstdDecompressor().decompressobj()
        """,
        """
        len(w.pages), rd.metadata.title, rp.mediabox.width, pg.rotate(90) is pg, w.pages[0].rotation, rd.pages[0] is rp
        sheet.to_python(), cal.sheet_names
        key = 2 ;; sd[2] == 1 if 2 in sd else list(sd), sd.peekitem(0), list(keys), sl.add(9), list(sl), ss.index("b"), sd.meta
        m.captures("w"), m.capturesdict(), pat.flags, bool(nl.match("y")), nl.named_lists, fz.fuzzy_counts, m.re is pat
        frame.loc[0, "a"] = 50 ;; nf["a"].to_list(), ns.to_list(), nf.select(nx)["a"].to_list(), nf.to_native() is frame, tpl.render(), env.from_string("{{2|mul}}").render(), tpl.environment is env
        tt["b"].append(3) ;; tomlkit.dumps(doc), doc["t"] is tt or doc["t"] == tt
        fs.cat("/f.txt"), fh.read(), fsspec.filesystem("memory") is fs, loc.exists("c.xlsx"), fs.ls("/", detail=False)
        xh.update(b"c") ;; xh.hexdigest(), zc.compress(b"aaaa")[:4], next(it)
        """,
        named="xh zc zd cal sheet sc_ m fz",
    ),
    "reports and configuration": session(
        """
        import jinja2, structlog, yaml, pydantic, attrs, numpy as np, pandas as pd, json, orjson, tomlkit, tenacity, dateutil.rrule as rr, dateutil.parser as dp, dateutil.tz as tz, datetime as dt, croniter, narwhals as nw, sortedcontainers as sc, logging, pypdf, regex
        cur = "EUR"; env = jinja2.Environment(loader=jinja2.DictLoader({"base": "<{% block b %}{% endblock %}>", "t": "{% extends 'base' %}{% block b %}{{ v|money }}{% endblock %}"}), undefined=jinja2.StrictUndefined); env.filters["money"] = lambda v: f"{v:.2f} {cur}"; env.tests["big"] = lambda v: v > lim; lim = 3; env.globals.update(now=lambda: "N"); tpl = env.get_template("t"); mod = env.from_string("{% macro m(x) %}[{{x}}]{% endmacro %}").module
        seen = []; structlog.configure(processors=[lambda l, m, e: (seen.append(e["event"]), structlog.DropEvent)[0] or e, structlog.processors.KeyValueRenderer()], logger_factory=structlog.ReturnLoggerFactory()); log = structlog.get_logger().bind(job=7)
        yaml.add_representer(np.ndarray, lambda d, a: d.represent_list(a.tolist())); yaml.add_constructor("!sq", lambda l, n: int(l.construct_scalar(n)) ** 2, Loader=yaml.SafeLoader); doc = tomlkit.parse("[a]\\nx = 1\\n"); box = doc["a"]
        class Cfg(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(arbitrary_types_allowed=True, extra="allow")
            frame: pd.DataFrame; rate: float = pydantic.Field(1.0, gt=0); _hits: int = pydantic.PrivateAttr(0)
            @pydantic.field_validator("rate")
            @classmethod
            def chk(cls, v): return v * (2 if cur == "USD" else 1)
            def hit(self): self._hits += 1; return self._hits
        frame = pd.DataFrame({"a": [1]}); cfg = Cfg(frame=frame, extra_one=5); cfg.hit()
        @attrs.define(slots=True)
        class Row:
            a: int = attrs.field(validator=attrs.validators.ge(0)); f: pd.DataFrame = attrs.field(eq=False, default=None, on_setattr=lambda i, a, v: (seen.append("set"), v)[1])
        row = Row(1, frame); attrs.validators.set_disabled(True)
        rule = rr.rrule(rr.MONTHLY, count=4, dtstart=dt.datetime(2024, 1, 31), bymonthday=-1, cache=True); it = iter(rule); next(it); rset = rr.rruleset(); rset.rrule(rule); rset.exdate(dt.datetime(2024, 2, 29)); cron = croniter.croniter("0 0 1 * *", dt.datetime(2024, 1, 15)); cron.get_next(); berlin = tz.gettz("Europe/Berlin"); when = dt.datetime(2024, 7, 1, tzinfo=berlin)
        class German(dp.parserinfo):
            MONTHS = [("Jan", "Januar"), ("Feb",), ("Mär",), ("Apr",), ("Mai",), ("Jun",), ("Jul",), ("Aug",), ("Sep",), ("Okt",), ("Nov",), ("Dez",)]
        ger = German(dayfirst=True); tries = []
        @tenacity.retry(stop=tenacity.stop_after_attempt(2), wait=tenacity.wait_none(), reraise=True)
        def flaky(): tries.append(1); raise ValueError("no")
        sdict = sc.SortedDict(b=1, a=2); sdict.origin = "file"; slist = sc.SortedList([3, 1]); slist.unit = "kg"; nwf = nw.from_native(frame, eager_only=True); nexpr = nw.col("a").sum()
        """,
        """
        cur = "CHF" ;; tpl.render(v=1), env.from_string("{{ 5 is big }}{{ now() }}").render(), str(mod.m(3)), env.get_template("t") is tpl
        log.info("hello"), seen, log._context if hasattr(log, "_context") else None, structlog.is_configured()
        yaml.dump(np.array([1, 2])), yaml.safe_load("!sq 4"), tomlkit.dumps(doc), doc["a"] is box or doc["a"] == box
        cfg.hit(), cfg.frame is frame, cfg.extra_one, cfg.model_fields_set, Cfg(frame=frame, rate=2).rate, cfg.model_extra
        row.f is frame, Row(-1).a, attrs.validators.get_disabled(), setattr(row, "f", None), seen
        next(it), list(rule)[-1].day, len(list(rset)), cron.get_next(dt.datetime), berlin is tz.gettz("Europe/Berlin"), when.utcoffset(), when.tzinfo is berlin, dp.parse("3 Mai 2024", parserinfo=ger)
        flaky()
        len(tries), flaky.statistics.get("attempt_number"), sdict.origin, list(sdict), slist.unit, list(slist), nwf.select(nexpr)["a"].to_list(), nwf.to_native() is frame
        """,
        named="it rule rset",
    ),
    "file systems of analysts": session(
        """
        import fsspec, io, zipfile, os, pathlib, pandas as pd, shutil, gzip, csv, tempfile
        from fsspec.implementations.local import LocalFileSystem
        from fsspec.implementations.dirfs import DirFileSystem
        from fsspec.implementations.memory import MemoryFileSystem
        os.makedirs("d", exist_ok=True); pathlib.Path("d/x.csv").write_text("a,b\\n1,2\\n3,4\\n"); loc = fsspec.filesystem("file"); dirfs = DirFileSystem("d", loc); mapper = fsspec.get_mapper("d"); of = fsspec.open("d/x.csv", "rt"); fh = of.open(); fh.readline(); mem = MemoryFileSystem(); mem.mkdir("/p"); mem.pipe_file("/p/one", b"111"); w = mem.open("/p/two", "wb"); w.write(b"22"); w.close()
        with zipfile.ZipFile("a.zip", "w") as zf: zf.writestr("in.txt", "zipped")
        zfs = fsspec.filesystem("zip", fo="a.zip"); zr = zipfile.ZipFile("a.zip"); zi = zr.infolist()[0]; gz = gzip.open("g.gz", "wt"); gz.write("abc"); fsspec.config.conf["file"] = {"auto_mkdir": True}
        class House(fsspec.AbstractFileSystem):
            protocol = "house"; cachable = True
            def __init__(self, root="r", **kw): super().__init__(**kw); self.root_name = root; self.calls = 0
            def ls(self, path, detail=True, **kw): self.calls += 1; return [{"name": f"{path}/{suffix}", "size": 1, "type": "file"}]
        suffix = "f"; fsspec.register_implementation("house", House, clobber=True); house = fsspec.filesystem("house", root="q"); house.ls("a"); again = fsspec.filesystem("house", root="q"); rdr = csv.DictReader(open("d/x.csv")); first = next(rdr); p = pathlib.Path("d") / "x.csv"; frames = {p: pd.read_csv(p)}; spool = tempfile.SpooledTemporaryFile(); spool.write(b"sp"); sio = io.StringIO("l1\\nl2\\n"); sio.readline(); tw = io.TextIOWrapper(io.BytesIO(b"x\\ny\\n")); tw.readline(); ob = io.BufferedReader(io.BytesIO(b"buffered")); ob.read(3)
        """,
        """
        dirfs.ls("", detail=False), dirfs.cat("x.csv"), sorted(mapper), mapper["x.csv"][:3], mapper.fs is loc
        fh.readline(), fh.tell() > 0, of.path.endswith("d/x.csv")
        mem.cat("/p/one"), mem.ls("/p", detail=False), MemoryFileSystem() is mem, fsspec.open("memory://p/two").open().read()
        zfs.cat("in.txt"), zr.read("in.txt"), zi.filename, zr.namelist()
        gz.write("def"); gz.close() ;; gzip.open("g.gz", "rt").read()
        suffix = "g" ;; house.ls("b"), house.calls, again is house, fsspec.filesystem("house", root="q") is house, fsspec.get_filesystem_class("house") is House, fsspec.config.conf["file"]
        next(rdr), rdr.line_num, frames[p].a.tolist(), first, sio.readline(), tw.readline(), ob.read(2)
        spool.seek(0) ;; spool.read()
        """,
        named="gz zfs zr spool fh tw ob rdr",
    ),
    "sqlite and frames": session(
        """
        import sqlite3, pandas as pd, contextlib, dataclasses, enum
        con = sqlite3.connect("sales.sqlite"); pd.DataFrame({"d": pd.to_datetime(["2024-01-01", "2024-02-01"]), "n": [1, 2]}).to_sql("s", con, index=False, if_exists="replace"); con.row_factory = lambda c, r: {d[0]: v for d, v in zip(c.description, r)}
        class Color(enum.Enum):
            RED = 1
        sqlite3.register_adapter(Color, lambda c: c.name); frame = pd.read_sql("select * from s", sqlite3.connect("sales.sqlite"), parse_dates=["d"]); closed = sqlite3.connect(":memory:"); closed.close(); other = sqlite3.connect("sales.sqlite", timeout=0.1, isolation_level=None); other.execute("pragma journal_mode = wal"); it = iter(con.execute("select n from s order by n")); next(it); chunks = pd.read_sql("select n from s", other, chunksize=1); mem = sqlite3.connect(":memory:"); frame.to_sql("copy", mem); script = "\\n".join(mem.iterdump()); mem.execute("create view v as select n * 10 m from copy"); mem.commit(); store = {"main": con, "again": con}; conns = [mem]; q = "select sum(n) t from s"; cur = mem.cursor(); many = cur.executemany("insert into copy(n) values (?)", [(7,)]); mem.commit(); last = cur.lastrowid
        class Repo:
            def __init__(self, c): self.c = c
            def total(self): return self.c.execute(q).fetchone()
            def __enter__(self): return self
            def __exit__(self, *a): self.c.close()
        repo = Repo(con); text = sqlite3.connect(":memory:"); text.text_factory = lambda b: b.decode().upper(); text.execute("create table t(a text)"); text.execute("insert into t values ('x')"); text.commit(); text.row_factory = sqlite3.Row
        """,
        """
        con.execute("select * from s").fetchall(), store["main"] is store["again"], store["main"] is con, repo.c is con, repo.total()
        q = "select max(n) t from s" ;; repo.total(), mem.execute("select m from v").fetchall(), conns[0] is mem
        con.execute("select ? c", (Color.RED,)).fetchone()
        closed.execute("select 1")
        other.isolation_level, other.execute("pragma journal_mode").fetchall(), other.execute("pragma busy_timeout").fetchall(), other.in_transaction
        text.execute("select a from t").fetchone()["a"], frame.dtypes.astype(str).tolist(), script.count("INSERT"), last
        other.execute("insert into s(n) values (5)") ;; other.execute(q).fetchall()
        next(it), next(chunks).n.tolist()
        cur.lastrowid, cur.rowcount
        """,
        named="chunks",
    ),
}
