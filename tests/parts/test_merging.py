"""Merged parts: the sums of the pooled table, an ordinary release, the same bytes every time."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OutputError, PartFileError, ReleaseFileError, SpecError
from discreet.ledger.event_log import MergedAnchor
from discreet.mechanisms.sampler import ExactSampler
from discreet.parts import merging
from discreet.parts.agreement import asked_by
from discreet.parts.merging import check_cancelled, merge_with
from discreet.parts.part_file import Part
from discreet.releases import Release
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.curators import DESIGN, NoNoise, curators, joined, rows
from support.release_edits import DELETE, SCHEMA, edited

TABLES = [rows(seed, 15 + seed) for seed in range(3)]
FALSE_ALARM = 1e-9


def pooled(tables, design=DESIGN, grid_bits=16):
    return accumulate(open_source(joined(tables)), design, RowDomain.of(design, grid_bits), ComputeOptions())


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return curators(tmp_path_factory.mktemp("merging"))


@pytest.fixture(scope="module")
def parts(people):
    return people.parts(TABLES, ExactSampler())


@pytest.fixture(scope="module")
def release(parts):
    return discreet.merge(parts)


@pytest.mark.parametrize("count", [3, 4, 9])
def test_without_noise_the_merged_sums_are_those_of_the_pooled_table(count, tmp_path):
    tables = [rows(seed, 1 + 7 * (seed % 3)) for seed in range(count)]
    people = curators(tmp_path, names=tuple(f"curator {k}" for k in range(count)))
    made = discreet.merge(people.parts(tables))
    assert made.totals == pooled(tables).values
    assert made.curators.honest == count - 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_persons_are_capped_in_every_part_and_counted_where_public(neighbours, tmp_path):
    design = Design("y", {"y": (0, 10), "x": (0, 5)}, unit={"id": "person", "max_rows": 2, "neighbours": neighbours})
    people = curators(tmp_path, design)
    # nobody is in two parts, and every cap is one part's own business
    tables = [rows(seed, 12, persons=4) for seed in range(3)]
    for place, table in enumerate(tables):
        table["person"] = [100 * place + one for one in table["person"]]
    made = discreet.merge(people.parts(tables, design=design))
    exact = pooled(tables, design)
    assert made.totals == exact.values
    assert made.units_public == (exact.counts.units if neighbours == "replace" else None)


def test_the_same_parts_give_the_same_bytes_in_any_order(parts, release, tmp_path):
    for place, one in enumerate(parts):
        one.save(tmp_path / f"{place}.part")
    again = discreet.merge([tmp_path / "2.part", parts[0], str(tmp_path / "1.part")], session=parts[0].session)
    assert again.to_json() == release.to_json()


def test_a_merged_release_is_an_ordinary_one(release, tmp_path):
    release.save(tmp_path / "R.json")
    assert Release.load(tmp_path / "R.json") == release
    found = discreet.verify(tmp_path / "R.json")
    assert 0.99 < found.epsilon_given <= 1
    fit = discreet.fit(release)
    assert fit.release is release
    assert "merged from 3 parts, noise in shares, of which 2 are counted" in release.summary()
    page = discreet.report(release).html
    assert "at least 2 of the 3 curators" in page
    assert "the sum of 3 shares, one from each curator" in page
    assert "at least 2 of the 3 curators" in release.guarantee.sentence()
    assert release.anchor == "untracked"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"curators__honest": 1}, "the noise shares in noise.parameters do not match"),
        ({"curators__parts": 4}, "the noise shares in noise.parameters do not match"),
        ({"curators__parts_per_person": 2}, "the noise shares in noise.parameters do not match"),
        ({"curators": DELETE}, "conditions: expected"),
        ({"curators__parts": 2}, "expected an integer from 3"),
        ({"curators": 5}, "curators"),
        ({"curators__honest": 1, "noise__parameters__honest": "1"}, "the guarantee is stronger than the noise"),
        ({"guarantee__conditions": ["one-row", "blind-choices", "only-release"]}, "conditions: expected"),
        ({"guarantee__conditions": ["part-row", "blind-choices", "ledger-budgets", "honest-parts"]}, "untracked"),
    ],
)
def test_an_edited_release_is_refused(release, change, message):
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(release, **change))


def test_the_schema_takes_a_merged_release(release):
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)


def test_errors_count_the_noise_of_all_shares(release):
    alone = discreet.release(joined(TABLES), DESIGN, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    there = alone.noise_sd > 0
    assert np.allclose(release.noise_sd[there] / alone.noise_sd[there], math.sqrt(3 / 2), rtol=1e-6)


def test_the_noise_of_a_merged_release_has_the_distribution_it_states(tmp_path):
    """Through the public path, with false alarms below 1e-9; the variance of two shares, or of nine, is rejected."""
    design = Design("y", {**{f"x{k}": (-1, 1) for k in range(60)}, "y": (-1, 1)})
    people = curators(tmp_path, design)
    tables = [{name: [0.5] for name in design.columns} for _ in range(3)]
    keys = [people.path(place) for place in range(3)]
    sent = [discreet.part(one, design, people.session, key=key) for one, key in zip(tables, keys, strict=True)]
    made = discreet.merge(sent)
    exact = pooled(tables, design).values
    sds = [made.noise.sigma[block] for block in merging_blocks(design)]
    noise = np.array([(a - b) / sd for a, b, sd in zip(made.totals, exact, sds, strict=True)])
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(noise))
    square = float((noise**2).sum())
    assert low < square / 3 < high
    assert not low < square / 2 < high
    assert not low < square / 9 < high


def merging_blocks(design):
    from discreet.accounting.noise_distribution import entry_blocks

    return entry_blocks(len(design.released))


def test_origins_and_ledgers_of_parts_become_conditions(tmp_path):
    people = curators(tmp_path)
    made = people.parts(TABLES)
    signed = [
        Part.signed(replace(one.header, origin=origin, anchor=f"ledger of {key.name}"), one.numbers, key.sign)
        for one, origin, key in zip(made, ("quoted", "query", None), people.keys, strict=True)
    ]
    found = discreet.merge(signed)
    said = found.guarantee.conditions
    assert [any(word in line for line in said) for word in ("query", "quoted correctly", "stream")] == [
        True,
        True,
        False,
    ]
    assert any("the ledgers of their curators" in line for line in said)
    merged = MergedAnchor.parsed(found.anchor)
    assert merged == MergedAnchor(people.session.id, tuple(f"ledger of {key.name}" for key in people.keys))
    assert f"the ledgers of 3 curators, session {people.session.id}" in found._repr_html_()
    for anchor in (
        "a ledger",
        str(replace(merged, anchors=("a", "b"))),
        str(replace(merged, anchors=("untracked",) * 3)),
    ):
        with pytest.raises(ReleaseFileError, match="does not name a ledger for each curator"):
            Release.from_json(edited(found, anchor=anchor))
    # a spend that two parts name counts for neither
    doubled = [
        Part.signed(replace(one.header, anchor="a ledger"), one.numbers, key.sign)
        for one, key in zip(made, people.keys, strict=True)
    ]
    assert discreet.merge(doubled).anchor == "untracked"
    assert Release.from_json(found.to_json()) == found
    assert any("the curators' ledgers recorded the spend" in line for line in discreet.verify(found).cannot_see)


# -- noise of the merger ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "terms"),
    [
        ("gaussian", {}),
        ("gaussian", {"parts_per_person": 2}),
        ("laplace", {"delta": 0.0}),
        ("adassp", {}),
        ("output", {}),
    ],
)
def test_the_merger_draws_once(mechanism, terms, tmp_path):
    people = curators(tmp_path, mechanism=mechanism, noise="merger", **terms)
    paths = []
    for place, one in enumerate(people.parts(TABLES, ExactSampler())):
        paths.append(tmp_path / f"{place}.part")
        one.save(paths[-1])
    made = discreet.merge(paths, merger_noise=True)
    (tmp_path / "links").mkdir()
    links = [tmp_path / "links" / path.name for path in paths]
    for link, path in zip(links, paths, strict=True):
        link.symlink_to(path)
    for order in (paths, paths[::-1], [*paths[1:], paths[0]], links):
        assert discreet.merge(order, merger_noise=True).to_json() == made.to_json()
    assert (tmp_path / f"discreet-merge-{people.session.id}").stat().st_mode & 0o777 == 0o600
    assert made.curators.noise == "merger"
    assert "who saw the exact pooled sums and drew the noise" in made.guarantee.sentence()
    assert "noise drawn by the merger" in made.summary()
    assert discreet.verify(made).epsilon_given <= 1 + 1e-6


def test_the_merger_sees_exact_pooled_sums(tmp_path):
    people = curators(tmp_path, noise="merger")
    parts = people.parts(TABLES, ExactSampler())
    totals, published = merging.pooled(parts, asked_by(people.session, DESIGN), people.session)
    assert published is None
    assert totals.values == pooled(TABLES).values


@pytest.fixture
def for_merger(tmp_path):
    people = curators(tmp_path, noise="merger")
    paths = []
    for place, one in enumerate(people.parts(TABLES, ExactSampler())):
        paths.append(tmp_path / f"{place}.part")
        one.save(paths[-1])
    return people, paths


def test_another_process_that_drew_first_decides(for_merger, monkeypatch):
    _, paths = for_merger
    first = discreet.merge(paths, merger_noise=True)
    stored, looks = merging._stored, []

    def late(*given):
        looks.append(given)
        return None if len(looks) == 1 else stored(*given)

    monkeypatch.setattr(merging, "_stored", late)
    assert discreet.merge(paths, merger_noise=True).to_json() == first.to_json()


def test_a_kept_release_of_other_parts_or_a_damaged_one_is_refused(for_merger):
    people, paths = for_merger
    kept = paths[0].parent / f"discreet-merge-{people.session.id}"
    kept.write_text(f"discreet merge record 1 {'0' * 64}\n{{}}")
    with pytest.raises(SpecError, match=r"is the release of other parts.*Nothing was drawn"):
        discreet.merge(paths, merger_noise=True)
    kept.unlink()
    discreet.merge(paths, merger_noise=True)
    whole = kept.read_bytes()
    for damaged in (
        b"\xff",
        b"",
        b"discreet merge record 1 00\n{}",
        whole[:-9],
        whole.replace(b'"epsilon"', b'"epsilom"'),
    ):
        kept.write_bytes(damaged)
        with pytest.raises(OutputError, match=rf"{kept.name}' is damaged. Nothing was drawn.*restore the file"):
            discreet.merge(paths, merger_noise=True)
    for make in (lambda: kept.symlink_to("nowhere"), kept.mkdir):
        kept.unlink()
        make()
        with pytest.raises(OutputError, match=r"cannot read the stored release .*: it is a link, a folder or a device"):
            discreet.merge(paths, merger_noise=True)


def test_a_kept_release_that_comes_and_goes_is_said(for_merger, monkeypatch):
    monkeypatch.setattr(merging, "write_once", lambda *_: False)
    with pytest.raises(OutputError, match=r"another program deleted the stored release .*; nothing was written"):
        discreet.merge(for_merger[1], merger_noise=True)


def test_who_draws_the_noise_is_said_by_both(for_merger, parts):
    _, paths = for_merger
    with pytest.raises(SpecError, match="pass merger_noise=True"):
        discreet.merge(paths)
    with pytest.raises(SpecError, match="leave merger_noise out"):
        discreet.merge(parts, merger_noise=True)
    with pytest.raises(SpecError, match="pass the paths of the parts"):
        discreet.merge([discreet.Part.load(path) for path in paths], merger_noise=True)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, "a.part", 5, [5], [None] * 3])
def test_what_is_no_list_of_parts_is_refused(given):
    with pytest.raises(SpecError, match="expected a list of parts"):
        discreet.merge(given)


def test_no_part_is_refused():
    with pytest.raises(PartFileError, match=r"expected one part from each curator, .*, got no parts"):
        discreet.merge([])


def test_another_session_than_the_given_one_is_refused(parts, tmp_path):
    other = curators(tmp_path).session
    other.save(tmp_path / "S.toml")
    with pytest.raises(PartFileError, match="does not belong to the given session"):
        discreet.merge(parts, session=tmp_path / "S.toml")


@pytest.mark.parametrize("change", [{"target": "x"}, {"columns": {}}, {"radius": -1.0}, {"radius": 1.0}])
def test_a_design_in_the_parts_that_is_not_that_of_the_session_is_refused(parts, people, change):
    """Even if its curator signed it."""
    altered = [
        Part.signed(replace(one.header, design={**one.header.design, **change}), one.numbers, key.sign)
        for one, key in zip(parts, people.keys, strict=True)
    ]
    with pytest.raises(PartFileError, match="design in"):
        discreet.merge(altered)
    with pytest.raises(PartFileError, match="design in"):
        discreet.merge([*parts[:2], altered[2]])


def test_another_number_of_sums_is_refused(parts, people):
    short = replace(parts[0].header, numbers=parts[0].header.numbers - 1)
    cut = Part.signed(short, parts[0].numbers[:-16], people.keys[0].sign)
    with pytest.raises(PartFileError, match="the number of sums in a part does not match"):
        discreet.merge([cut, *parts[1:]])


def test_sums_that_no_rows_have_are_refused(people):
    asked = asked_by(people.session, DESIGN)
    fine = [10 * asked.distribution.unit, 0, 0]
    check_cancelled(fine, asked, people.session)
    # noise may bring the number of rows below 0, and nothing farther
    check_cancelled([-5 * asked.distribution.sigma["count"], 0, 0], asked, people.session)
    far = 3 * 2**48 * asked.distribution.unit * 2
    for wrong in ([-(10**18), 0, 0], [far, 0, 0], [fine[0], far, 0], [fine[0], 0, -far]):
        with pytest.raises(PartFileError, match="the masks of the parts do not cancel"):
            check_cancelled(wrong, asked, people.session)


def test_a_public_number_of_units_that_cannot_be_is_refused(tmp_path):
    design = Design("y", {"y": (0, 10), "x": (0, 5)}, unit={"neighbours": "replace"})
    people = curators(tmp_path, design)
    made = people.parts([rows(k) for k in range(3)], design=design)
    broken = made[0].numbers[:-16] + bytes(15) + b"\x40"
    other = Part.signed(made[0].header, broken, people.keys[0].sign)
    with pytest.raises(PartFileError, match="the masks of the parts do not cancel"):
        discreet.merge([other, *made[1:]])


def test_a_mechanism_that_wants_another_pass_is_refused():
    with pytest.raises(SpecError, match="reads the rows only once"):
        merging._no_more(None)


def test_no_noise_is_drawn_where_the_parts_have_theirs(parts, release):
    class Refusing(NoNoise):
        def draw(self, sigmas):
            raise AssertionError("noise is drawn by the curators")

    assert merge_with(Refusing(), parts) == release
