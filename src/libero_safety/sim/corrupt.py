"""Sensor corruptions: pure functions (image, severity, generator) -> image.

Severity 0 leaves the image alone. 1 to 10 is the scale of LIBERO-Safety's released noise settings, on which Gaussian
blur of severity 1 does not yet change a byte; 11 to 15 are severities 1 to 5 of ImageNet-C (Hendrycks & Dietterich,
ICLR 2019). They are two scales, one after the other: 10 is about 12 for Gaussian and zoom blur, 12 to 13 for glass
blur, and less than 11 for motion blur and fog.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libero_safety.errors import LiberoSafetyError
from libero_safety.numba_cache import njit
from libero_safety.registry import UnknownNameError
from libero_safety.rng import rng_for
from libero_safety.types import ImageArray, Key
from libero_safety.ubddl import spec
from libero_safety.ubddl.number import MAX_SEVERITY

Corruption: TypeAlias = Callable[[ImageArray, float, np.random.Generator], ImageArray]
_Floats: TypeAlias = NDArray[np.floating]


class CorruptionError(LiberoSafetyError):
    """A severity off the scale, or an image of the wrong kind."""


class _Motion(NamedTuple):
    radius: int
    sigma: float


class _Zoom(NamedTuple):
    end: float
    step: float


class _Fog(NamedTuple):
    density: float
    decay: float


class _Glass(NamedTuple):
    sigma: float
    reach: int
    rounds: int


GAUSSIAN = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 1.0, 2.0, 3.0, 4.0, 6.0)
"""Standard deviation (pixels) by severity."""
MOTION = tuple(
    _Motion(*row)
    for row in (
        (1, 0.5), (1, 1.0), (2, 1.0), (2, 1.5), (3, 1.5), (3, 2.0), (4, 2.0), (4, 2.5), (5, 2.5), (6, 3.0),
        (10, 3.0), (15, 5.0), (15, 8.0), (15, 12.0), (20, 15.0),
    )
)  # fmt: skip
"""Radius (2 r + 1 samples along the streak) and standard deviation (pixels) by severity."""
MOTION_ANGLE_DEG = 45.0
"""The streak points this far, at most, from the horizontal."""
ZOOM = tuple(
    _Zoom(*row)
    for row in (
        (1.02, 0.002), (1.03, 0.003), (1.04, 0.004), (1.05, 0.005), (1.06, 0.006),
        (1.07, 0.007), (1.08, 0.008), (1.10, 0.009), (1.12, 0.010), (1.15, 0.010),
        (1.11, 0.010), (1.16, 0.010), (1.21, 0.020), (1.26, 0.020), (1.31, 0.030),
    )
)  # fmt: skip
"""Magnifications by severity: `numpy.arange(1, end, step)`, which now and then reaches the end."""
FOG = tuple(
    _Fog(*row)
    for row in (
        (0.1, 3.0), (0.2, 3.0), (0.3, 2.8), (0.4, 2.8), (0.5, 2.5),
        (0.6, 2.5), (0.7, 2.2), (0.8, 2.0), (0.9, 2.0), (1.0, 1.8),
        (1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4),
    )
)  # fmt: skip
"""Density (brightness of the thickest fog, 1: white) and how fast detail fades from octave to octave."""
GLASS = tuple(
    _Glass(*row)
    for row in (
        (0.1, 1, 1), (0.2, 1, 1), (0.3, 1, 1), (0.4, 1, 2), (0.5, 1, 2),
        (0.6, 1, 2), (0.7, 2, 1), (0.8, 2, 1), (0.9, 2, 2), (1.0, 2, 2),
        (0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2),
    )
)  # fmt: skip
"""Blur before and after (pixels), how far pixels are swapped (pixels), and how often."""


def gaussian_blur(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """Defocus: an isotropic Gaussian. Draws nothing."""
    level = _level(image, severity)
    return _to_bytes(_blur(image, GAUSSIAN[level - 1])) if level else image


def motion_blur(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """A one-sided streak with half-Gaussian weights, as of a camera that starts to move; draws the angle."""
    level = _level(image, severity)
    if not level:
        return image
    radius, sigma = MOTION[level - 1]
    angle = math.radians(rng.uniform(-MOTION_ANGLE_DEG, MOTION_ANGLE_DEG))
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    rows = np.ceil(steps * math.sin(angle) - 0.5).astype(int)
    columns = np.ceil(steps * math.cos(angle) - 0.5).astype(int)
    reach = 2 * radius
    padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)), mode="edge").astype(np.float32)
    height, width, _ = image.shape
    total = np.zeros(image.shape, dtype=np.float32)
    for row, column, weight in zip(rows + reach, columns + reach, weights / weights.sum(), strict=True):
        total += np.float32(weight) * padded[row : row + height, column : column + width]
    return _to_bytes(total)


def zoom_blur(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """The mean of the image and of magnified copies of it. Draws nothing.

    The copies are those of ImageNet-C: a crop about the centre, enlarged corner to corner, trimmed to size.
    """
    level = _level(image, severity)
    if not level:
        return image
    end, step = ZOOM[level - 1]
    factors = np.arange(1.0, end, step)
    height, width, _ = image.shape
    total = _zoomed_sum(image.astype(np.float32), _sources(height, factors), _sources(width, factors))
    return _to_bytes((total + image) / np.float32(len(factors) + 1))


def fog(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """Bright patches of all sizes over the image, contrast reduced to make room; draws the patches."""
    level = _level(image, severity)
    if not level:
        return image
    density, decay = FOG[level - 1]
    height, width, _ = image.shape
    patches = _plasma(max(height, width), decay, rng)[:height, :width, None]
    brightest = float(image.max())
    room = brightest / (brightest + 255.0 * density)
    return _to_bytes((image + (255.0 * density) * patches) * np.float32(room))


def glass_blur(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """Frosted glass: blur, swap neighbouring pixels, blur again; draws the swaps."""
    level = _level(image, severity)
    if not level:
        return image
    sigma, reach, rounds = GLASS[level - 1]
    blurred = _to_bytes(_blur(image, sigma))
    height, width, _ = image.shape
    offsets = rng.integers(-reach, reach, size=(rounds, height, width, 2), dtype=np.int8)
    shuffled = _swapped(blurred, offsets, reach)
    return _to_bytes(_blur(shuffled, sigma))


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_blur": gaussian_blur,
    "motion_blur": motion_blur,
    "zoom_blur": zoom_blur,
    "fog": fog,
    "glass_blur": glass_blur,
}
STEADY = frozenset({"motion_blur"})
"""Kinds whose draws hold for a whole episode; the others draw anew for every frame."""


def apply_noises(
    image: ImageArray, camera: str, noises: Sequence[spec.Noise], key: Key, step: int
) -> ImageArray:
    """Return the image with every noise of this camera applied, one on top of the other in the order written.

    Each kind and camera has a stream of its own, `noise/<kind>/<camera>` for what holds for the episode (the
    direction of motion blur) and `noise/<kind>/<camera>/<step>` for what changes from frame to frame (fog, glass).
    So changing or adding one noise moves no other, and a policy that looks less often sees the same when it looks.
    The result may be `image` itself when nothing applies; `image` is never changed.

    Args:
        image: (height, width, 3) uint8.
        camera: whose image it is; a noise without cameras is for all.
        noises: severities must be numbers by now, not distributions.
        key: of the episode.
        step: control steps since the reset.

    Raises:
        UnknownNameError: no such kind of noise.
        CorruptionError: a severity off the scale or not drawn yet.
    """
    for noise in noises:
        if noise.kind not in CORRUPTIONS:
            raise UnknownNameError("noise", noise.kind, CORRUPTIONS)
        if isinstance(noise.severity, spec.Uniform | spec.Choice):
            raise CorruptionError(
                f"{noise.place}: severity of {noise.kind} is still {noise.severity}; draw it"
            )
        if not noise.cameras or camera in noise.cameras:
            stream = f"noise/{noise.kind}/{camera}" + ("" if noise.kind in STEADY else f"/{step}")
            image = CORRUPTIONS[noise.kind](image, noise.severity, rng_for(key, stream))
    return image


def _level(image: ImageArray, severity: float) -> int:
    """Return the row of the tables, counted from 1; a fraction goes to the nearest."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CorruptionError(f"an image is (height, width, 3) uint8, got {image.shape} {image.dtype}")
    if not 0 <= severity <= MAX_SEVERITY:
        raise CorruptionError(f"severity {severity:g} is outside 0 to {MAX_SEVERITY:g}")
    return math.floor(severity + 0.5)


def _to_bytes(values: _Floats) -> ImageArray:
    return (np.clip(values, 0.0, 255.0) + np.float32(0.5)).astype(np.uint8)


def _blur(image: ImageArray, sigma: float) -> _Floats:
    """Return the image under a Gaussian cut at four standard deviations, edges repeated."""
    # Here, because it is a quarter of the import time and 20 MB of a process that mostly needs no blur.
    from scipy import ndimage

    radius = int(4.0 * sigma + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    down = ndimage.correlate1d(image, kernel, axis=0, output=np.float32, mode="nearest")
    blurred: _Floats = ndimage.correlate1d(down, kernel, axis=1, output=np.float32, mode="nearest")
    return blurred


def _plasma(size: int, decay: float, rng: np.random.Generator) -> _Floats:
    """Return a square of at least `size` pixels of diamond-square noise between 0 and 1 that wraps around."""
    size = 1 << max(1, math.ceil(math.log2(size)))
    field = np.zeros((size, size), dtype=np.float32)
    step, amplitude = size, 1.0
    while step > 1:
        half = step // 2

        def jitter(count: int = size // step, height: float = amplitude) -> _Floats:
            return (rng.random((count, count), dtype=np.float32) - 0.5) * np.float32(height)

        corners = field[::step, ::step]
        pairs = corners + np.roll(corners, -1, 1)
        centers = field[half::step, half::step]
        centers[:] = (pairs + np.roll(pairs, -1, 0)) / 4 + jitter()
        field[::step, half::step] = (pairs + centers + np.roll(centers, 1, 0)) / 4 + jitter()
        beside = corners + np.roll(corners, -1, 0)
        field[half::step, ::step] = (beside + centers + np.roll(centers, 1, 1)) / 4 + jitter()
        step, amplitude = half, amplitude / decay**2
    field -= field.min()
    return field / max(float(field.max()), 1e-9)


def _sources(size: int, factors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (factor, pixel): where along one axis a pixel of each magnified copy comes from, in pixels."""
    crop = np.ceil(size / factors)
    enlarged = np.maximum(np.rint(crop * factors), 2)
    pitch = (crop - 1) / (enlarged - 1)
    first = (size - crop) // 2 + (enlarged - size) // 2 * pitch
    places = first[:, None] + pitch[:, None] * np.arange(size)
    return np.clip(places, 0, size - 1).astype(np.float32)


@njit
def _zoomed_sum(
    image: NDArray[np.float32], rows: NDArray[np.float32], columns: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the sum of the copies of `image` whose pixel (y, x) lies at (rows[k, y], columns[k, x]), bilinear."""
    height, width, _ = image.shape
    total = np.zeros_like(image)
    line = np.empty_like(image[0])
    for y in range(height):
        for k in range(len(rows)):
            top = int(rows[k, y])
            bottom = min(top + 1, height - 1)
            down = rows[k, y] - np.float32(top)
            for x in range(width):
                for c in range(3):
                    line[x, c] = image[top, x, c] + down * (image[bottom, x, c] - image[top, x, c])
            for x in range(width):
                left = int(columns[k, x])
                right = min(left + 1, width - 1)
                across = columns[k, x] - np.float32(left)
                for c in range(3):
                    total[y, x, c] += line[left, c] + across * (line[right, c] - line[left, c])
    return total


@njit
def _swapped(image: ImageArray, offsets: NDArray[np.int8], reach: int) -> ImageArray:
    """Return a copy in which, round by round and last pixel first, each pixel trades places with a neighbour.

    Args:
        image: (height, width, 3).
        offsets: (round, height, width, 2), rows and columns to the neighbour, from -reach to reach - 1.
        reach: the rim of this width starts no trade.
    """
    height, width, _ = image.shape
    out = image.copy()
    for moves in offsets:
        for y in range(height - reach, reach, -1):
            for x in range(width - reach, reach, -1):
                row, column = y + moves[y, x, 0], x + moves[y, x, 1]
                for c in range(3):
                    out[y, x, c], out[row, column, c] = out[row, column, c], out[y, x, c]
    return out
