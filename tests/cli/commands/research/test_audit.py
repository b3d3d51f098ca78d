"""`discreet audit`: table, JSON, files, and exit code 1 where a claim is refuted.

The production sampler cannot be seeded: right mechanisms are judged here at a confidence of 1 - 1e-9.
"""

from __future__ import annotations

import json
from functools import partial

import pytest
from click.testing import CliRunner

from discreet.audit import auditing as running
from discreet.audit import membership_attack
from discreet.audit import runs as pooled
from discreet.cli.main import program
from discreet.errors import SpecError
from discreet.mechanisms import sampler
from discreet.mechanisms.sampler import ExactSampler
from support.biased_sampler import biased_draws

NAME = "primitives.randomised_response"


def run(*arguments):
    return CliRunner().invoke(program, ["audit", *map(str, arguments)])


@pytest.fixture(autouse=True)
def sure(monkeypatch):
    monkeypatch.setattr("discreet.audit.run_audit", partial(running.run_audit, confidence=1 - 1e-9))
    quick = partial(membership_attack, epsilons=(4.0,), draws=1000, confidence=1 - 1e-9)
    monkeypatch.setattr("discreet.audit.membership_attack", quick)


@pytest.fixture
def broken(monkeypatch):
    """Everybody says the truth."""
    monkeypatch.setattr("discreet.primitives.response.bernoulli", lambda chance: True)


def test_a_pass_prints_a_table_and_says_what_it_is_worth():
    made = run(NAME, "--workers", 1)
    assert made.exit_code == 0, made.output
    lines = made.stdout.splitlines()
    assert lines[0] == "Certified lower bounds on epsilon beside claims"
    assert [line.split()[0] for line in lines[2:4]] == [NAME, NAME]
    assert [line.split()[-1] for line in lines[2:4]] == ["pass", "pass"]
    assert any(line.startswith("A pass is not a proof") for line in lines)
    assert lines[-1].startswith("CPU time:")
    assert "Self-test of the sampler: discrete Gaussian at scale 2: pass" in made.stdout


def test_a_biased_sampler_ends_with_exit_code_1(monkeypatch):
    """What is audited draws no noise of this sampler, so the self-test alone sees it."""
    monkeypatch.setattr(sampler, "_gaussian", lambda sigma, how_many: biased_draws("gaussian", sigma, how_many))
    monkeypatch.setattr(running, "EPSILONS", (1.0,))
    made = run(NAME, "--workers", 1, "--json")
    assert made.exit_code == 1
    said = json.loads(made.stdout)
    assert [case["verdict"] for case in said["cases"]] == ["pass"]
    assert [check["passed"] for check in said["sampler"]["checks"]] == [False, True]


def test_an_old_version_of_opendp_is_refused(monkeypatch):
    def refused():
        raise SpecError("expected a released version of opendp")

    monkeypatch.setattr(sampler, "check_opendp", refused)
    made = run(NAME, "--workers", 1)
    assert (made.exit_code, made.stdout) == (2, "")
    assert "expected a released version of opendp" in made.stderr


def test_a_violation_ends_with_exit_code_1(broken):
    made = run(NAME, "--workers", 1)
    assert made.exit_code == 1
    assert "VIOLATION  primitives.randomised_response, yes or no: epsilon is at least" in made.stdout


def test_json_and_files(broken, tmp_path):
    made = run(NAME, "--workers", 1, "--json", "-o", tmp_path / "out")
    assert made.exit_code == 1
    said = json.loads(made.stdout)
    assert said["passed"] is False
    assert [case["verdict"] for case in said["cases"]] == ["violation", "violation"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["audit.json", "audit.png", "audit.svg"]
    assert len(said["written"]) == 3


def test_files_are_named_in_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "EPSILONS", (1.0,))
    made = run(NAME, "--workers", 1, "-o", tmp_path)
    assert made.exit_code == 0, made.output
    assert f"Written  {tmp_path / 'audit.json'}" in made.stdout


def test_an_unknown_name_is_refused():
    made = run("gausian")
    assert made.exit_code == 2
    assert "Did you mean 'gaussian'?" in made.stderr


@pytest.mark.full
def test_membership_prints_what_an_attacker_gets_beside_what_is_allowed():
    made = run("--membership")
    assert made.exit_code == 0, made.output
    lines = made.stdout.splitlines()
    assert lines[0] == "Who is in the table? Rows found, beside what is allowed"
    assert [line.startswith("least squares, NOT PRIVATE") for line in lines[2:6]] == [True, True, False, False]
    assert [line.split()[-1] for line in lines[2:6]] == ["guarantee", "guarantee", "pass", "pass"]


@pytest.mark.full
@pytest.mark.no_cover
def test_membership_with_too_little_noise_ends_with_exit_code_1(monkeypatch, tmp_path):
    class NoNoise(ExactSampler):
        def draw(self, sigmas):
            return [0] * len(sigmas)

    monkeypatch.setattr(pooled, "ExactSampler", NoNoise)
    made = run("--membership", "--json", "-o", tmp_path)
    assert made.exit_code == 1
    said = json.loads(made.stdout)
    assert said["passed"] is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["membership.json", "membership.png", "membership.svg"]


@pytest.mark.parametrize("more", [["gaussian"], ["--full"], ["--workers", 1]])
def test_membership_goes_alone(more):
    made = run("--membership", *more)
    assert made.exit_code == 2
    assert "--membership can be combined with --json and -o only" in made.stderr
