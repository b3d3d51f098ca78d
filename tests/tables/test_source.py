"""How the work is done is checked, reported, and changes nothing."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.tables.source import ComputeOptions


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "many"])
def test_bad_compute_options_are_refused(value):
    with pytest.raises(SpecError, match="chunk_rows"):
        ComputeOptions(chunk_rows=value)


@pytest.mark.parametrize("name", ["batch_rows", "chunk_rows"])
def test_either_number_of_rows_is_refused_by_name_and_the_smallest_is_taken(name):
    with pytest.raises(SpecError, match=f"^{name} 0 is not allowed; choose a positive integer$"):
        ComputeOptions(**{name: 0})
    assert getattr(ComputeOptions(**{name: 1}), name) == 1


class Halves:
    """A source of which a half is read."""

    share_read = 0.5
    origin = None

    def batches(self, columns, batch_rows):
        return iter(())


def test_progress_hears_the_share_and_then_that_all_is_read():
    heard = []
    options = ComputeOptions(progress=heard.append)
    options.report_progress(Halves())
    options.report_read()
    assert heard == [0.5, None]


def test_without_a_listener_nothing_is_reported_and_the_source_is_not_asked():
    class Silent(Halves):
        @property
        def share_read(self):
            raise AssertionError("the source was asked")

    ComputeOptions().report_progress(Silent())
    ComputeOptions().report_read()
    with pytest.raises(AssertionError, match="the source was asked"):
        ComputeOptions(progress=print).report_progress(Silent())
