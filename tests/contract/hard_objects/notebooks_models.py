"""Sessions of data scientists: models in pipelines, what they remember and share, results objects, solvers half way."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: a pipeline with a cache and estimators of its own": session(
        """
        import numpy as np, pandas as pd, joblib, os
        from sklearn.base import BaseEstimator, TransformerMixin, ClassifierMixin, clone
        from sklearn.pipeline import Pipeline, make_pipeline, FeatureUnion
        from sklearn.compose import ColumnTransformer, make_column_selector
        from sklearn.preprocessing import StandardScaler, OneHotEncoder, FunctionTransformer
        from sklearn.linear_model import LogisticRegression
        rng = np.random.default_rng(0); X = pd.DataFrame({"age": rng.normal(40, 10, 60), "pay": rng.gamma(2, 500, 60), "city": rng.choice(list("abc"), 60)}); y = (X["age"] + X["pay"] / 100 > 50).astype(int)
        fits = []; clip_at = 2.0; memory = joblib.Memory("cache", verbose=0)
        class Clip(TransformerMixin, BaseEstimator):
            counted = 0
            def __init__(self, at=1.0, note=None): self.at = at; self.note = note
            def fit(self, X, y=None):
                Clip.counted += 1; fits.append(X.shape); self.n_features_in_ = X.shape[1]
                return self
            def transform(self, X): return np.clip(X, -self.at, self.at)
        def logs(v): return np.log1p(v) * scale
        scale = 1.0
        """
        + "# %%\n"
        + """
        num = Pipeline([("sc", StandardScaler()), ("clip", Clip(clip_at, note=fits))], memory=memory)
        pre = ColumnTransformer([("num", num, ["age", "pay"]), ("log", FunctionTransformer(logs, feature_names_out="one-to-one"), make_column_selector("pay")), ("cat", OneHotEncoder(), ["city"])])
        model = Pipeline([("pre", pre), ("lr", LogisticRegression())]).fit(X, y); fresh = clone(model); first = model.predict_proba(X)[:3, 1].round(6).tolist()
        step = model.named_steps["lr"]; inner = model["pre"].named_transformers_["num"]; coef = step.coef_
        """,
        """
        model.predict_proba(X)[:3, 1].round(6).tolist() == first, model["lr"] is step, step.coef_ is coef
        scale = 50.0 ;; (model.predict_proba(X)[:3, 1].round(4) == np.round(first, 4)).tolist(), logs(1.0) > 30
        scale = 1.0; coef[:] = 0 ;; model.decision_function(X)[:2].round(6).tolist() == [round(float(step.intercept_[0]), 6)] * 2
        len(fits), Clip.counted, fresh["pre"].transformers[0][1]["clip"].note is fits, inner["clip"].note is fits
        fresh.fit(X, y) ;; len(fits), Clip.counted, sorted(os.listdir("cache"))
        num.memory is memory, inner.memory is memory, memory.location
        inner["clip"].at = 0.1 ;; np.abs(model["pre"].transform(X)[:, :2]).max().round(6), clip_at
        isinstance(model["pre"].transformers_[0][1]["clip"], Clip), type(inner["clip"]) is Clip, clone(inner["clip"]).at
        model.set_params(lr__C=0.5) is model, step.C, model.get_params()["pre__num__clip__at"]
        model[:-1].get_feature_names_out().tolist() if hasattr(Clip, "get_feature_names_out") else sorted(model.named_steps)
        """,
    ),
    "notebook: a search, its folds and its scorer": session(
        """
        import numpy as np, pandas as pd
        from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_validate, ParameterGrid, ParameterSampler
        from sklearn.tree import DecisionTreeClassifier; from sklearn.metrics import make_scorer, get_scorer
        from scipy.stats import randint, loguniform
        rs = np.random.RandomState(3); X = rs.normal(size=(80, 4)); y = (X[:, 0] * X[:, 1] > 0).astype(int); weights = {0: 1.0, 1: 2.0}; asked = []
        def cost(y_true, y_pred):
            asked.append(len(y_true))
            return -float(sum(weights[int(t)] for t, p in zip(y_true, y_pred) if t != p))
        scorer = make_scorer(cost); cv = ShuffleSplit(3, test_size=0.25, random_state=rs)
        search = GridSearchCV(DecisionTreeClassifier(random_state=rs), {"max_depth": [1, 3], "min_samples_leaf": [1, 5]}, scoring={"cost": scorer, "acc": "accuracy"}, refit="cost", cv=cv).fit(X, y)
        """
        + "# %%\n"
        + """
        folds = KFold(4, shuffle=True, random_state=rs).split(X); tr, te = next(folds); grid = iter(ParameterGrid({"a": [1, 2], "b": [lambda: 1, None]})); g0 = next(grid)
        dist = randint(1, 9); sampler = iter(ParameterSampler({"depth": dist, "lr": loguniform(1e-3, 1)}, 5, random_state=rs)); s0 = next(sampler)
        table = pd.DataFrame(search.cv_results_); best = search.best_estimator_; tree = best.tree_; thr = tree.threshold
        """,
        """
        search.estimator.random_state is rs, cv.random_state is rs, search.cv is cv, best.random_state is rs
        tr2, te2 = next(folds) ;; te2.tolist(), len(list(folds))
        s = next(sampler) ;; s["depth"], round(s["lr"], 6), len(list(sampler))
        rs.randint(1000), round(rs.normal(), 6), len(asked), folds is sampler
        next(grid), g0["b"](), next(grid)["a"]
        weights[1] = 100.0 ;; scorer(best, X, y) == search.scorer_["cost"](best, X, y), search.scorer_["cost"]._score_func is cost
        thr[0] = 1e9 ;; best.predict(X[:5]).tolist(), tree.threshold[0], best.get_depth()
        table["mean_test_acc"].round(4).tolist(), table["params"].iloc[0] is search.cv_results_["params"][0]
        search.cv_results_["param_max_depth"].mask.tolist(), search.best_params_, search.multimetric_
        best.tree_ is tree, search.best_estimator_ is best, search.n_splits_
        """,
        named="folds grid sampler",
    ),
    "notebook: learners who go on learning": session(
        """
        import numpy as np
        from sklearn.linear_model import SGDClassifier, SGDRegressor; from sklearn.naive_bayes import GaussianNB; from sklearn.cluster import MiniBatchKMeans
        from sklearn.ensemble import RandomForestRegressor, GradientBoostingRegressor; from sklearn.neural_network import MLPRegressor; from sklearn.decomposition import IncrementalPCA
        shared = np.random.RandomState(11); X = shared.normal(size=(90, 3)); y = X @ [1.0, -2, 0.5]; c = (y > 0).astype(int)
        def batches(n):
            for i in range(0, len(X), n): yield X[i : i + n], c[i : i + n]
        feed = batches(30); sgd = SGDClassifier(random_state=shared); nb = GaussianNB(); km = MiniBatchKMeans(3, random_state=shared, n_init=1); pca = IncrementalPCA(2)
        bx, bc = next(feed); sgd.partial_fit(bx, bc, classes=[0, 1]); nb.partial_fit(bx, bc, classes=[0, 1]); km.partial_fit(bx); pca.partial_fit(bx)
        """
        + "# %%\n"
        + """
        forest = RandomForestRegressor(4, warm_start=True, random_state=shared).fit(X, y); progress = []
        def monitor(i, est, loc):
            progress.append((i, round(float(est.train_score_[i]), 4)))
            return i >= stop
        stop = 3; boost = GradientBoostingRegressor(n_estimators=20, random_state=shared, warm_start=True).fit(X, y, monitor=monitor); trees = forest.estimators_; stages = boost.staged_predict(X[:2]); next(stages)
        net = MLPRegressor(hidden_layer_sizes=(4,), warm_start=True, max_iter=3, random_state=shared)
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore"); net.fit(X, y)
        weights = net.coefs_[0]
        """,
        """
        bx, bc = next(feed) ;; sgd.partial_fit(bx, bc).coef_.round(6).tolist()
        feed is stages, nb.partial_fit(bx, bc).theta_.round(6).tolist(), km.partial_fit(bx).cluster_centers_.round(5).tolist()
        pca.partial_fit(bx).components_.round(6).tolist(), sum(len(b) for b, _ in feed)
        _ = forest.set_params(n_estimators=6).fit(X, y) ;; feed is stages, len(trees), trees is forest.estimators_, forest.predict(X[:2]).round(6).tolist()
        next(stages).round(6).tolist(), len(list(stages)), progress
        stop = 6; _ = boost.set_params(n_estimators=12).fit(X, y, monitor=monitor) ;; progress[-1], boost.n_estimators_
        weights[:] = 0.1 ;; net.predict(X[:2]).round(6).tolist(), net.coefs_[0] is weights
        sgd.random_state is shared, forest.random_state is shared, [t.random_state for t in trees][:2], feed is stages, shared.randint(10**6)
        _ = net.partial_fit(X, y) ;; net.n_iter_, net.t_, round(float(net.loss_), 6)
        """,
        named="feed stages",
    ),
    "notebook: settings and routing of a learner": session(
        """
        import numpy as np, pandas as pd, sklearn, warnings
        from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, OneToOneFeatureMixin
        from sklearn.pipeline import make_pipeline; from sklearn.linear_model import Ridge; from sklearn.preprocessing import StandardScaler; from sklearn.compose import TransformedTargetRegressor
        sklearn.set_config(enable_metadata_routing=True, transform_output="pandas", display="text", print_changed_only=False)
        warnings.filterwarnings("error", message=".*deprecated feature.*"); np.seterr(divide="raise", over="ignore")
        seen = {}
        class Audited(RegressorMixin, BaseEstimator):
            def __init__(self, base=None): self.base = base
            def fit(self, X, y, sample_weight=None, owner=None):
                seen["fit"] = (None if sample_weight is None else float(np.sum(sample_weight)), owner, type(X).__name__); self.mean_ = float(np.average(y, weights=sample_weight)); return self
            def predict(self, X): return np.full(len(X), self.mean_)
        class Names(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
            def fit(self, X, y=None): self.feature_names_in_ = np.asarray(X.columns, object); self.n_features_in_ = X.shape[1]; return self
            def transform(self, X): return X * 2
        """
        + "# %%\n"
        + """
        X = pd.DataFrame({"u": [1.0, 2, 3, 4], "v": [0.0, 1, 0, 1]}); y = np.array([1.0, 2, 3, 4]); w = np.array([1.0, 1, 1, 5])
        audited = Audited().set_fit_request(sample_weight=True, owner="who"); pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), Names(), audited).fit(X, y, sample_weight=w, who="ops")
        offset = [10.0]; target = TransformedTargetRegressor(Ridge(), func=lambda v: v + offset[0], inverse_func=lambda v: v - offset[0], check_inverse=False).fit(X, y)
        ctx = sklearn.config_context(assume_finite=True); ctx.__enter__()
        """,
        """
        sklearn.get_config()["enable_metadata_routing"], sklearn.get_config()["transform_output"], sklearn.get_config()["assume_finite"], sklearn.get_config()["print_changed_only"]
        seen["fit"], pipe.fit(X, y, sample_weight=w * 2, who="dev") is pipe, seen["fit"]
        type(pipe[0].transform(X)).__name__, pipe[:-1].transform(X).columns.tolist(), pipe.predict(X).round(4).tolist()
        audited.get_metadata_routing().fit.requests, pipe[-1] is audited
        offset[0] = 20.0 ;; target.predict(X).round(3).tolist()
        ctx.__exit__(None, None, None) ;; sklearn.get_config()["assume_finite"], sklearn.get_config()["display"]
        warnings.warn("a deprecated feature")
        np.geterr()["divide"], np.array([1.0]) / 0
        repr(Ridge())
        pipe[1].get_feature_names_out().tolist(), isinstance(pipe[1], Names)
        """,
        named="ctx",
    ),
    "notebook: words into numbers, with functions of one's own": session(
        """
        import re, numpy as np, unicodedata, string
        from sklearn.feature_extraction.text import TfidfVectorizer, CountVectorizer, HashingVectorizer; from sklearn.decomposition import TruncatedSVD; from sklearn.pipeline import make_pipeline
        docs = ["Der Zug fährt ab.", "Zug um Zug, fährt er?", "Kein Fahrrad im Zug!", "Er fährt Fahrrad."]; stop = {"der", "im"}; synonyms = {"zug": "bahn"}; word = re.compile(r"\\w+"); calls = {"n": 0}
        def tokens(text):
            calls["n"] += 1
            return [synonyms.get(t, t) for t in word.findall(text) if t not in stop]
        def plain(s): return "".join(c for c in unicodedata.normalize("NFKD", s.lower()) if not unicodedata.combining(c))
        class Stemmed(CountVectorizer):
            def build_analyzer(self):
                base = super().build_analyzer()
                return lambda d: [w[:4] for w in base(d)]
        """
        + "# %%\n"
        + """
        tfidf = TfidfVectorizer(tokenizer=tokens, preprocessor=plain, token_pattern=None); M = tfidf.fit_transform(docs); vocab = tfidf.vocabulary_; idf = tfidf.idf_; analyse = tfidf.build_analyzer()
        stems = Stemmed().fit(docs); counts = CountVectorizer(vocabulary=vocab, tokenizer=tokens, preprocessor=plain, token_pattern=None); csr = counts.fit_transform(docs); data = csr.data
        topic = make_pipeline(tfidf, TruncatedSVD(2, random_state=0)).fit(docs); table = str.maketrans("", "", string.punctuation); strip = docs[0].translate
        """,
        """
        tfidf.get_feature_names_out().tolist(), calls["n"] > 0, calls["n"]
        synonyms["fahrt"] = "bahn" ;; tfidf.transform(["fährt"]).sum().round(4), analyse("Er fährt")
        stop.add("bahn"); n = calls["n"] ;; tokens("bahn zug"), calls["n"] - n
        counts.vocabulary is vocab, counts.vocabulary_ is vocab, topic[0] is tfidf, topic[0].vocabulary_ is vocab
        data[:] = 7 ;; csr.sum(), csr.data is data, csr.toarray()[0].tolist()
        stems.get_feature_names_out().tolist(), type(stems).__name__, stems.build_analyzer()("Fahrrad")
        idf.round(4).tolist(), tfidf._tfidf.idf_.round(4).tolist(), M[0].nnz
        topic.transform(docs).round(4).tolist(), strip(table)
        tfidf.tokenizer is tokens, tfidf.preprocessor is plain, tokens.__globals__["stop"] is stop
        """,
    ),
    "notebook: results of statistics and their formulas": session(
        """
        import numpy as np, pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf
        rng = np.random.default_rng(5); df = pd.DataFrame({"x": rng.uniform(1, 9, 40), "g": rng.choice(["a", "b"], 40), "shop": np.repeat(range(8), 5)}); df["y"] = 2 + 3 * np.log(df["x"]) + (df["g"] == "b") + rng.normal(0, 0.1, 40)
        base = 1.0
        def lg(v): return np.log(v + base - 1.0)
        def centre(v): return v - v.mean()
        ols = smf.ols("y ~ lg(x) + C(g) + centre(x)", data=df).fit(); glm = smf.glm("y ~ x + g", data=df, family=sm.families.Gamma(sm.families.links.Log())).fit(); p0 = ols.params
        """
        + "# %%\n"
        + """
        robust = ols.get_robustcov_results("HC1"); infl = ols.get_influence(); pred = ols.get_prediction(df.iloc[:2]); table = ols.summary2().tables[1]; mixed = smf.mixedlm("y ~ x", df, groups="shop").fit()
        by = {k: smf.ols("y ~ lg(x)", data=d).fit() for k, d in df.groupby("g")}; anova = sm.stats.anova_lm(ols); resid = ols.resid; fitted = ols.fittedvalues
        """,
        """
        ols.predict(pd.DataFrame({"x": [1.0, 5.0], "g": ["a", "b"]})).round(4).tolist()
        base = 3.0 ;; ols.predict(pd.DataFrame({"x": [1.0, 5.0], "g": ["a", "b"]})).round(4).tolist()
        base = 1.0; near = by["a"].predict(pd.DataFrame({"x": [2.0]})).round(4).tolist() ;; near, ols.model.data.frame.shape, by["b"].predict(pd.DataFrame({"x": [2.0]})).round(4).tolist()
        ols.params is p0, ols.resid is resid, ols.fittedvalues is fitted, robust.model is ols.model, infl.results is ols
        round(float(infl.cooks_distance[0].max()), 5), pred.summary_frame().round(3).iloc[0].tolist(), anova.shape
        glm.model.family.link.__class__.__name__, glm.predict(df.iloc[:2]).round(4).tolist(), round(glm.deviance, 5)
        mixed.random_effects[0].round(4).tolist(), mixed.model.group_labels if len(mixed.model.group_labels) < 9 else None, round(float(mixed.scale), 6)
        p0.iloc[0] = 0.0 ;; ols.params.iloc[0], ols.predict(df.iloc[:1]).round(4).tolist()
        table.round(3).iloc[0].tolist(), str(ols.t_test("C(g)[T.b] = 0").pvalue.round(4)), ols.f_test("lg(x) = 0").df_num
        ols.remove_data() ;; ols.model.endog, ols.model.data.orig_endog is None if hasattr(ols.model.data, "orig_endog") else "gone"
        """,
    ),
    "notebook: time series models that go on": session(
        """
        import numpy as np, pandas as pd, statsmodels.api as sm, warnings
        from statsmodels.tsa.api import SARIMAX, ExponentialSmoothing, VAR, UnobservedComponents; from statsmodels.tsa.seasonal import STL
        warnings.simplefilter("ignore"); idx = pd.period_range("2020-01", periods=48, freq="M"); rng = np.random.default_rng(2)
        y = pd.Series(10 + np.arange(48) * 0.2 + 2 * np.sin(np.arange(48) * np.pi / 6) + rng.normal(0, 0.2, 48), index=idx, name="load")
        model = SARIMAX(y, order=(1, 1, 0), trend="t"); res = model.fit(disp=0, maxiter=20); ets = ExponentialSmoothing(y, trend="add", seasonal="add", seasonal_periods=12).fit(); stl = STL(y.to_timestamp(), period=12).fit()
        """
        + "# %%\n"
        + """
        fc = res.get_forecast(3); longer = res.append(pd.Series([19.0, 20.0], index=pd.period_range("2024-01", periods=2, freq="M"), name="load")); filt = res.filter_results; states = filt.filtered_state; sim_rng = np.random.default_rng(7)
        class Drift(sm.tsa.statespace.MLEModel):
            start_params = [1.0, 0.5]; param_names = ["s2", "drift"]
            def __init__(self, endog):
                super().__init__(endog, k_states=1, initialization="approximate_diffuse"); self["design", 0, 0] = 1.0; self["transition", 0, 0] = 1.0; self["selection", 0, 0] = 1.0; self.updates = 0
            def update(self, params, **kw):
                params = super().update(params, **kw); self.updates += 1; self["state_cov", 0, 0] = params[0] ** 2; self["state_intercept", 0, 0] = params[1]
        drift = Drift(y.to_numpy()); dres = drift.smooth([1.0, 0.2]); var = VAR(pd.DataFrame({"a": y.to_numpy(), "b": y.diff().fillna(0).to_numpy()})).fit(2)
        """,
        """
        res.forecast(2).round(4).tolist(), fc.predicted_mean.round(4).tolist(), str(fc.predicted_mean.index[0])
        longer.nobs, longer.forecast(1).round(4).tolist(), longer.model is model
        longer.extend(pd.Series([21.0], index=pd.period_range("2024-03", periods=1, freq="M"), name="load")).forecast(1).round(4).tolist(), states.shape, states is filt.filtered_state
        u = drift.updates; d2 = drift.smooth([1.0, 5.0]) ;; drift.updates - u, d2.forecast(2).round(3).tolist(), type(drift).__name__
        dres.model is drift, dres.params.tolist(), float(drift["state_intercept", 0, 0]), dres.forecast(1).round(3).tolist()
        res.simulate(3, anchor="end", rng=sim_rng).round(4).tolist(), sim_rng.integers(1000)
        ets.forecast(2).round(3).tolist(), ets.model.endog is y, stl.trend.iloc[0].round(4)
        var.forecast(var.endog[-2:], 2).round(4).tolist(), var.irf(2).irfs.shape
        y.iloc[0] = -50.0 ;; model.endog[0, 0].round(4), model.data.orig_endog.iloc[0].round(4), res.model is model
        model.update([0.1, 0.5, 1.0]) ;; model.ssm["state_cov"].round(3).tolist(), res.fittedvalues.iloc[5].round(4)
        """,
    ),
    "notebook: solvers and fits stopped half way": session(
        """
        import numpy as np
        from scipy import integrate, interpolate, optimize, sparse, spatial, stats
        from scipy.sparse import linalg as sla
        k = 0.5; calls = []
        def rhs(t, y):
            calls.append(t)
            return [-k * y[0], k * y[0]]
        def hit(t, y): return y[0] - level
        level = 0.5; hit.terminal = False; solver = integrate.RK45(rhs, 0.0, [1.0, 0.0], 10.0, max_step=0.5); solver.step(); solver.step(); dense = solver.dense_output()
        sol = integrate.solve_ivp(rhs, (0, 5), [1.0, 0.0], dense_output=True, events=hit); old = integrate.ode(lambda t, y: -k * y).set_integrator("dopri5").set_initial_value(1.0); old.integrate(1.0)
        """
        + "# %%\n"
        + """
        path = []
        def loss(p): return (p[0] - target) ** 2 + 10 * p[1] ** 2
        target = 3.0; res = optimize.minimize(loss, [0.0, 1.0], callback=lambda p: path.append(p.copy()), method="BFGS"); hess = optimize.BFGS(); hess.initialize(2, "hess"); hess.update(np.array([0.1, 0.2]), np.array([0.3, 0.1]))
        scale = 2.0; A = sparse.csc_matrix(np.diag([4.0, 3, 2]) + np.eye(3, k=1)); lu = sla.splu(A); op = sla.LinearOperator((3, 3), matvec=lambda v: scale * (A @ v)); solve = sla.factorized(A)
        spline = interpolate.CubicSpline([0, 1, 2], [0, 1, 4]); d1 = spline.derivative(); rgi = interpolate.RegularGridInterpolator(([0, 1], [0, 1]), np.array([[0.0, 1], [2, 3]])); tck = interpolate.splrep([0, 1, 2, 3], [0, 1, 8, 27])
        tree = spatial.cKDTree(np.arange(8.0).reshape(4, 2)); tri = spatial.Delaunay(np.array([[0, 0], [1, 0], [0, 1], [1.5, 1.2]]), incremental=True); vor = spatial.Voronoi(np.random.default_rng(0).random((6, 2)))
        """,
        """
        n = len(calls); solver.step() ;; solver.t, solver.y.round(6).tolist(), len(calls) > n, solver.status
        k = 2.0; solver.step() ;; solver.y.round(6).tolist(), float(rhs(0, [1.0, 0])[0])
        dense(0.4).round(6).tolist(), sol.sol(2.0).round(6).tolist(), sol.t_events[0].round(4).tolist()
        old.t, old.integrate(old.t + 1).round(6).tolist(), old.successful()
        len(path), res.x.round(4).tolist(), path[-1].round(3).tolist(), hess.get_matrix().round(4).tolist()
        lu.solve(np.ones(3)).round(6).tolist(), solve(np.ones(3)).round(6).tolist(), lu.L.nnz
        scale = 5.0 ;; (op @ np.ones(3)).tolist(), sla.aslinearoperator(op) is op
        A.data[0] = 40.0 ;; A[0, 0], (op @ np.array([1.0, 0, 0])).tolist(), lu.solve(np.ones(3))[0].round(6)
        spline.c[0, 0] = 9.0 ;; float(spline(0.5).round(4)), float(d1(0.5).round(4)), interpolate.splev(1.5, tck).round(4).item()
        rgi.values[0, 0] = 4.0 ;; rgi([[0, 0], [0.5, 0.5]]).tolist()
        tree.query([1.0, 1.0])[1], tri.add_points([[0.5, 0.5]]), tri.simplices.shape[0], tri.find_simplex([[0.2, 0.2]]).tolist()[0] >= 0
        level = 0.1; regions = len(vor.regions) ;; hit.terminal, round(hit(0, [0.3]), 3), regions, vor.points.shape
        """,
        named="lu solve tri",
    ),
    "notebook: distributions and chance that is shared": session(
        """
        import numpy as np, random, copy
        from scipy import stats
        from scipy.stats import qmc
        seq = np.random.SeedSequence(42); children = seq.spawn(2); gens = [np.random.default_rng(s) for s in children]; bitgen = np.random.PCG64(9); a = np.random.Generator(bitgen); b = np.random.Generator(bitgen); legacy = np.random.RandomState(bitgen)
        np.random.seed(123); random.seed(5); np.random.rand(3); draw = np.random.normal; pick = random.choice; normal = a.normal; dice = random.Random(4); state = dice.getstate()
        """
        + "# %%\n"
        + """
        class Tent(stats.rv_continuous):
            asked = 0
            def _pdf(self, x, c): Tent.asked += 1; return np.where(x < c, 2 * x / c, 2 * (1 - x) / (1 - c))
            def _argcheck(self, c): return (c > 0) & (c < 1)
        tent = Tent(a=0, b=1, name="tent", shapes="c"); tent.random_state = gens[0]; froz = tent(0.3); gam = stats.gamma(2.0, scale=3); gam.random_state = gens[0]; mvn = stats.multivariate_normal([0, 1], [[2, 0.3], [0.3, 1]], seed=gens[1])
        widen = 2.0; kde = stats.gaussian_kde(gens[1].normal(size=30), bw_method=lambda k: k.scotts_factor() * widen); sobol = qmc.Sobol(2, seed=1); sobol.random(4); halton = qmc.Halton(2, scramble=False); halton.fast_forward(3)
        edf = stats.ecdf([3, 1, 2]); test = stats.ttest_ind([1, 2, 3.0], [2, 3, 4.5]); hist = stats.rv_histogram(np.histogram([1, 2, 2, 3], bins=3)); disc = stats.rv_discrete(values=([1, 2, 3], [0.2, 0.3, 0.5]), seed=gens[1])
        """,
        """
        round(a.random(), 6), round(b.random(), 6), round(legacy.rand(), 6), a.bit_generator is b.bit_generator, a.bit_generator is bitgen
        round(np.random.rand(), 6), round(draw(), 6), random.random(), pick("abcdef"), round(np.random.mtrand._rand.rand(), 6)
        round(normal(), 6), round(a.random(), 6), seq.n_children_spawned, seq.spawn(1)[0].spawn_key, children[1].entropy
        gens[0].integers(1000), round(float(gam.rvs()), 5), tent.random_state is gens[0], gam.random_state is gens[0]
        float(froz.cdf(0.5).round(5)), Tent.asked > 0, type(froz.dist).__name__
        mvn.rvs(2).round(5).tolist(), disc.rvs(size=4).tolist(), gens[1].integers(1000)
        sobol.random(2).round(6).tolist(), sobol.num_generated, halton.random(2).round(6).tolist()
        widen = 5.0; _ = kde.set_bandwidth(kde._bw_method) ;; round(float(kde.factor), 5), kde(0.0).round(5).tolist()
        dice.random(), dice.setstate(state), dice.random()
        edf.cdf.evaluate([1.5, 2.5]).tolist(), round(test.confidence_interval().low, 4), round(float(test.pvalue), 5)
        hist.ppf(0.5).round(5), round(disc.mean(), 4), [round(g.random(), 5) for g in gens]
        copy.deepcopy(a).bit_generator is bitgen, stats.norm.random_state is np.random.mtrand._rand
        """,
    ),
    "notebook: arrays with units, masks and files behind them": session(
        """
        import numpy as np, os, operator
        class Q(np.ndarray):
            registry = {}
            def __new__(cls, data, unit, store=None):
                self = np.asarray(data, float).view(cls); self.unit = unit; self.store = store if store is not None else []; cls.registry[unit] = cls.registry.get(unit, 0) + 1
                return self
            def __array_finalize__(self, obj):
                if obj is None: return
                self.unit = getattr(obj, "unit", None); self.store = getattr(obj, "store", None)
            def __array_ufunc__(self, ufunc, method, *xs, **kw):
                if self.store is not None: self.store.append(ufunc.__name__)
                out = getattr(ufunc, method)(*[x.view(np.ndarray) if isinstance(x, Q) else x for x in xs], **kw)
                return out.view(Q) if isinstance(out, np.ndarray) and out.ndim else out
        m = Q([1, 2, 3, 4], "m"); part = m[1:]; plain = m.view(np.ndarray); total = m + part.sum()
        """
        + "# %%\n"
        + """
        mm = np.memmap("grid.dat", dtype="f4", mode="w+", shape=(3, 4)); mm[:] = 1; mm.flush(); ro = np.memmap("grid.dat", dtype="f4", mode="r", shape=(3, 4)); row = mm[1]; np.save("a.npy", np.arange(5)); lazy = np.load("a.npy", mmap_mode="r+"); np.savez("z.npz", p=np.arange(3), q=np.eye(2)); z = np.load("z.npz"); p = z["p"]
        ma = np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0], hard_mask=True, fill_value=-9); mview = ma[1:]; mask = ma.mask; rec = np.rec.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("s", "U2")]); field = rec.n; struct = np.zeros(2, dtype=np.dtype([("x", "f8"), ("y", "i2")], metadata={"unit": "km"})); xs = struct["x"]
        it = np.nditer(np.arange(4), flags=["c_index"]); next(it); flat = np.arange(6).reshape(2, 3).flat; next(flat); nd = np.ndenumerate(np.eye(2)); next(nd); bc = np.broadcast([1, 2], [[3], [4]]); next(bc)
        hits = []; old = np.seterrcall(lambda kind, flag: hits.append(kind)); np.seterr(invalid="call"); np.set_printoptions(precision=2, suppress=True, threshold=6); add3 = np.frompyfunc(lambda x, y: (x + y) * gain, 2, 1); gain = 1; vec = np.vectorize(lambda v: v * gain, otypes=[float], cache=True); poly = np.poly1d([1, 2, 3]); cheb = np.polynomial.Chebyshev([1, 2], domain=[0, 10])
        """,
        """
        m[1] = 50 ;; part[0].item(), plain[1].item(), part.unit, part.store is m.store, total.unit, Q.registry
        (m * 2).unit, m.store, part.base is m, np.shares_memory(part, plain)
        mm[1, 0] = 7 ;; row[0].item(), ro[1, 0].item(), np.fromfile("grid.dat", "f4")[4].item() if mm.flush() is None else 0, ro.flags.writeable, mm.mode
        lazy[0] = 99; lazy.flush() ;; np.load("a.npy").tolist(), type(lazy).__name__, z["q"].tolist(), z.files, p is z["p"]
        ma[1] = 5.0 ;; ma.tolist(), mview.tolist(), ma.fill_value, ma.hardmask, mask.tolist(), mview.mask.tolist()
        field[0] = 42; xs[1] = 3.5 ;; rec[0].n.item(), rec.tolist(), struct.tolist(), struct.dtype.metadata, type(rec).__name__
        int(next(it)), it.index, next(flat), flat.index, next(nd), next(bc), bc.index
        np.sqrt(np.array([-1.0])) ;; hits, np.geterr()["invalid"], np.geterrcall() is not None
        repr(np.arange(10.0) / 3), np.get_printoptions()["precision"]
        gain = 10 ;; add3(1, 2), vec([1, 2]).tolist(), add3.nin, poly(2).item(), (poly * poly).order, round(float(cheb(5)), 3)
        np.seterrcall(None) ;; [f for f in sorted(os.listdir("."))], np.geterrcall()
        """,
        named="it flat nd bc add3",
        known="""(m * 2).unit, m.store, part.base is m, np.shares_memory(part, plain)""",
    ),
    "notebook: neighbours, mixtures and things compiled": session(
        """
        import numpy as np
        from sklearn.neighbors import KDTree, BallTree, NearestNeighbors, KNeighborsClassifier; from sklearn.mixture import GaussianMixture; from sklearn.gaussian_process import GaussianProcessRegressor; from sklearn.gaussian_process.kernels import RBF, WhiteKernel, ConstantKernel, Kernel
        from sklearn.svm import SVC; from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier, StackingClassifier, IsolationForest; from sklearn.isotonic import IsotonicRegression; from sklearn.calibration import CalibratedClassifierCV
        rng = np.random.RandomState(0); X = rng.normal(size=(60, 2)); y = (X.sum(1) > 0).astype(int); asked = []; power = 1
        def dist(a, b):
            asked.append(1)
            return float(np.abs(a - b).sum() ** power)
        ball = BallTree(X, metric=dist, leaf_size=20); kd = KDTree(X); knn = KNeighborsClassifier(3, weights=lambda d: 1 / (d + eps), metric=dist).fit(X, y); eps = 0.1
        """
        + "# %%\n"
        + """
        def kernel(A, B): return gamma * (A @ B.T)
        gamma = 1.0; svc = SVC(kernel=kernel).fit(X, y); gp = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1), optimizer=None, random_state=rng).fit(X[:20], X[:20, 0]); k = gp.kernel_; mix = GaussianMixture(2, random_state=rng, warm_start=True).fit(X)
        hist = HistGradientBoostingClassifier(max_iter=5, random_state=0, warm_start=True).fit(X, y); vote = VotingClassifier([("knn", KNeighborsClassifier(5)), ("svc", svc)]).fit(X, y); iso = IsotonicRegression(out_of_bounds="clip").fit([1, 2, 3], [1, 3, 2]); proba = hist.staged_predict_proba(X[:1]); next(proba)
        nn = NearestNeighbors(n_neighbors=2).fit(X); inner = nn._tree; data = np.asarray(kd.data); members = vote.named_estimators_
        """,
        """
        n = len(asked); d, i = ball.query(X[:1], k=2) ;; i.tolist(), d.round(5).tolist(), len(asked) > n
        power = 2; d, i = ball.query(X[:1], k=2) ;; d.round(5).tolist(), dist(np.zeros(2), np.ones(2))
        power = 1; eps = 1000.0 ;; knn.predict_proba(X[:2]).round(4).tolist()
        gamma = -1.0 ;; svc.predict(X[:6]).tolist(), svc.kernel is kernel, y[:6].tolist()
        gamma = 1.0; k.k1.k2.length_scale = 5.0 ;; gp.predict(X[:2]).round(4).tolist(), gp.kernel_ is k
        gp.sample_y(X[:1], random_state=rng).round(4).tolist(), mix.sample(2)[0].round(4).tolist(), rng.randint(10**6)
        next(proba).round(5).tolist(), len(list(proba)), hist.set_params(max_iter=8).fit(X, y).n_iter_
        members["svc"] is vote.estimators_[1], members is vote.named_estimators_, vote.estimators[1][1] is svc, vote.predict(X[:4]).tolist()
        inner is nn._tree, kd.query_radius(X[:1], 0.5, count_only=True).tolist(), kd.get_n_calls()
        data.shape, np.shares_memory(data, np.asarray(kd.data)), iso.predict([0, 2.5, 9]).tolist(), iso.f_(2.0).item()
        """,
        named="proba",
    ),
}
