"""The simulated census."""

from __future__ import annotations

from discreet.datasets.tables import SIMULATED_COEFFICIENTS, SIMULATED_ROWS, census2000
from support.dataset_oracle import ordinary


def test_the_simulated_table_is_the_same_every_time_and_follows_its_model(simulated: object) -> None:
    assert simulated.simulated  # type: ignore[attr-defined]
    assert simulated.table.num_rows == SIMULATED_ROWS  # type: ignore[attr-defined]
    assert simulated.table.equals(census2000().table)  # type: ignore[attr-defined]
    assert "Simulated" in simulated.note  # type: ignore[attr-defined]
    found = ordinary(simulated)
    # about six standard errors of this sample
    tolerance = {"Intercept": 0.15, "educ": 0.01, "exper": 0.002, "exper25sq": 0.00013}
    for name, value in SIMULATED_COEFFICIENTS.items():
        assert abs(found[name] - value) < tolerance[name]
