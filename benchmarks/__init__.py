"""Benchmarks of the library against baselines, measured in fresh processes. Not part of the package.

All tables are simulated in a temporary folder. Pages and plots are written from a stored run only, never by hand. The
outputs are `results/*.json`, docs/scale.md, docs/reference/benchmarks.md and their plots.

`launcher` measures one process, and `measuring` repeats and pairs measurements. `catalogue` lists the cases, and `jobs`
holds the code of the measured processes. `results`, `comparison`, `page` and `plots` store, compare and present a
run. `refined` measures prediction error instead of cost and is run separately.
"""
