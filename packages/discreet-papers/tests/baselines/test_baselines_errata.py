"""The errata of the baselines' code are evaluated, and a right noise would not be refuted."""

from discreet_papers.baselines.baselines_errata import ERRATA, distance_test_keeps_its_epsilon, script_keeps_its_epsilon


def test_both_claims_are_refuted_with_numbers():
    assert [erratum.number for erratum in ERRATA] == [29, 30]
    outcomes = [erratum.show() for erratum in ERRATA]
    assert [outcome.holds for outcome in outcomes] == [False, False]
    assert "spend epsilon 1,1" in outcomes[0].measured
    assert "spends 1.82, stated 0.549" in outcomes[1].measured


def test_a_large_epsilon_would_hide_both():
    assert distance_test_keeps_its_epsilon(2.5).holds
    assert script_keeps_its_epsilon(1e4, rounds=1).holds
