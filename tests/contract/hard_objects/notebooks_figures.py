"""Sessions of people who draw: figures with callbacks, scales and artists of their own, grids, films and settings."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: a figure with listeners": session(
        """
        import numpy as np, matplotlib.pyplot as plt
        from matplotlib.backend_bases import MouseEvent, PickEvent, KeyEvent
        clicks = []; limits = []; picked = []; fig, (top, low) = plt.subplots(2, 1, sharex=True, num="monitor"); line, = top.plot([0, 1, 2], [0, 1, 4], picker=5, label="load"); bars = low.bar([0, 1, 2], [3, 2, 1])
        class Reader:
            def __init__(self, ax): self.ax = ax; self.n = 0
            def on_click(self, event): self.n += 1; clicks.append((self.n, event.name))
        reader = Reader(top); cid = fig.canvas.mpl_connect("button_press_event", reader.on_click); kid = fig.canvas.mpl_connect("key_press_event", lambda e: clicks.append(e.key)); pid = fig.canvas.mpl_connect("pick_event", lambda e: picked.append(e.artist is line))
        lid = top.callbacks.connect("xlim_changed", lambda ax: limits.append(ax.get_xlim())); low.callbacks.connect("ylim_changed", lambda ax: limits.append("y"))
        """
        + "# %%\n"
        + """
        twin = top.twinx(); twin.plot([0, 2], [10, 20], "r--"); sec = low.secondary_xaxis("top", functions=(lambda d: d * ratio, lambda r: r / ratio)); ratio = 24.0; inset = top.inset_axes([0.6, 0.1, 0.3, 0.3]); ind = top.indicate_inset_zoom(inset)
        legend = top.legend(); line.set_gid("g1"); changed = line.add_callback(lambda a: clicks.append("changed")); weak = {ax: i for i, ax in enumerate(fig.axes)}
        """,
        """
        type(reader) is Reader, type(reader).on_click is Reader.on_click
        fig.canvas.callbacks.process("button_press_event", MouseEvent("button_press_event", fig.canvas, 10, 10)) ;; clicks, reader.n
        top.set_xlim(0, 10) ;; limits, low.get_xlim(), twin.get_xlim()
        low.set_ylim(0, 5) ;; limits[-1], reader.ax is top, weak[top]
        fig.canvas.callbacks.process("key_press_event", KeyEvent("key_press_event", fig.canvas, "x")) ;; clicks[-1]
        line.pick(MouseEvent("button_press_event", fig.canvas, *top.transData.transform((1, 1)))) ;; picked
        n = len(clicks); line.set_color("k") ;; len(clicks) - n > 0, legend.get_lines()[0].get_color(), top.lines[0] is line
        fig.canvas.mpl_disconnect(cid); fig.canvas.callbacks.process("button_press_event", MouseEvent("button_press_event", fig.canvas, 10, 10)) ;; reader.n
        ratio = 1.0; fig.canvas.draw() ;; sec.get_xlim(), low.get_xlim()
        plt.gcf() is fig, plt.get_fignums(), plt.figure("monitor") is fig, plt.gca() in fig.axes, fig.get_label()
        top.get_shared_x_axes().joined(top, low), twin.get_shared_x_axes().joined(twin, top), top.child_axes[0] is inset, low.child_axes[0] is sec
        line.set_ydata([0, 5, 9]); top.relim(); top.autoscale_view() ;; top.get_ylim(), bars[0].get_height(), bars.patches[0] is low.patches[0]
        line.remove_callback(changed); n = len(clicks); line.set_lw(3) ;; len(clicks) - n, top.findobj(lambda a: a.get_gid() == "g1")[0] is line
        """,
    ),
    "notebook: scales, colours and units of one's own": session(
        """
        import numpy as np, matplotlib as mpl, matplotlib.pyplot as plt, matplotlib.units as munits, matplotlib.scale as mscale, matplotlib.transforms as mtrans
        from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize, TwoSlopeNorm, BoundaryNorm; from matplotlib.ticker import FuncFormatter, MultipleLocator, FixedLocator
        class Money:
            def __init__(self, v): self.v = v
        class MoneyConverter(munits.ConversionInterface):
            @staticmethod
            def convert(value, unit, axis): return [x.v for x in value] if np.iterable(value) else (value.v if isinstance(value, Money) else value)
            @staticmethod
            def axisinfo(unit, axis): return munits.AxisInfo(majfmt=FuncFormatter(lambda v, p: f"{sign}{v:g}"), label="money")
        sign = "€"; munits.registry[Money] = MoneyConverter()
        class Squared(mscale.ScaleBase):
            name = "squared"
            class T(mtrans.Transform):
                input_dims = output_dims = 1
                def transform_non_affine(self, a): return np.asarray(a) ** 2
                def inverted(self): return Squared.I()
            class I(mtrans.Transform):
                input_dims = output_dims = 1
                def transform_non_affine(self, a): return np.sqrt(np.abs(a))
                def inverted(self): return Squared.T()
            def get_transform(self): return self.T()
            def set_default_locators_and_formatters(self, axis): axis.set_major_locator(FixedLocator([0, 1, 2, 3]))
        mscale.register_scale(Squared); house = LinearSegmentedColormap.from_list("house", ["navy", "gold"]); mpl.colormaps.register(house)
        """
        + "# %%\n"
        + """
        class Steps(Normalize):
            def __call__(self, v, clip=None): return np.ma.masked_array(np.interp(v, self.edges, np.linspace(0, 1, len(self.edges))))
        norm = Steps(0, 10); norm.edges = [0, 1, 10]; fig, (a, b) = plt.subplots(1, 2); a.plot([Money(1), Money(3)], [1, 9]); a.set_yscale("squared"); im = b.imshow(np.arange(9.0).reshape(3, 3), norm=norm, cmap="house"); bar = fig.colorbar(im); pc = b.scatter([0, 1], [0, 1], c=[2.0, 8.0], norm=norm)
        suffix = "k"; b.xaxis.set_major_formatter(lambda v, p: f"{v:g}{suffix}"); heard = []; norm.callbacks.connect("changed", lambda: heard.append(norm.vmax)); mpl.rcParams["axes.prop_cycle"] = plt.cycler(color=["teal", "orchid"]); extra, = b.plot([0, 1]); cut = TwoSlopeNorm(2, 0, 10)
        """,
        """
        fig.canvas.draw() ;; [t.get_text() for t in a.get_xticklabels()][:3], a.xaxis.get_label_text(), a.get_yscale()
        sign = "$"; fig.canvas.draw() ;; [t.get_text() for t in a.get_xticklabels()][1], a.yaxis.get_major_locator()()
        mpl.colormaps["house"] == house, im.get_cmap().name, im.norm is norm, pc.norm is norm, bar.mappable is im, bar.norm is norm
        norm.vmax = 20 ;; heard, bar.vmax, im.get_clim(), pc.get_clim()
        norm.edges = [0, 5, 10]; norm._changed() ;; im.to_rgba([1.0]).round(3).tolist(), pc.to_rgba([1.0]).round(3).tolist()
        suffix = "M"; fig.canvas.draw() ;; b.get_xticklabels()[2].get_text(), b.xaxis.get_major_formatter().func(2, 0)
        a.plot([Money(5)], [2]); fig.canvas.draw() ;; a.dataLim.x1, a.xaxis.get_converter() is munits.registry[Money]
        plt.figure().gca().plot([1])[0].get_color(), b.plot([2])[0].get_color(), extra.get_color(), mpl.rcParams["axes.prop_cycle"].by_key()
        im.set_cmap("viridis") ;; bar.cmap.name, im.cmap.name, bar.mappable.get_cmap().name
        plt.subplots()[1].set_yscale("squared") ;; "squared" in mscale.get_scale_names(), type(a.yaxis.get_transform()).__name__, cut(6.0).item()
        """,
    ),
    "notebook: a film, sliders and a page of figures": session(
        """
        import numpy as np, matplotlib, matplotlib.pyplot as plt, io
        from matplotlib.animation import FuncAnimation, ArtistAnimation; from matplotlib.widgets import Slider, Button, CheckButtons, RadioButtons, RangeSlider, SpanSelector, TextBox; from matplotlib.backends.backend_pdf import PdfPages
        fig, ax = plt.subplots(); curve, = ax.plot([], []); ax.set_xlim(0, 6); ax.set_ylim(-2, 2); x = np.linspace(0, 6, 20); drawn = []; amp = 1.0
        def frame(i):
            drawn.append(i); curve.set_data(x, amp * np.sin(x + i))
            return (curve,)
        film = FuncAnimation(fig, frame, frames=lambda: iter(range(4)), init_func=lambda: (curve,), repeat=False, cache_frame_data=False); fig.canvas.draw(); back = fig.canvas.copy_from_bbox(ax.bbox)
        """
        + "# %%\n"
        + """
        panel = plt.figure(); sl = Slider(panel.add_axes([0.1, 0.1, 0.5, 0.05]), "amp", 0, 5, valinit=1.0, valstep=0.5); got = []
        def on_amp(v):
            global amp
            amp = v; got.append(v); frame(0)
        sl.on_changed(on_amp); btn = Button(panel.add_axes([0.1, 0.3, 0.2, 0.1]), "Reset"); btn.on_clicked(lambda e: sl.reset()); checks = CheckButtons(panel.add_axes([0.5, 0.5, 0.3, 0.3]), ["a", "b"], [True, False]); checks.on_clicked(lambda label: got.append(label)); radio = RadioButtons(panel.add_axes([0.1, 0.5, 0.3, 0.3]), ["lin", "log"]); radio.on_clicked(got.append)
        rng = RangeSlider(panel.add_axes([0.1, 0.9, 0.5, 0.05]), "r", 0, 10); rng.on_changed(lambda v: ax.set_xlim(*v)); pages = PdfPages("report.pdf"); pages.savefig(fig); span = SpanSelector(ax, lambda lo, hi: got.append((lo, hi)), "horizontal")
        """,
        """
        sl.set_val(2.5) ;; amp, got, curve.get_ydata()[0].round(4), drawn[-1]
        btn.on_clicked is not None, btn._observers.process("clicked", None), sl.val, got
        checks.set_active(1); radio.set_active(1) ;; got[-2:], checks.get_status(), radio.value_selected
        rng.set_val((2, 4)) ;; ax.get_xlim(), rng.val
        film._func is frame if hasattr(film, "_func") else True, [list(film.new_frame_seq())], film._fig is fig
        n = len(drawn); film._draw_frame(3) ;; drawn[n:], curve.get_ydata()[0].round(4), curve in ax.lines
        film.save("film.gif", writer="pillow") ;; open("film.gif", "rb").read(6), drawn[-4:]
        pages.savefig(panel); pages.close() ;; open("report.pdf", "rb").read().count(b"/Type /Page "), pages.get_pagecount()
        span.extents = (1, 2); span.onselect(1, 2) ;; got[-1], span.ax is ax, span.get_visible() if hasattr(span, "get_visible") else None
        fig.canvas.restore_region(back) ;; type(back).__name__, back.get_extents()
        buf = io.BytesIO(); fig.savefig(buf, format="svg", metadata={"Date": None}) ;; buf.getvalue()[:5], len(fig.axes), plt.get_fignums()
        """,
        named="pages",
    ),
    "notebook: seaborn grids and their palettes": session(
        """
        import numpy as np, pandas as pd, seaborn as sns, matplotlib.pyplot as plt, seaborn.objects as so
        sns.set_theme(context="talk", style="whitegrid", palette="Set2", rc={"figure.figsize": (5, 3)}); rng = np.random.default_rng(0)
        tips = pd.DataFrame({"bill": rng.gamma(3, 5, 40), "tip": rng.gamma(2, 1, 40), "day": rng.choice(["Thu", "Fri"], 40), "smoker": rng.choice([True, False], 40)}); means = {}
        def note(data, color, label=None, **kw):
            means[data["day"].iloc[0]] = round(float(data["tip"].mean()), 3); plt.gca().text(0.1, 0.9, f"{prefix}{len(data)}", transform=plt.gca().transAxes)
        prefix = "n="; g = sns.FacetGrid(tips, col="day", hue=None); g.map_dataframe(sns.scatterplot, "bill", "tip"); g.map_dataframe(note)
        """
        + "# %%\n"
        + """
        joint = sns.JointGrid(data=tips, x="bill", y="tip"); joint.plot_joint(sns.scatterplot); pair = sns.PairGrid(tips[["bill", "tip"]]); pair.map_diag(sns.histplot); heat = sns.clustermap(tips[["bill", "tip"]].head(8)); pal = sns.color_palette(); old = sns.color_palette("husl", 3); style = sns.axes_style("dark"); ctx = sns.plotting_context("paper")
        plot = so.Plot(tips, x="bill", y="tip", color="day").add(so.Dots()).scale(color={"Thu": "red", "Fri": "blue"}); ax = sns.boxplot(tips, x="day", y="tip", ax=plt.figure("box").gca()); under = style.__enter__()
        """,
        """
        means, g.axes.shape, g.data is tips, g.axes_dict["Thu"].texts[0].get_text() if "Thu" in g.axes_dict else None
        prefix = "N: "; g.map_dataframe(note) ;; g.axes.flat[0].texts[-1].get_text(), g.axes.flat[0] is g.axes_dict[g.col_names[0]]
        g.set_titles("{col_name}!") ;; g.axes.flat[1].get_title(), g.figure is g.axes.flat[0].figure
        joint.plot_marginals(sns.histplot, bins=5) ;; len(joint.ax_marg_x.patches), joint.ax_joint.collections[0].get_offsets().shape, joint.ax_joint.get_shared_x_axes().joined(joint.ax_joint, joint.ax_marg_x)
        pair.map_offdiag(sns.scatterplot) ;; len(pair.axes[0, 1].collections), len(pair.diag_axes)
        heat.dendrogram_row.reordered_ind, heat.data2d.shape, heat.ax_heatmap.get_xticklabels()[0].get_text()
        pal.as_hex()[0], plt.rcParams["axes.facecolor"], plt.rcParams["figure.figsize"], plt.rcParams["font.size"]
        style.__exit__(None, None, None) ;; plt.rcParams["axes.facecolor"], plt.rcParams["axes.grid"], sns.axes_style()["grid.color"]
        p = plot.plot() ;; len(p._figure.axes[0].collections), plot._data.source_data is tips if hasattr(plot, "_data") else None
        tips.loc[0, "tip"] = 1000.0 ;; g.data["tip"].max(), joint.y.max() > 900, ax.get_xlabel(), ax.figure.number
        len(ax.patches), ax.artists[:] == [], plt.gca().figure.get_label()
        """,
    ),
    "notebook: artists, effects and layouts of one's own": session(
        """
        import numpy as np, matplotlib as mpl, matplotlib.pyplot as plt
        from matplotlib.artist import Artist; from matplotlib.patches import Patch, Circle, FancyArrowPatch; from matplotlib.legend_handler import HandlerBase; from matplotlib.lines import Line2D; from matplotlib.gridspec import GridSpec; from matplotlib import patheffects as pe; from matplotlib.offsetbox import AnchoredText, AnnotationBbox, TextArea
        painted = []
        class Band(Artist):
            zorder = 3
            def __init__(self, lo, hi): super().__init__(); self.lo, self.hi = lo, hi
            def draw(self, renderer):
                if self.get_visible(): painted.append((self.lo, self.hi, self.axes is main)); self.stale = False
        class Dial(plt.Axes):
            name = "dial"
            def needle(self, v): self.value = v; return self.plot([0, np.cos(v)], [0, np.sin(v)])
        mpl.projections.register_projection(Dial)
        class Handler(HandlerBase):
            def create_artists(self, legend, orig, xd, yd, w, h, fs, trans): return [Circle((w / 2, h / 2), h * size, transform=trans)]
        size = 0.5; fig = plt.figure(layout="constrained"); gs = GridSpec(2, 2, figure=fig, width_ratios=[2, 1]); main = fig.add_subplot(gs[:, 0]); dial = fig.add_subplot(gs[0, 1], projection="dial"); polar = fig.add_subplot(gs[1, 1], projection="polar")
        """
        + "# %%\n"
        + """
        band = Band(0, 1); main.add_artist(band); needle, = dial.needle(0.5); needle.set_path_effects([pe.withStroke(linewidth=3, foreground="w")]); spot = Circle((0.5, 0.5), 0.1); main.add_patch(spot); leg = main.legend([spot], ["spot"], handler_map={Circle: Handler()}); note = main.annotate("peak", (0.5, 0.5), xytext=(0.2, 0.8), arrowprops={"arrowstyle": "->"}); box = AnchoredText("n=3", "upper left"); main.add_artist(box)
        sub = plt.figure().subfigures(1, 2); sub_ax = sub[0].subplots(); mpl.rc("lines", linewidth=4); rc = mpl.rc_context({"font.size": 6}); rc.__enter__(); plt.style.use({"axes.titlesize": 21}); trans = main.transData + mpl.transforms.Affine2D().translate(5, 0); spot2 = Circle((0, 0), 0.1, transform=trans); main.add_patch(spot2); clip = main.imshow(np.eye(2), extent=(0, 1, 0, 1)); clip.set_clip_path(spot)
        """,
        """
        painted.clear(); fig.canvas.draw() ;; painted, band.axes is main, band.figure is fig
        band.set(visible=False); painted.clear(); fig.canvas.draw() ;; painted, band in main.artists, band.stale
        type(dial).__name__, dial.value, dial.needle(1.0)[0].get_linewidth(), type(plt.figure().add_subplot(projection="dial")) is Dial
        mpl.rcParams["font.size"], mpl.rcParams["axes.titlesize"], rc.__exit__(None, None, None), mpl.rcParams["font.size"], mpl.rcParams["axes.titlesize"]
        type(needle.get_path_effects()[0]).__name__, needle.axes is dial
        main.set_xlim(0, 2); a = trans.transform((0, 0)); b = main.transData.transform((0, 0)) ;; (a - b).round(6).tolist(), spot2.get_transform() is trans
        size = 1.0; leg2 = main.legend([spot], ["s"], handler_map=leg.get_legend_handler_map()) ;; leg.get_legend_handler_map()[Circle].__class__ is Handler, main.get_legend() is leg2
        spot.set_radius(0.4) ;; main.patches[0].radius, main.patches[0] is spot, clip.get_clip_path() is not None, spot2 in main.patches
        sub[0].axes == [sub_ax], sub_ax.figure is sub[0], sub_ax.get_figure(root=True) is sub[0].figure, type(fig.get_layout_engine()).__name__
        note.set_text("top") ;; [t.get_text() for t in main.texts], box.txt.get_text(), gs.get_width_ratios(), main.get_subplotspec().get_gridspec() is gs
        polar.set_rmax(3), polar.name, fig.axes.index(polar), polar.get_theta_offset()
        """,
        named="rc",
    ),
    "notebook: pandas draws, dates on the axis": session(
        """
        import numpy as np, pandas as pd, matplotlib.pyplot as plt, matplotlib.dates as mdates, matplotlib as mpl
        ts = pd.Series(np.arange(60.0), index=pd.date_range("2024-01-01", periods=60, freq="D"), name="visits"); frame = pd.DataFrame({"a": ts, "b": ts[::-1].to_numpy()})
        ax = ts.plot(); right = frame["b"].plot(ax=ax, secondary_y=True); axes = frame.plot(subplots=True); box = frame.boxplot(return_type="dict"); hist = frame.plot.hist(bins=5, alpha=0.5)
        fmt = mdates.ConciseDateFormatter(mdates.AutoDateLocator()); fig, d = plt.subplots(); d.plot(ts.index, ts); d.xaxis.set_major_formatter(fmt); d.xaxis.set_minor_locator(mdates.WeekdayLocator(byweekday=mdates.MO))
        """
        + "# %%\n"
        + """
        pd.plotting.register_matplotlib_converters(); pd.set_option("plotting.matplotlib.register_converters", True); mpl.rcParams["date.autoformatter.day"] = "%d.%m."
        class Marks:
            def __init__(self, ax): self.lines = {}; self.ax = ax
            def at(self, day, **kw): self.lines[pd.Timestamp(day)] = self.ax.axvline(pd.Timestamp(day), **kw); return self
            def __getitem__(self, day): return self.lines[pd.Timestamp(day)]
        marks = Marks(d).at("2024-01-15", color="r").at("2024-02-01"); fill = d.fill_between(ts.index, ts, 0, where=ts > 30); err = d.errorbar(ts.index[:3], ts[:3], yerr=1, capsize=2); stem = plt.figure().gca().stem([1, 2, 3]); pie = plt.figure().gca().pie([1, 2], labels=["x", "y"], autopct=lambda p: f"{p:.{digits}f}%"); digits = 1
        """.replace("; pie =", "; digits = 1; pie =").replace('%"); digits = 1', '%")'),
        """
        ax.right_ax is right, right.left_ax is ax, ax.freq if hasattr(ax, "freq") else None, len(right.lines)
        ax.set_xlim("2024-01-10", "2024-01-20") ;; right.get_xlim() == ax.get_xlim(), [l.get_label() for l in ax.lines]
        axes[0].figure is axes[1].figure, axes[0].get_shared_x_axes().joined(*axes), axes[0].lines[0].get_ydata()[:2].tolist()
        fig.canvas.draw() ;; [t.get_text() for t in d.get_xticklabels()][:3], fmt.get_offset()
        marks["2024-01-15"].set_color("b") ;; marks.lines[pd.Timestamp("2024-01-15")].get_color(), marks["2024-02-01"] in d.lines, marks.ax is d
        err.lines[0] in d.lines, err.has_yerr, len(d.containers), d.containers[0] is err, len(err[1])
        stem.markerline.set_ydata([3, 2, 1]) ;; stem.markerline.axes.lines[0].get_ydata(), type(stem).__name__
        [t.get_text() for t in pie[2]], pie[1][0].get_text()
        sorted(box), box["medians"][0].get_ydata().tolist(), len(hist.patches), hist.get_legend().get_texts()[0].get_text()
        frame.plot.line(ax=d, legend=False) ;; len(d.lines), d.get_xlim() == d.dataLim.intervalx.tolist()
        fill.get_paths()[0].vertices.shape, d.xaxis.get_minor_locator()().size > 0, d.xaxis.get_major_formatter() is fmt
        """,
    ),
    "notebook: a dashboard class over figures": session(
        """
        import numpy as np, pandas as pd, matplotlib.pyplot as plt, weakref, functools
        class Panel:
            instances = weakref.WeakSet()
            def __init__(self, board, ax, f): self.board = weakref.proxy(board); self.ax = ax; self.f = f; self.artist = None; Panel.instances.add(self)
            def refresh(self):
                data = self.f(self.board.data)
                if self.artist is None: self.artist, = self.ax.plot(data)
                else: self.artist.set_ydata(data)
                self.ax.set_title(f"{self.f.__name__} #{self.board.version}")
        class Board:
            def __init__(self, data): self._data = data; self.version = 0; self.panels = {}; self.fig, self.axs = plt.subplots(1, 2); self._free = iter(self.axs); self.on_change = []
            def panel(self, f): self.panels[f.__name__] = Panel(self, next(self._free), f); self.on_change.append(self.panels[f.__name__].refresh); return f
            @property
            def data(self): return self._data
            @data.setter
            def data(self, v):
                self._data = v; self.version += 1
                for cb in self.on_change: cb()
        prices = pd.DataFrame({"p": [1.0, 2, 4, 8]}); board = Board(prices)
        """
        + "# %%\n"
        + """
        window = 2
        @board.panel
        def smooth(df): return df["p"].rolling(window, min_periods=1).mean()
        @board.panel
        @functools.lru_cache(maxsize=None)
        def constant(df_id): return None
        """.replace(
            "        @board.panel\n        @functools.lru_cache(maxsize=None)\n        def constant(df_id): return None\n",
            "        @board.panel\n        @functools.wraps(np.cumsum)\n        def total(df): return np.cumsum(df['p'].to_numpy()) * gain\n        gain = 1.0; board.data = prices; first = board.panels['smooth']; line = first.artist; cb = board.on_change[0]; board.fig.canvas.mpl_connect('draw_event', lambda e: board.on_change[-1]()); Panel.size = 3\n",
        ),
        """
        sorted(board.panels), len(Panel.instances), first in Panel.instances, board.axs[0].get_title()
        window = 4; board.data = prices * 10 ;; line.get_ydata().tolist(), board.axs[0].get_title(), board.axs[0].lines[0] is line
        gain = 2.0; cb(); board.fig.canvas.draw() ;; board.axs[1].lines[0].get_ydata().tolist(), cb.__self__ is first
        first.board.version, first.board.data["p"].tolist(), board.on_change[0] == first.refresh
        next(board._free, "none left"), first.size, type(first) is Panel
        smooth(prices).tolist(), board.panels["smooth"].f is smooth, first.ax is board.axs[0], plt.gcf() is board.fig
        prices.loc[0, "p"] = 100.0; board.data = prices ;; line.get_ydata().tolist()[0], board.version
        del first; p = board.panels.pop("smooth"); board.on_change.clear(); n = len(Panel.instances) ;; n, p.board.version, p.artist.axes.figure is board.fig
        """,
    ),
}
