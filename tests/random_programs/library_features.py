"""Libraries: arrays, frames, figures, models, connections."""

# ruff: noqa: E501 (the lines of cells)

from tests.random_programs.features import Feature, feature

ARRAYS: list[Feature] = [
    feature(
        "arrays and views",
        """
        import numpy as np
        V_x = np.arange(N1_ % 300 + 24.0); V_v = V_x[2:20:3]; V_r = V_x[:24].reshape(4, 6); V_t = V_r.T; V_f = np.asfortranarray(np.ones((5, N2_ % 40 + 3))); V_ro = V_x[5:]; V_ro.flags.writeable = False; V_b = np.broadcast_to(V_x[:3], (4, 3)); V_d = V_r.diagonal(); V_n = V_x[::-1]
        """,
        """
        V_v[1] = N1_
        V_t[2, 1] += 1
        V_x[4] = N2_
        V_f[:, 1] = V_x[:5]
        V_x = V_x * 2
        V_n[0] = N1_
        V_r.shape = (6, 4)
        """,
        """
        V_x.sum(), V_v.tolist(), V_r.shape, V_r.strides, V_t.tolist(), V_f.flags.f_contiguous, V_f.sum(), V_ro.flags.writeable, V_ro[:3].tolist()
        np.shares_memory(V_x, V_v), np.shares_memory(V_r, V_t), np.shares_memory(V_v, V_r), V_v.base is V_x, V_b.strides, V_b.tolist()[1], V_d.tolist(), V_n[:3].tolist()
        """,
    ),
    feature(
        "arrays of all dtypes",
        """
        import numpy as np
        V_x = np.zeros(4, dtype=[('a', 'i4'), ('b', 'U5'), ('c', 'f8', (2,))]); V_o = np.array([None, [N1_], 'x', {}], dtype=object); V_M = np.array(['2024-01-01', 'NaT'], dtype='M8[ns]'); V_m = np.array([N1_, 2], dtype='m8[s]'); V_u = np.array(['ab', 'N1_']); V_s = np.array([b'ab']); V_c = np.array([1j, N2_]); V_h = np.float16(N1_ % 100); V_big = np.arange(3, dtype='>i4'); V_bool = np.array([True, False]); V_ma = np.ma.array([1.0, 2, N1_], mask=[0, 1, 0]); V_rec = np.rec.array([(1, 'a')], names='n,t'); V_0 = np.array(N1_); V_e = np.empty((0, 3)); V_sv = np.array(['a', 'longer text'], dtype=np.dtypes.StringDType())
        """,
        """
        V_x['a'][1] = N1_; V_x[2] = (N2_, 'zN1_'[:5], (1, 2))
        V_o[1].append(V_o)
        V_o[3] = V_x
        V_ma[0] = np.ma.masked; V_ma[2] = N2_
        V_rec.n = N1_
        V_big += 1; V_0[()] = N2_
        V_M[1] = '2025-02-03'
        V_x.flags.writeable = not V_x.flags.writeable if False else True
        """,
        """
        V_x.tolist(), V_x.dtype, len(V_o[1]), V_o[1][-1] is V_o, V_o[3] is V_x, V_M, V_m, V_u, V_s, V_c, V_h, type(V_h).__name__, V_big, V_big.dtype.str, V_bool
        V_ma.tolist(), V_ma.fill_value, V_ma.mask.tolist(), V_rec, V_rec.n.tolist(), type(V_rec).__name__, V_0, V_e.shape, V_sv, V_sv.dtype
        """,
    ),
    feature(
        "array subclasses and ufuncs",
        """
        import numpy as np
        class V_A(np.ndarray):
            def __array_finalize__(self, o): self.unit = getattr(o, 'unit', 'none')
        V_x = np.arange(6.0).view(V_A); V_x.unit = ['mN1_']; V_y = V_x[2:]; V_vec = np.vectorize(lambda a: a + V_off); V_off = N2_; V_poly = np.polynomial.Polynomial([1, N1_]); V_p1 = np.poly1d([N1_, 2]); V_mg = np.mgrid[0:2, 0:3]; V_it = np.nditer([1]) if False else None; V_u = np.frompyfunc(lambda a: a * V_off, 1, 1) if False else None
        """,
        """
        V_x[0] = N1_
        V_x.unit.append('N2_')
        V_off = N1_
        V_y = V_x[1:] + V_off
        """,
        "np.asarray(V_x).tolist(), V_x.unit, V_y.unit is V_x.unit, type(V_y) is V_A, V_vec([1, 2]).tolist(), V_poly(2), V_p1(3), V_mg.sum(), np.shares_memory(V_x, V_y)",
    ),
    feature(
        "scipy sparse",
        """
        import numpy as np, scipy.sparse as sp
        V_x = sp.csr_matrix(np.diag([1.0, 0, N1_, 4])); V_c = V_x.tocoo(); V_l = sp.lil_matrix((4, 4)); V_k = sp.dok_matrix((3, 3)); V_ca = sp.csc_array(V_x)
        from scipy.interpolate import interp1d
        from scipy.spatial import cKDTree
        from scipy import stats
        V_i = interp1d([0, 1, 2], [0, N1_, 4]); V_tree = cKDTree(np.arange(12.0).reshape(6, 2)); V_n = stats.norm(N1_, 2)
        """,
        """
        V_x.data[0] = N2_
        V_l[1, 2] = N1_
        V_k[0, 1] = N2_
        V_ca = V_ca * 2
        V_x = V_x + V_x.T
        """,
        "V_x.toarray().tolist(), V_c.toarray().sum(), V_l.toarray().tolist(), V_k.toarray().tolist(), V_ca.format, V_ca.sum(), float(V_i(0.5)), V_tree.query([1, 1])[1], V_n.mean(), V_c.data is V_x.data",
    ),
]

FRAMES: list[Feature] = [
    feature(
        "frames of all dtypes",
        """
        import numpy as np, pandas as pd
        V_x = pd.DataFrame({'i': range(8), 'f': [1.5, None] * 4, 's': ['a', None, 'cN1_', 'd'] * 2, 'o': [1, 'x', [N2_], None] * 2, 'b': [True, False] * 4, 'c': pd.Categorical(['lo', 'hi'] * 4, ['hi', 'lo', 'mid'], ordered=True), 't': pd.date_range('2024-03-30', periods=8, tz='Europe/Berlin'), 'd': pd.to_timedelta(range(8), 'h'), 'I': pd.array([1, None] * 4, dtype='Int64'), 'B': pd.array([True, None] * 4, dtype='boolean'), 'p': pd.period_range('2024-01', periods=8, freq='M'), 'iv': pd.interval_range(0, 8), 'S': pd.array(['x', None] * 4, dtype='string'), 'sp': pd.arrays.SparseArray([0, 0, 1, N1_] * 2)})
        V_x['pa'] = pd.array([1, 2] * 4, dtype='int64[pyarrow]'); V_x.attrs['by'] = ['N1_']; V_y = V_x['i']; V_z = V_x; V_sub = V_x[['f', 's']]
        """,
        """
        V_x.loc[3, 'i'] = N1_
        V_x['newN1_'] = V_x['f'] * N2_
        V_x.loc[1, 's'] = 'sN2_'
        V_x['c'] = V_x['c'].cat.rename_categories({'mid': 'mN1_'}) if 'mid' in V_x['c'].cat.categories else V_x['c']
        V_x.drop(columns='o', inplace=True, errors='ignore')
        V_x.sort_values('f', inplace=True)
        V_x.attrs['by'].append(N2_)
        V_x = V_x.assign(q=N1_)
        V_x.at[0, 'o'] = V_y
        V_x.insert(0, 'front', N2_) if 'front' not in V_x else None
        V_x.iloc[2:4, 1] = None
        V_x.index.name = 'idxN1_'
        """,
        """
        V_x.drop(columns='o', errors='ignore').to_csv(), V_x.dtypes.astype(str).tolist(), list(V_x.columns), V_x.attrs, V_z is V_x, V_x.index.name, V_x.flags.allows_duplicate_labels
        V_y.tolist(), V_y.name, V_sub.to_csv(), V_x['c'].cat.categories.tolist(), V_x['c'].cat.ordered, V_x['t'].dtype, V_x.iloc[0].tolist()[:3], V_x['s'].isna().tolist()
        """,
    ),
    feature(
        "indexes",
        """
        import numpy as np, pandas as pd
        V_mi = pd.MultiIndex.from_product([['a', 'b'], [1, N1_ + 2]], names=['L', 'n']); V_x = pd.DataFrame({'v': np.arange(4.0)}, index=V_mi); V_ts = pd.Series(range(10), index=pd.date_range('2024-01-01', periods=10, freq='2h')); V_cat = pd.Series([1, 2], index=pd.CategoricalIndex(['u', 'v'])); V_iv = pd.Series([1, 2], index=pd.IntervalIndex.from_breaks([0, 1, N1_ + 5])); V_dup = pd.DataFrame([[1, 2]], columns=['k', 'k']); V_ri = pd.RangeIndex(2, 20, 3, name='r'); V_fl = pd.Index([1.5, np.nan]); V_per = pd.Series(1, index=pd.period_range('2024', periods=3, freq='Y')); V_col = pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)]))
        V_gr = V_x.groupby(level='L'); V_ro = V_ts.rolling(3)
        """,
        """
        V_x.loc[('a', 1), 'v'] = N1_
        V_x = V_x.swaplevel()
        V_ts.iloc[2] = N2_
        V_x['w'] = V_x['v'] + N1_
        V_col.iloc[0, 1] = N2_
        V_ts = V_ts.shift(1, freq='h')
        V_x.index = V_x.index.set_names(['pN1_', 'q'])
        """,
        """
        V_x.to_csv(), V_x.index.names, V_mi.tolist(), V_ts.index.freqstr, V_ts.tolist(), V_cat.index.categories.tolist(), V_iv.index.closed, list(V_dup.columns), V_ri, V_fl.tolist(), V_per.index.dtype
        V_col.to_csv(), V_gr['v'].sum().tolist(), V_ro.sum().tolist()[-2:], V_x.index is V_mi, V_mi.levels[1].tolist(), V_ts.index[0]
        """,
    ),
    feature(
        "frames that share",
        """
        import numpy as np, pandas as pd
        V_a = np.arange(12.0).reshape(4, 3); V_x = pd.DataFrame(V_a, columns=list('abc'), copy=False); V_v = V_x['a']; V_h = V_x.head(2); V_l = [V_x, V_x.T]; V_dict = {'f': V_x, 's': V_v}; V_shallow = V_x.copy(deep=False); V_ser = pd.Series(V_a[:, 1], copy=False)
        class V_Sub(pd.DataFrame):
            _metadata = ['note']
            @property
            def _constructor(self): return V_Sub
        V_sub = V_Sub({'k': [1, N1_]}); V_sub.note = ['nN2_']
        """,
        """
        V_x.iloc[0, 0] = N1_
        V_a[1, 1] = N2_
        V_h.loc[0, 'b'] = N1_
        V_dict['f']['zN1_'] = 1
        V_v.iloc[1] = N2_
        V_sub.note.append(N1_); V_sub['m'] = N2_
        V_shallow.columns = ['p', 'q', 'r']
        V_ser.iloc[0] = N1_
        """,
        """
        V_x.to_csv(), V_a.tolist(), V_v.tolist(), V_h.to_csv(), V_l[0] is V_x, V_dict['f'] is V_x, V_dict['s'] is V_v, V_shallow.to_csv(), V_ser.tolist()
        np.shares_memory(V_a, V_x.to_numpy()), type(V_sub).__name__, V_sub.note, V_sub.to_csv(), type(V_sub[['k']]) is V_Sub, np.shares_memory(V_a, V_ser.to_numpy()), V_l[1].shape
        """,
    ),
    feature(
        "polars and arrow",
        """
        import polars as pl, pyarrow as pa
        V_x = pl.DataFrame({'a': [1, 2, N1_], 'b': ['x', None, 'z'], 'c': [[1], [], [N2_]]}); V_s = pl.Series('s', [1.5, None]); V_lazy = V_x.lazy().filter(pl.col('a') > 1); V_t = pa.table({'k': [1, N1_], 'l': ['a', None]}); V_arr = pa.array([{'q': N2_}]); V_e = pl.col('a') * N2_
        """,
        """
        V_x = V_x.with_columns(nN1_=pl.lit(N2_))
        V_t = V_t.append_column('m', pa.array([N1_, N2_])) if 'm' not in V_t.column_names else V_t
        V_s = V_s.fill_null(N1_)
        V_x[0, 'a'] = N1_
        """,
        "V_x.write_csv() if False else V_x.to_dicts(), V_x.dtypes, V_s.to_list(), V_lazy.collect().height, V_t.to_pydict(), V_arr.to_pylist(), V_x.select(V_e).to_series().to_list()",
    ),
    feature(
        "duckdb and SQL cells",
        """
        import duckdb, pandas as pd
        V_x = duckdb.connect(); V_x.sql('create table t as select range a, range * N1_ b from range(9)'); V_df = pd.DataFrame({'g': ['u', 'v', 'u'], 'n': [1, 2, N1_]}); V_x.execute("set timezone = 'Asia/Tokyo'"); V_f = duckdb.connect('V_duck.db'); V_f.execute('create or replace table w (n integer)')
        #sql V_res SELECT g, sum(n) AS n FROM V_df GROUP BY g ORDER BY g
        """,
        """
        V_x.execute('insert into t values (N1_, N2_)')
        V_x.execute('create or replace view v as select sum(b) s from t')
        V_x.execute('delete from t where a < N2_ % 5')
        V_x.execute('alter table t add column if not exists cN1_ integer default N2_')
        V_f.execute('insert into w values (N1_)')
        V_df.loc[len(V_df)] = ['w', N2_]
        #sql V_res SELECT count(*) AS c, max(n) AS m FROM V_df
        #sql V_made CREATE OR REPLACE TABLE V_tab AS SELECT * FROM V_df
        #sql V_res SELECT g FROM V_df WHERE n > N1_ ORDER BY g
        """,
        """
        V_x.execute('select count(*), sum(a), sum(b) from t').fetchall(), V_x.execute("select current_setting('TimeZone')").fetchall(), V_f.execute('select count(*), sum(n) from w').fetchone()
        V_res.to_csv(), V_df.to_csv(), sorted(row[0] for row in V_x.execute('show tables').fetchall())
        """,
    ),
]

# `attr.s` gives its functions a copy of all variables that there are, which keeps alive what these held then and is no
# part of a snapshot; weak references would tell (`docs/restores.md`). So it is emptied.
MODELS: list[Feature] = [
    feature(
        "fitted models",
        """
        import numpy as np
        from sklearn.linear_model import LinearRegression, SGDRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler, FunctionTransformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.cluster import KMeans
        V_X = np.arange(40.0).reshape(20, 2) % (N1_ % 7 + 3); V_yy = V_X @ [1, 2] + N2_; V_k = 2
        V_x = make_pipeline(FunctionTransformer(lambda a: a * V_k), StandardScaler(), LinearRegression()).fit(V_X, V_yy); V_sgd = SGDRegressor(random_state=np.random.RandomState(N1_)).fit(V_X, V_yy); V_rf = RandomForestClassifier(n_estimators=3, random_state=N2_).fit(V_X, (V_yy > V_yy.mean()).astype(int)); V_km = KMeans(2, n_init=1, random_state=N1_).fit(V_X)
        """,
        """
        V_sgd.partial_fit(V_X[:5], V_yy[:5])
        V_k = N1_ % 5 + 1
        V_x.steps[-1][1].coef_[0] += 1
        V_rf.estimators_.pop() if len(V_rf.estimators_) > 1 else None
        V_x.note = V_sgd
        V_X[0, 0] = N2_
        """,
        "V_x.predict(V_X[:3]).round(6).tolist(), V_sgd.coef_.round(9).tolist(), V_sgd.t_, len(V_rf.estimators_), V_rf.estimators_[0].predict(V_X[:4]).tolist(), V_km.cluster_centers_.tolist(), getattr(V_x, 'note', None) is V_sgd, V_sgd.random_state.get_state()[2]",
    ),
    feature(
        "figures",
        """
        import matplotlib.pyplot as plt, numpy as np
        V_fig, V_x = plt.subplots(); V_line, = V_x.plot([1, 2, N1_], label='aN1_'); V_im = V_x.imshow(np.eye(3)); V_cb = V_fig.colorbar(V_im); V_clicks = []; V_cid = V_fig.canvas.mpl_connect('button_press_event', lambda e: V_clicks.append(N2_)); V_x.callbacks.connect('xlim_changed', lambda ax: V_clicks.append('x')); plt.close(V_fig)
        """,
        """
        V_line.set_ydata([N1_, N2_, 3])
        V_x.set_title('tN1_'); V_x.set_xlim(0, N2_ + 1)
        V_im.set_clim(0, N1_ + 1)
        V_x.text(0, 0, 'tN2_'); V_x.legend()
        plt.rcParams['font.size'] = 8 + N1_ % 9
        V_line.set_color('C3'); V_fig.suptitle('N1_')
        V_fig.canvas.callbacks.process('button_press_event', None)
        """,
        """
        V_line.get_ydata().tolist() if hasattr(V_line.get_ydata(), 'tolist') else list(V_line.get_ydata()), V_x.get_title(), V_x.get_xlim(), len(V_x.texts), V_line.axes is V_x, V_x.figure is V_fig, V_cb.ax.get_ylim(), V_clicks[-3:], plt.rcParams['font.size'], V_line.get_color(), plt.get_fignums()
        """,
        held="V_clicks",
    ),
    feature(
        "open figures",
        """
        import matplotlib.pyplot as plt
        V_x = plt.figure(num='V_fig N1_'); V_ax = V_x.add_subplot(121); V_ax2 = V_x.add_subplot(122, sharey=V_ax); V_ax.bar([1, 2], [3, N2_]); plt.close(V_x)
        """,
        """
        V_ax.set_ylim(0, N1_ + 5)
        V_ax.bar([3], [N2_])
        V_ax.set_xscale('log' if N1_ % 2 else 'linear')
        V_tw = V_ax.twinx() if not hasattr(V_ax, 'tw') else V_ax.tw; V_ax.tw = V_tw; V_tw.plot([N1_, 2])
        """,
        "V_ax2.get_ylim(), len(V_ax.patches), V_ax.get_xscale(), V_ax in V_x.axes, len(V_x.axes), V_ax2.get_shared_y_axes().joined(V_ax, V_ax2), V_x.get_label(), getattr(V_ax, 'tw', None) in [*V_x.axes, None]",
        held="V_ax",
    ),
    feature(
        "pydantic, attrs, templates, pictures",
        """
        import pydantic, attr, jinja2, numpy as np
        from PIL import Image
        from lxml import etree
        class V_M(pydantic.BaseModel):
            a: int
            b: list[str] = []
            @pydantic.field_validator('a')
            @classmethod
            def check(cls, v): return v + 1
        @attr.s(auto_attribs=True)
        class V_At: n: int; more: list = attr.Factory(list)
        for V_n in [n for n in V_At.__init__.__globals__ if n[:1] == 'p' and n[1:2].isdigit()]: del V_At.__init__.__globals__[V_n]
        V_x = V_M(a=N1_); V_at = V_At(N2_); V_img = Image.fromarray(np.full((4, 4), N1_ % 256, dtype='u1'))
        """,
        """
        V_x.a = N2_
        V_x.b.append('N1_')
        V_at.more.append(V_x)
        V_img.putpixel((1, 2), N2_ % 256)
        V_x = V_M(a=V_x.a, b=V_x.b)
        """,
        "V_x, V_x.model_dump(), V_at.n, len(V_at.more), V_at.more[:1] == [V_x], list(V_img.getdata())[:12], V_img.mode, V_M.model_json_schema()['title'], V_x.model_fields_set",
    ),
]

FURTHER: list[Feature] = [
    feature(
        "views of structured arrays",
        """
        import numpy as np
        V_x = np.zeros(6, dtype=np.dtype([('a', '<i4'), ('in', [('p', 'f8'), ('q', 'S3')]), ('v', 'u1', (2, 2))], align=True)); V_a = V_x['a']; V_p = V_x['in']['p']; V_two = V_x[['a', 'v']]; V_rec = V_x.view(np.recarray); V_raw = V_x.view(np.uint8); V_o = np.zeros(3, dtype=[('o', 'O'), ('n', 'i8')]); V_o['o'][0] = V_o
        V_col = np.arange(24, dtype='>f4').reshape(4, 6)[:, 1::2]; V_str = np.lib.stride_tricks.sliding_window_view(np.arange(N1_ % 9 + 5), 3); V_ma = np.ma.masked_greater(np.arange(5.0), N1_ % 5)
        """,
        """
        V_a[2] = N1_
        V_p[:] = N2_
        V_rec[1] = (N1_, (N2_, b'xy'), [[1, 2], [3, 4]])
        V_raw[3] = N1_ % 256
        V_col[1, 1] = N2_
        V_o['n'][1] = N1_; V_o['o'][1] = [N2_]
        V_ma[0] = np.ma.masked; V_ma.fill_value = N1_
        V_x.setflags(write=N1_ % 4 != 0)
        """,
        """
        V_x.tolist(), V_x.dtype, V_x.dtype.alignment, V_a.tolist(), V_p.strides, V_two.dtype, V_rec.a.tolist(), type(V_rec[0]).__name__, V_raw.sum(), V_x.flags.writeable
        np.shares_memory(V_x, V_p), np.shares_memory(V_raw, V_a), V_col.tolist(), V_col.base.sum(), V_str.tolist()[-1], V_str.flags.writeable, V_o['o'][0] is V_o, V_o['n'].tolist(), V_o['o'][1], V_ma.tolist(), V_ma.fill_value
        """,
    ),
    feature(
        "categories, levels, attributes",
        """
        import numpy as np, pandas as pd
        V_cat = pd.Categorical(['b', 'a', None, 'b'], categories=['c', 'b', 'a'], ordered=True); V_x = pd.DataFrame({'c': V_cat, 'n': pd.array([1, None, 3, N1_], dtype='Int64'), 'b': pd.array([True, None, False, True], dtype='boolean'), 'iv': pd.cut([1, 5, 9, N1_ % 10], 3), 'td': pd.to_timedelta([1, 2, N1_, 4], unit='h')}); V_x.attrs = {'unit': ['mN1_'], 'deep': {'k': N2_}}
        V_s = V_x['c']; V_ci = pd.CategoricalIndex(V_cat, name='ci'); V_mi = pd.MultiIndex.from_arrays([['x', 'x', 'y', 'z'], pd.date_range('2024-03-30', periods=4, tz='Europe/Berlin')], names=[None, 'when']); V_f = pd.Series(range(4), index=V_mi, name=('t', N1_)); V_sp = pd.Series(pd.arrays.SparseArray([0, 0, 1, N2_])); V_off = [pd.offsets.BusinessDay(2), pd.Timestamp('2024-01-01', tz='UTC'), pd.Period('2024-02'), pd.NaT, pd.NA]
        V_flags = pd.Series([1]).set_flags(allows_duplicate_labels=False); V_acc = V_x['td'].dt; V_g = V_x.groupby('c', observed=True); V_str = pd.Series(['a', None], dtype='string')
        """,
        """
        V_x.loc[1, 'c'] = 'a'
        V_x['c'] = V_x['c'].cat.add_categories(['nN1_']) if 'nN1_' not in V_x['c'].cat.categories else V_x['c'].cat.as_unordered()
        V_x.attrs['unit'].append(N2_); V_s.attrs['own'] = N1_
        V_f = V_f.drop('x', level=0) if 'x' in V_f.index else V_f
        V_x['n'] += 1; V_x.columns.name = 'colN1_'
        V_x = V_x.set_index('td', append=True).reset_index('td') if 'td' in V_x else V_x
        V_f.iloc[-1] = N1_; V_f.name = 'fN2_'
        V_x = V_x.copy(); V_sp = V_sp * 2
        V_off.append(V_off[1] + V_off[0])
        """,
        """
        V_x.to_csv(), V_x.dtypes.astype(str).tolist(), V_x.attrs, V_x['c'].cat.categories.tolist(), V_x['c'].cat.ordered, V_x.columns.name, V_s.tolist(), V_s.attrs, V_x['iv'].cat.categories.dtype
        V_ci.codes.tolist(), V_mi.names, V_f.index.get_level_values('when').tz, V_f.to_dict(), V_f.name, V_sp.dtype, V_sp.sparse.density, V_off[-1], V_off[3] is pd.NaT, V_off[4] is pd.NA, V_flags.flags.allows_duplicate_labels, V_acc.days.tolist(), V_g.size().to_dict(), V_str.isna().tolist(), V_str.dtype
        """,
    ),
    feature(
        "polars of all kinds",
        """
        import polars as pl, datetime
        V_x = pl.DataFrame({'c': pl.Series(['u', 'v', None], dtype=pl.Categorical), 'e': pl.Series(['lo', 'hi', 'lo'], dtype=pl.Enum(['lo', 'hi'])), 's': [{'a': 1}, {'a': N1_}, None], 'd': [datetime.date(2024, 1, 1)] * 3, 't': pl.Series([1, 2, N2_]).cast(pl.Datetime('us', 'UTC')), 'o': [b'x', None, b'z']}); V_s = V_x['e']; V_same = V_x; V_l = V_x.lazy().with_columns(k=pl.col('d').dt.year() + N1_); V_g = V_x.group_by('e', maintain_order=True); V_sch = V_x.schema
        """,
        """
        V_x = V_x.with_columns(pl.lit(N1_).alias('nN2_'))
        V_x = V_x.vstack(V_x) if V_x.height < 20 else V_x.head(3)
        V_same = V_x.sort('t', descending=N1_ % 2 == 0)
        V_s = V_s.append(V_s) if len(V_s) < 12 else V_s
        """,
        "V_x.to_dicts()[:6], V_x.schema, V_s.to_list(), V_s.dtype, V_same is V_x, V_same['t'].to_list()[:4], V_l.collect()['k'].to_list(), V_g.len().to_dicts(), list(V_sch.items())[1], V_x['c'].cat.get_categories().to_list() if hasattr(V_x['c'].cat, 'get_categories') else 0",
    ),
    feature(
        "random states of numpy",
        """
        import numpy as np
        V_x = np.random.Generator(np.random.MT19937(N1_)); V_ph = np.random.Generator(np.random.Philox(key=N2_)); V_seq = np.random.SeedSequence(N1_); V_kids = V_seq.spawn(2); V_bit = np.random.PCG64DXSM(V_kids[0]); V_on = np.random.Generator(V_bit); V_got = []
        """,
        """
        V_got.append((V_x.integers(99), V_ph.standard_normal()))
        V_got.append((V_on.random(), V_bit.random_raw() % 1000))
        V_kids += V_seq.spawn(1); V_got.append(V_kids[-1].generate_state(1)[0])
        V_got.append(V_x.permutation(5).tolist()); V_ph.bit_generator.jumped()
        """,
        "V_got[-4:], V_on.bit_generator is V_bit, V_seq.n_children_spawned, len(V_kids), V_kids[1].spawn_key, V_ph.bit_generator.state['buffer_pos']",
        held="V_got",
    ),
]
