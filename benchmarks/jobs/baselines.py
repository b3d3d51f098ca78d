"""Regressions by other libraries on the same file, written as in their documentation, on one thread."""

from __future__ import annotations

import os
import warnings
from itertools import combinations_with_replacement


def numpy_lstsq(path: str) -> int:
    """Fit least squares with NumPy on all rows in memory."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, use_threads=False)
    columns = [table[name].to_numpy() for name in table.column_names]
    X = np.column_stack([np.ones(table.num_rows), *columns[:-1]])
    return len(np.linalg.lstsq(X, columns[-1], rcond=None)[0])


def sklearn(path: str) -> int:
    """Fit `LinearRegression` on a pandas frame."""
    import pandas as pd
    from sklearn.linear_model import LinearRegression

    frame = pd.read_parquet(path)
    return len(LinearRegression().fit(frame.drop(columns="y"), frame["y"]).coef_)


def statsmodels(path: str) -> int:
    """Fit `OLS` on a pandas frame, with standard errors."""
    import pandas as pd
    import statsmodels.api as sm

    frame = pd.read_parquet(path)
    return len(sm.OLS(frame["y"], sm.add_constant(frame.drop(columns="y"))).fit().bse)


def duckdb_sums(path: str, columns: int) -> int:
    """Compute all sums of products in one DuckDB query, in doubles."""
    import duckdb

    names = [*(f"x{index}" for index in range(columns)), "y"]
    sums = [f"sum({name})" for name in names]
    sums += [f"sum({first} * {second})" for first, second in combinations_with_replacement(names, 2)]
    with duckdb.connect(config={"threads": 1}) as connection:
        sums_row = connection.execute(f"select count(*), {', '.join(sums)} from read_parquet(?)", [path]).fetchone()
    return len(sums_row or ())


def polars_sums(path: str, columns: int) -> int:
    """Compute all sums of products as streamed polars expressions, in doubles."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    names = [*(f"x{index}" for index in range(columns)), "y"]
    sums = [pl.col(name).sum().alias(name) for name in names]
    sums += [
        (pl.col(first) * pl.col(second)).sum().alias(f"{first} {second}")
        for first, second in combinations_with_replacement(names, 2)
    ]
    return pl.scan_parquet(path).select(pl.len(), *sums).collect(engine="streaming").width


def spark(path: str) -> int:
    """Fit `LinearRegression` of MLlib by normal equations on one core, including the start of the session."""
    from pyspark import SparkContext
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(path)
    features = [name for name in frame.columns if name != "y"]
    rows = VectorAssembler(inputCols=features, outputCol="features").transform(frame)
    coefficients = len(LinearRegression(labelCol="y", solver="normal").fit(rows).coefficients)
    session.stop()
    # the system reports the cost of a process only after it has ended
    gateway = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    return coefficients


def diffprivlib(path: str) -> int:
    """Fit the differentially private `LinearRegression` of diffprivlib with the bounds of the design."""
    import pandas as pd
    from diffprivlib.models import LinearRegression

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(path)
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    return len(LinearRegression(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-8, 8)).fit(X, y).coef_)
