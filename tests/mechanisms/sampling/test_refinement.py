"""Exactly rounded draws: intervals enclose, digits come until the outcome is certain, the distributions are the stated
ones."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.refinement import Interval, UndecidedError, Uniforms, _atanh, _log_bounds, refined
from discreet.mechanisms.sampler import ExactSampler
from discreet.testing.not_private import SeededSampler

# seeded draws, so nothing here can alarm by chance; the level says how unlikely a right distribution would be to fail
FALSE_ALARM = 1e-6
BITS = 96


def holds(interval: Interval, value: Fraction) -> bool:
    return Fraction(interval.low, 2**interval.bits) <= value <= Fraction(interval.high, 2**interval.bits)


def width(interval: Interval) -> Fraction:
    return Fraction(interval.high - interval.low, 2**interval.bits)


def random_fraction(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**6)) * rng.choice([1, 1000, Fraction(1, 1000)])


def test_sums_products_quotients_and_roots_enclose_the_exact_result():
    rng = random.Random(1)
    for _ in range(3000):
        a, b = random_fraction(rng), random_fraction(rng)
        # wide and narrow, around the number
        one = Interval.of(a, BITS)
        one = Interval(one.low - rng.choice([0, 2**80]), one.high + rng.choice([0, 2**90]), BITS)
        other = Interval.of(b, BITS)
        assert holds(one + other, a + b)
        assert holds(one - other, a - b)
        assert holds(one * other, a * b)
        assert holds(one * 7, a * 7)
        assert holds(one * -7, a * -7)
        if b > Fraction(1, 2**90):
            assert holds(one / other, a / b)
        if other.low >= 0:
            root = other.sqrt()
            assert Fraction(root.low, 2**BITS) ** 2 <= b <= Fraction(root.high, 2**BITS) ** 2
            assert width(root) <= Fraction(1, 2 ** (BITS // 2 - 1))


def test_a_product_or_quotient_rounds_outwards_by_no_more_than_a_unit():
    third = Interval.of(Fraction(1, 3), BITS)
    assert (third.low, third.high) == (2**BITS // 3, 2**BITS // 3 + 1)
    assert width(third * third) <= Fraction(3, 2**BITS)
    assert width(third / third) <= Fraction(8, 2**BITS)


@pytest.mark.parametrize("bits", [8, 64, 160, 320])
def test_logarithms_are_enclosed_and_hardly_wider_than_two_units(bits):
    rng = random.Random(bits)
    numbers = [
        1,
        2,
        3,
        2**bits - 1,
        2**bits,
        2**bits + 1,
        2 ** (bits + 40),
        *(rng.getrandbits(bits) + 1 for _ in range(300)),
    ]
    numbers += [rng.getrandbits(rng.randint(1, bits)) + 1 for _ in range(300)]
    with mpmath.workprec(4 * bits + 200):
        for number in numbers:
            low, high = _log_bounds(number, bits)
            exact = mpmath.log(mpmath.mpf(number) / 2**bits) * 2**bits
            assert low <= exact <= high
            assert high - low <= 3
        # an interval's logarithm holds those of both its ends
        wide = Interval(3, 2 ** (bits // 2), bits).log()
        assert wide.low <= mpmath.log(mpmath.mpf(3) / 2**bits) * 2**bits
        assert mpmath.log(mpmath.mpf(2 ** (bits // 2)) / 2**bits) * 2**bits <= wide.high


def test_the_series_stays_within_its_proved_error_and_would_not_within_none():
    errors = []
    with mpmath.workprec(600):
        for q in (16, 64, 200, 300):
            for numerator, denominator in ((0, 1), (1, 2), (1, 3), (2, 7), (1, 1000), (499, 1000)):
                exact = mpmath.atanh(mpmath.mpf(numerator) / denominator) * mpmath.mpf(2) ** q
                errors.append(float(exact - _atanh(numerator, denominator, q)))
                assert 0 <= errors[-1] <= 2 * q + 8
    assert max(errors) > 1


@pytest.mark.parametrize(
    "question",
    [
        lambda: Interval(0, 1, BITS).log(),
        lambda: Interval(-1, 1, BITS).sqrt(),
        lambda: Interval.of(1, BITS) / Interval(0, 1, BITS),
        lambda: Interval(-1, 1, BITS).below(Interval(0, 2, BITS)),
        lambda: Interval(2 ** (BITS - 1) - 1, 2 ** (BITS - 1), BITS).nearest(),
    ],
)
def test_a_question_that_is_not_settled_is_not_answered(question):
    with pytest.raises(UndecidedError):
        question()


def test_comparisons_and_roundings_that_are_settled_are_answered():
    one, two = Interval.of(1, BITS), Interval.of(2, BITS)
    assert one.below(two)
    assert not two.below(one)
    # equal numbers that are known exactly are not below one another
    assert not one.below(one)
    assert [Interval.of(Fraction(k, 10), BITS).nearest() for k in (-26, -24, 4, 6, 14)] == [-3, -2, 0, 1, 1]


class Scripted:
    """All variates start with the digits 0111... for some draws of bits, then go on with 0."""

    private = False

    def __init__(self, ones: int) -> None:
        self.ones = ones
        self.asked: list[int] = []

    def bits(self, how_many: int) -> int:
        self.asked.append(how_many)
        piece = how_many // 64
        if len(self.asked) > self.ones:
            return 0
        top = 2 ** (piece - 1) - 1 if len(self.asked) == 1 else 2**piece - 1
        return sum(top << index * piece for index in range(64))


@pytest.mark.parametrize("ones", [1, 2, 5])
def test_digits_are_added_until_a_rounding_is_certain_and_no_longer(ones):
    sampler = Scripted(ones)
    assert refined(sampler, lambda uniforms: uniforms.one().nearest(), bits=8) == 0
    assert sampler.asked == [64 * 8 * 2**k for k in (0, *range(ones))]


def ideal_two_normals(uniforms: list[mpmath.mpf]) -> list[mpmath.mpf]:
    x, y = 2 * uniforms[0] - 1, 2 * uniforms[1] - 1
    square = x * x + y * y
    if square >= 1:
        return ideal_two_normals(uniforms[2:])
    factor = mpmath.sqrt(-2 * mpmath.log(square) / square)
    return [x * factor, y * factor]


def test_the_outcome_is_the_rounding_of_the_ideal_draw_however_few_digits_it_starts_with():
    """Against mpmath at 600 bits on the very digits drawn; starting at 8 digits, most draws need several runs."""
    runs = 0
    for seed in range(120):
        seen: list[Uniforms] = []

        def draw(uniforms, seen=seen):
            seen.append(uniforms)
            two = [(normal * 10**6).nearest() for normal in uniforms.normals(2)]
            return two, uniforms._index, (uniforms.gamma(20) * 10**6).nearest()

        two, index, gamma = refined(SeededSampler(seed), draw, bits=8)
        runs += len(seen)
        with mpmath.workprec(600):
            # any number whose first digits are those known gives the same outcome: take the middle of its cell
            final = seen[-1]
            uniforms = [(mpmath.mpf(digits) + mpmath.mpf("0.5")) / 2**final.bits for digits in final._known]
            assert two == [int(mpmath.floor(z * 10**6 + 0.5)) for z in ideal_two_normals(uniforms)]
            logs = mpmath.fsum(mpmath.log(u) for u in uniforms[index : index + 20])
            assert gamma == int(mpmath.floor(-logs * 10**6 + 0.5))
    assert runs > 240


def test_the_number_of_digits_to_start_with_changes_no_outcome():
    """The same stream of digits cut into short and long pieces."""

    class Digits:
        """Every variate has its own stream of digits, asked for in whatever pieces."""

        private = False

        def __init__(self) -> None:
            self.random = [random.Random(f"variate {k}") for k in range(64)]
            self.given = 0

        def bits(self, how_many: int) -> int:
            piece = how_many // 64
            return sum(self.random[k].getrandbits(1) << index for k, index in self.indices(piece))

        def indices(self, piece: int):
            return ((k, (63 - k) * piece + piece - 1 - digit) for k in range(64) for digit in range(piece))

    outcomes = {
        tuple(refined(Digits(), lambda uniforms: [(z * 10**5).nearest() for z in uniforms.normals(16)], bits=bits))
        for bits in (8, 16, 64, 200, 512)
    }
    assert len(outcomes) == 1


def test_whole_bytes_of_digits_are_known():
    uniforms = Uniforms(ExactSampler(), 13)
    assert uniforms.bits == 16
    assert 0 <= uniforms.one().low < 2**16
    first = uniforms._known[0]
    uniforms.refine()
    uniforms.restart()
    again = uniforms.one()
    assert uniforms.bits == 32
    assert (again.low >> 16, again.high - again.low) == (first, 1)


def p_value(draws, cdf) -> float:
    return float(stats.kstest(draws, cdf).pvalue)


def test_variates_have_the_stated_distributions_and_others_are_rejected():
    def draw(uniforms):
        normals = [(z * 10**9).nearest() / 10**9 for z in uniforms.normals(4000)]
        gammas = [(uniforms.gamma(7) * 10**9).nearest() / 10**9 for _ in range(2000)]
        long = [(uniforms.gamma(40) * 10**9).nearest() / 10**9 for _ in range(1000)]
        odd = [(uniforms.chi_square(5) * 10**9).nearest() / 10**9 for _ in range(2000)]
        even = [(uniforms.chi_square(4) * 10**9).nearest() / 10**9 for _ in range(2000)]
        flat = [(uniforms.one() * 10**9).nearest() / 10**9 for _ in range(2000)]
        return normals, gammas, long, odd, even, flat

    normals, gammas, long, odd, even, flat = refined(SeededSampler(5), draw)
    assert p_value(normals, stats.norm.cdf) > FALSE_ALARM
    assert p_value(normals, stats.norm(scale=1.2).cdf) < FALSE_ALARM
    # the two normals of a pair are independent: their angle is uniform
    angle = np.arctan2(normals[::2], normals[1::2])
    assert p_value(angle, stats.uniform(-np.pi, 2 * np.pi).cdf) > FALSE_ALARM
    assert p_value(gammas, stats.gamma(7).cdf) > FALSE_ALARM
    assert p_value(gammas, stats.gamma(7.5).cdf) < FALSE_ALARM
    assert p_value(long, stats.gamma(40).cdf) > FALSE_ALARM
    assert p_value(long, stats.gamma(42).cdf) < FALSE_ALARM
    assert p_value(odd, stats.chi2(5).cdf) > FALSE_ALARM
    assert p_value(odd, stats.chi2(5.5).cdf) < FALSE_ALARM
    assert p_value(even, stats.chi2(4).cdf) > FALSE_ALARM
    assert p_value(flat, stats.uniform.cdf) > FALSE_ALARM


def test_small_whole_numbers_follow_the_probabilities_of_their_cells():
    draws = refined(SeededSampler(9), lambda uniforms: [(z * 2).nearest() for z in uniforms.normals(20_000)])
    cells = np.arange(-6, 7)
    expected = stats.norm.cdf((cells + 0.5) / 2) - stats.norm.cdf((cells - 0.5) / 2)
    observed = np.array([draws.count(int(cell)) for cell in cells])
    assert stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > FALSE_ALARM
    wrong = stats.norm.cdf((cells + 1) / 2) - stats.norm.cdf(cells / 2)
    assert stats.chisquare(observed, wrong / wrong.sum() * observed.sum()).pvalue < FALSE_ALARM


def test_five_thousand_normals_take_one_run_at_the_usual_digits():
    runs = []

    def draw(uniforms):
        runs.append(1)
        return [(z * 2**40).nearest() for z in uniforms.normals(5000)]

    assert len(refined(SeededSampler(3), draw)) == 5000
    assert len(runs) == 1
