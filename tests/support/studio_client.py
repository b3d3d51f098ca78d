"""A browser for tests of the studio: it sends what a browser sends, and can be told to lie."""

from __future__ import annotations

import functools
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from starlette.testclient import TestClient

import discreet
from discreet.datasets import simulated_rows
from discreet_studio.app import Studio

HOST = "127.0.0.1:8642"
SAME = {"sec-fetch-site": "same-origin"}
SECRET = "4711.125"  # a cell that no page, file name or log may repeat
DESIGN = discreet.Design("pay", {"pay": (0, 5000), "age": (18, 90), "region": ["north", "south"]})


@functools.cache
def small_table(rows: int = 400) -> pa.Table:
    """Rows within bounds, with one cell that is easy to find again."""
    table = simulated_rows(DESIGN, rows)
    pay = table["pay"].to_pylist()
    pay[7] = float(SECRET)
    return table.set_column(0, "pay", pa.array(pay))


class Browser:
    """One tab of a curator's browser, with the session of a studio."""

    def __init__(self, folder: Path, *, opened: bool = True, studio: Studio | None = None) -> None:
        self.folder = folder
        self.studio = studio or Studio(folder, HOST)
        self.client = TestClient(self.studio.asgi, base_url=f"http://{HOST}", follow_redirects=True)
        if opened:
            assert self.client.get(f"/open?token={self.studio.keys.token}").status_code == 200

    @property
    def space(self) -> Any:
        return self.studio.space

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=SAME | headers)

    def post(self, path: str, data: dict[str, Any] | None = None, **headers: str) -> Any:
        return self.client.post(path, data=(data or {}) | {"csrf": self.studio.keys.csrf}, headers=SAME | headers)

    def put_table(self, name: str = "people.csv", rows: int = 400) -> None:
        table = small_table(rows)
        if name.endswith(".csv"):
            pa.csv.write_csv(table, self.folder / name)
        else:
            import pyarrow.parquet as pq

            pq.write_table(table, self.folder / name)

    def declared(self) -> Browser:
        """Go as far as a complete design and a plan."""
        self.put_table()
        assert self.post("/table/read", {"file": "people.csv"}).url.path == "/table"
        DESIGN.save(self.folder / "people.toml", force=True)
        assert self.post("/design/load", {"design": "people.toml"}).status_code == 200
        plan = {"rows": "400", "epsilon": "1", "delta": "1e-6"}
        self.space.store.change(plan=plan)
        return self

    def with_ledger(self, epsilon: str = "3", delta: str = "1e-5") -> Browser:
        """Go as far as a ledger with a budget."""
        data = {"from": "release", "dataset": "people", "budget_epsilon": epsilon, "budget_delta": delta}
        assert self.post("/ledger/create", data).status_code == 200
        return self

    def confirm(self, name: str = "pay", **more: str) -> Any:
        """Fill in the confirmation as the page has it, and press the button."""
        page = self.get("/release").text
        seen = {one: hidden(page, one) for one in ("request", "shown")}
        return self.post("/release/confirm", {**seen, "name": name, "sure": "yes", **more})

    def waited(self, seconds: float = 20.0) -> None:
        """Wait until nothing runs."""
        end = time.monotonic() + seconds
        while self.space.jobs.running is not None:
            assert time.monotonic() < end
            time.sleep(0.01)

    def spent(self) -> float:
        """What the ledger has recorded."""
        return discreet.Ledger(self.folder / "ledger.db").status("people").spent_epsilon


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found[1]


def errors(page: str) -> list[str]:
    """What is said beside fields."""
    return re.findall(r'<p class="error"[^>]*>([^<]*)</p>', page)
