"""What the product costs beside others, measured in fresh processes and written for the pages; not shipped.

Sees: tables that it makes itself, in a temporary folder.
Never: touches data of anybody, or a figure by hand: pages and pictures are written from a stored run.
Hands on: `results/*.json`, docs/scale.md, docs/reference/benchmarks.md and their pictures.

`launcher` measures one process; `measuring` repeats and pairs; `catalogue` lists the cases, `figures` what is read off
them; `work` is what the measured processes do; `results`, `comparison`, `page` and `pictures` keep, compare and show.
`refined` is about errors of prediction, not cost, and is run by itself.
"""
