import math

import pytest

from libero_safety.ubddl.number import Dimension, number, number_or_dist
from libero_safety.ubddl.reader import UbddlError, read
from libero_safety.ubddl.spec import Choice, Num, Uniform


def value(text: str, dimension: Dimension = "") -> float:
    return number(read(f"({text})").items[0], dimension)


def dist(text: str, low: float = -math.inf, high: float = math.inf) -> Num:
    return number_or_dist(read(f"({text})").items[0], "rad", low=low, high=high)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("1.5", "", 1.5),
        ("-.5", "", -0.5),
        ("+2e-3", "", 0.002),
        ("0.02m", "m", 0.02),
        ("2cm", "m", 0.02),
        ("1e-3m", "m", 0.001),
        ("15deg", "rad", math.pi / 12),
        ("0.1rad", "rad", 0.1),
        ("250ms", "s", 0.25),
        ("6s", "s", 6.0),
        ("100N", "N", 100.0),
        ("2cm/s", "m/s", 0.02),
        ("1.5Hz", "Hz", 1.5),
        ("pi", "rad", math.pi),
        ("-pi/4", "rad", -math.pi / 4),
        ("3*pi/2", "rad", 3 * math.pi / 2),
        ("0.5*pi", "", math.pi / 2),
    ],
)
def test_numbers(text: str, dimension: Dimension, expected: float) -> None:
    assert value(text, dimension) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "dimension", "said"),
    [
        ("nan", "", "not a number"),
        ("inf", "", "not a number"),
        ("-inf", "", "not a number"),
        ("1e999", "", "not a finite number"),
        ("abc", "", "not a number"),
        ("1,2", "", "separated by blanks"),
        ("1.5.2", "", "not a number"),
        ("1/0", "", "divides by zero"),
        ("pi/", "", "not a number"),
        ("os.getcwd", "", "not a number"),
        ("__import__", "", "not a number"),
        ("2**3", "", "not a number"),
        ("5deg", "m", "takes m or cm or mm, not 'deg'"),
        ("5m", "", "takes no unit"),
        ("5metres", "m", "unknown unit 'metres'"),
        ("5hz", "Hz", "unknown unit 'hz', did you mean 'Hz'"),
        ("5Deg", "rad", "did you mean 'deg'"),
        ("(1 2)", "", "found the list"),
    ],
)
def test_what_is_not_a_number(text: str, dimension: Dimension, said: str) -> None:
    with pytest.raises(UbddlError) as caught:
        value(text, dimension)
    assert said in caught.value.message
    assert caught.value.place.column == 2


def test_distributions() -> None:
    assert dist("(Uniform -3deg 3deg)") == Uniform(math.radians(-3), math.radians(3))
    assert dist("(Choice 0 pi)") == Choice((0.0, math.pi))
    assert dist("2") == 2.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(Uniform 3 1)", "3 is more than 1"),
        ("(Uniform 1)", "takes 2 numbers"),
        ("(Uniformly 1 2)", "did you mean 'Uniform'"),
        ("(Choice)", "without options"),
        ("(Uniform 0 20)", "within 0 and 10"),
        ("(Choice 1 -1)", "within 0 and 10"),
        ("11", "within 0 and 10"),
    ],
)
def test_what_is_not_a_distribution(text: str, said: str) -> None:
    with pytest.raises(UbddlError, match=r"expected|takes|more than|without|must be") as caught:
        dist(text, 0, 10)
    assert said in caught.value.message
