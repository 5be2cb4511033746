"""Seamless noise, grids and cells: what pictures of materials are painted with.

Everything here goes on without a seam at the edges of the picture: noise is made from whole waves, grids have whole
cells. Pictures are `SIZE` pixels a side, arrays (row, column).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SIZE = 256
"""Pixels a side."""

Rgb: TypeAlias = tuple[float, float, float]
"""Red, green, blue, 0 to 1."""
Grid: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """A picture cut into cells: the number of each pixel's cell, and how far (pixels) it is from the cell's edge."""

    number: Ints
    inside: Grid


class Brush:
    """Seamless noise and grids, and the colours to fill them with."""

    def __init__(self, rng: np.random.Generator, colours: tuple[Rgb, ...]) -> None:
        self.rng = rng
        self.colours = [np.array(c, np.float32) for c in colours]
        steps = (np.arange(SIZE, dtype=np.float32) + 0.5) / SIZE
        self.x, self.y = steps[None, :], steps[:, None]

    def noise(self, slope: float, low: float, high: float, long: float = 1.0) -> Grid:
        """Return noise of mean 0 and deviation 1 from waves that fit `low` to `high` times into the picture.

        Power falls with frequency to the `slope`; features are `long` times longer along the rows than across.
        """
        gain = _gain(slope, low, high, long)
        waves = self.rng.standard_normal((*gain.shape, 2), dtype=np.float32) * gain[..., None]
        spectrum = waves[..., 0] + np.complex64(1j) * waves[..., 1]
        made = np.fft.irfft2(spectrum, s=(SIZE, SIZE)).astype(np.float32)
        return made / np.float32(made.std())

    def tones(self, cells: Ints, spread: float) -> Grid:
        """Return a random number of deviation `spread` for each cell, (SIZE, SIZE)."""
        table = self.rng.standard_normal(int(cells.max()) + 1, dtype=np.float32)
        return np.clip(table, -2.0, 2.0)[cells] * np.float32(spread)

    def mix(self, amount: Grid, first: int = 0, second: int = 1) -> Grid:
        """Return colour `first` where `amount` is 0 or less, `second` where it is 1 or more, (SIZE, SIZE, 3)."""
        a, b = self.colours[first], self.colours[second]
        return a + (b - a) * np.clip(amount, 0.0, 1.0)[..., None]

    def fill(self, tone: Grid, colour: int = 0) -> Grid:
        """Return one colour, brighter by the share `tone`, (SIZE, SIZE, 3)."""
        return self.colours[colour] * (1.0 + tone)[..., None]

    def over(self, base: Grid, colour: int, cover: Grid) -> Grid:
        """Return `base` with a colour painted over it where `cover` is 1."""
        return base + (self.colours[colour] - base) * np.clip(cover, 0.0, 1.0)[..., None]


@lru_cache(maxsize=64)
def _gain(slope: float, low: float, high: float, long: float) -> Grid:
    across = np.fft.rfftfreq(SIZE, 1 / SIZE)[None, :]
    along = np.fft.fftfreq(SIZE, 1 / SIZE)[:, None]
    frequency = np.hypot(across, along * long)
    gain = np.zeros_like(frequency)
    chosen = (frequency >= low) & (frequency <= high)
    gain[chosen] = frequency[chosen] ** (-slope / 2)
    return gain.astype(np.float32)


def grid(columns: int, rows: int, shift: float) -> Cells:
    """Return a grid whose every other row is shifted by a share of a cell; `rows` is even unless the shift is 0."""
    steps = (np.arange(SIZE) + 0.5) / SIZE
    v = steps[:, None] * rows
    row = np.floor(v)
    u = (steps[None, :] * columns + shift * (row % 2)) % columns
    column = np.floor(u)
    across = (0.5 - np.abs(u - column - 0.5)) * SIZE / columns
    along = (0.5 - np.abs(v - row - 0.5)) * SIZE / rows
    return Cells((row * columns + column).astype(np.int64), np.minimum(across, along).astype(np.float32))


def pebbles(rng: np.random.Generator, count: int) -> Cells:
    """Return the Voronoi cells of `count` x `count` points, one in each square of a grid."""
    points = rng.random((2, count * count), dtype=np.float32) * np.float32(0.9)
    steps = ((np.arange(SIZE) + 0.5) / SIZE * count).astype(np.float32)
    home = np.floor(steps).astype(np.int64)
    nearest = np.full((SIZE, SIZE), 16.0, np.float32)
    second = nearest.copy()
    number = np.zeros((SIZE, SIZE), np.int64)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            cell = (home + i)[:, None] % count * count + (home + j)[None, :] % count
            gap = np.square(points[0].take(cell) + (home + i - steps)[:, None].astype(np.float32))
            gap += np.square(points[1].take(cell) + (home + j - steps)[None, :].astype(np.float32))
            np.copyto(number, cell, where=gap < nearest)
            np.minimum(second, np.maximum(nearest, gap), out=second)
            np.minimum(nearest, gap, out=nearest)
    return Cells(number, (np.sqrt(second) - np.sqrt(nearest)) * np.float32(SIZE / count / 2))


def herringbone(count: int, length: int) -> tuple[Cells, Bools]:
    """Return planks 1 wide and `length` long, `count` widths in the picture, and which pixels lie in upright ones."""
    steps = (np.arange(SIZE) + 0.5) / SIZE * count
    u, v = np.broadcast_to(steps[None, :], (SIZE, SIZE)), np.broadcast_to(steps[:, None], (SIZE, SIZE))
    i, j = np.floor(u), np.floor(v)
    place = (i - j) % (2 * length)
    upright = place >= length
    along = np.where(upright, 2 * length - 1 - place, place)
    first_i, first_j = np.where(upright, i, i - along) % count, np.where(upright, j - along, j) % count
    on = along + np.where(upright, v - j, u - i)
    side = np.where(upright, u - i, v - j)
    edge = np.minimum(np.minimum(on, length - on), np.minimum(side, 1 - side)) * SIZE / count
    number = (first_j * count + first_i) * 2 + upright
    return Cells(number.astype(np.int64), edge.astype(np.float32)), upright


def joint(cells: Cells, width: float) -> Grid:
    """Return 1 on the joints between cells, `width` pixels wide, falling to 0 within a pixel."""
    return np.clip(width / 2 + 0.5 - cells.inside, 0.0, 1.0)
