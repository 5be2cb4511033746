import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from libero_safety.rng import rng_for
from libero_safety.types import Key

KEY = Key(suite="aag", task="pick_up_the_knife", level=1, seed=7, index=3)


def test_same_key_and_stream_give_the_same_numbers() -> None:
    assert np.array_equal(rng_for(KEY, "draw").random(100), rng_for(KEY, "draw").random(100))


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, suite="hri"),
        replace(KEY, task="pick_up_the_fork"),
        replace(KEY, level=2),
        replace(KEY, seed=8),
        replace(KEY, index=4),
        replace(KEY, seed=3, index=7),
        replace(KEY, suite="aag\0pick", task="up_the_knife"),
    ],
    ids=str,
)
def test_every_part_of_the_key_counts(other: Key) -> None:
    assert not np.array_equal(rng_for(KEY, "draw").random(8), rng_for(other, "draw").random(8))


def test_drawing_from_one_stream_moves_no_other() -> None:
    alone = rng_for(KEY, "noise").random(10)
    draw, noise = rng_for(KEY, "draw"), rng_for(KEY, "noise")
    mixed: list[float] = []
    for _ in range(10):
        draw.random(5)
        mixed.append(noise.random())
    assert np.array_equal(alone, mixed)


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = rng_for(KEY, "draw").random(4)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(rng_for(KEY, "draw").random(4), first)


def test_another_process_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from libero_safety.rng import rng_for; from libero_safety.types import Key;"
        f"print(rng_for({KEY!r}, 'draw').integers(2**62))"
    )
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == int(rng_for(KEY, "draw").integers(2**62))


def test_neighbouring_episodes_are_not_alike() -> None:
    draws = np.array([rng_for(replace(KEY, index=i), "draw").random() for i in range(2000)])
    correlation = np.corrcoef(draws[:-1], draws[1:])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(draws))
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * len(draws))
