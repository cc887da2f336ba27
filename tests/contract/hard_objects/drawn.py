"""Figures: callbacks, colorbars, widgets, styles."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "colorbars": session(
        """
        import matplotlib.pyplot as plt, numpy as np
        fig, ax = plt.subplots(); im = ax.imshow(np.arange(9).reshape(3, 3)); cb = fig.colorbar(im, label="heat")
        fig2, ax2 = plt.subplots(); sc = ax2.scatter([1, 2], [3, 4], c=[0.0, 1.0]); cb2 = plt.colorbar(sc)
        import matplotlib.colors as mc
        norm = mc.LogNorm(1, 100); im3 = ax2.pcolormesh(np.ones((2, 2)), norm=norm); cb3 = fig2.colorbar(im3)
        """,
        """
        im.set_clim(0, 100) ;; cb.vmin, cb.vmax
        im.set_cmap("plasma") ;; cb.cmap.name
        sc.set_clim(-5, 5) ;; cb2.vmin, cb2.vmax
        norm.vmax = 1000 ;; im3.norm.vmax, cb3.vmax
        cb.mappable is im, cb.ax.get_ylabel()
        im.norm is cb.norm
        cb.ax.get_ylim()
        """,
    ),
    "widgets and events": session(
        """
        import matplotlib.pyplot as plt
        from matplotlib.widgets import Slider, Button, CheckButtons
        fig, ax = plt.subplots(); line, = ax.plot([0, 1], [0, 1])
        sl = Slider(fig.add_axes([0.2, 0.05, 0.6, 0.03]), "k", 0, 10, valinit=2)
        moved = []
        def on(v): moved.append(v); line.set_ydata([0, v])
        sl.on_changed(on)
        clicks = []
        cid = fig.canvas.mpl_connect("button_press_event", lambda e: clicks.append(1))
        limits = []
        ax.callbacks.connect("xlim_changed", lambda a: limits.append(a.get_xlim()))
        bt = Button(fig.add_axes([0.8, 0.9, 0.1, 0.05]), "b"); bt.on_clicked(lambda e: moved.append("click"))
        """,
        """
        sl.set_val(5) ;; moved, line.get_ydata()
        ax.set_xlim(0, 3) ;; limits
        sl.val, sl.valmin
        from matplotlib.backend_bases import MouseEvent; fig.canvas.callbacks.process("button_press_event", MouseEvent("button_press_event", fig.canvas, 1, 1, 1)) ;; clicks
        line.axes is ax, ax.figure is fig
        """,
    ),
    "figures in pyplot": session(
        """
        import matplotlib.pyplot as plt, numpy as np
        f1 = plt.figure("first"); a1 = f1.add_subplot(); a1.plot([1, 2]); a1.set_title("T")
        f2, axs = plt.subplots(2, 2, sharex=True); axs[0, 0].plot([1, 5]); axs[0, 1].set_xlim(0, 9)
        twin = axs[1, 0].twinx(); twin.plot([3, 4])
        ins = a1.inset_axes([0.5, 0.5, 0.4, 0.4])
        txt = a1.text(0.1, 0.1, "hi"); ann = a1.annotate("p", (1, 1), (0, 0), arrowprops={})
        leg = a1.legend(["one"])
        """,
        """
        axs[1, 1].get_xlim()
        axs[0, 0].set_xlim(2, 3) ;; axs[1, 1].get_xlim()
        a1.get_title(), txt.get_text(), ann.get_text()
        leg.get_texts()[0].get_text()
        twin.get_lines()[0].get_ydata()
        len(f1.axes), f1.get_label()
        f1.axes[0] is a1 and a1.lines[0].axes is a1
        """,
    ),
}
