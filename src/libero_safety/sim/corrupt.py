"""Sensor corruptions: pure functions (image, severity, generator) -> image.

Severity 0 leaves the image alone; 1 to 10 is the scale of LIBERO-Safety's released noise settings, on which
Gaussian blur of severity 1 does not yet change a byte. Level 10 is about level 2 of ImageNet-C (Hendrycks &
Dietterich, ICLR 2019) for Gaussian and zoom blur, 2 to 3 for glass, below level 1 for motion blur and fog.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError
from libero_safety.types import ImageArray
from libero_safety.ubddl import spec

Corruption: TypeAlias = Callable[[ImageArray, float, np.random.Generator], ImageArray]
_Floats: TypeAlias = NDArray[np.floating]

MAX_SEVERITY = 10


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


GAUSSIAN = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
"""Standard deviation (pixels) by severity."""
MOTION = tuple(
    _Motion(*row)
    for row in (
        (1, 0.5), (1, 1.0), (2, 1.0), (2, 1.5), (3, 1.5), (3, 2.0), (4, 2.0), (4, 2.5), (5, 2.5), (6, 3.0),
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
    )
)  # fmt: skip
"""Magnifications from 1 up to, not including, the end, in steps."""
FOG = tuple(
    _Fog(*row)
    for row in (
        (0.1, 3.0), (0.2, 3.0), (0.3, 2.8), (0.4, 2.8), (0.5, 2.5),
        (0.6, 2.5), (0.7, 2.2), (0.8, 2.0), (0.9, 2.0), (1.0, 1.8),
    )
)  # fmt: skip
"""Density (brightness of the thickest fog, 1: white) and how fast detail fades from octave to octave."""
GLASS = tuple(
    _Glass(*row)
    for row in (
        (0.1, 1, 1), (0.2, 1, 1), (0.3, 1, 1), (0.4, 1, 2), (0.5, 1, 2),
        (0.6, 1, 2), (0.7, 2, 1), (0.8, 2, 1), (0.9, 2, 2), (1.0, 2, 2),
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
    rows = np.rint(steps * math.sin(angle)).astype(int)
    columns = np.rint(steps * math.cos(angle)).astype(int)
    reach = 2 * radius
    padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)), mode="edge").astype(np.float32)
    height, width, _ = image.shape
    total = np.zeros(image.shape, dtype=np.float32)
    for row, column, weight in zip(rows + reach, columns + reach, weights / weights.sum(), strict=True):
        total += np.float32(weight) * padded[row : row + height, column : column + width]
    return _to_bytes(total)


def zoom_blur(image: ImageArray, severity: float, rng: np.random.Generator) -> ImageArray:
    """The mean of the image and of magnified copies of it about its centre. Draws nothing."""
    level = _level(image, severity)
    if not level:
        return image
    end, step = ZOOM[level - 1]
    height, width, _ = image.shape
    picture = Image.fromarray(image)
    # The magnification of 1 is counted beside the image itself, as in the original definition.
    total = image.astype(np.uint16) * 2
    factors = 1.0 + step * np.arange(1, math.ceil((end - 1.0) / step - 1e-6))
    for factor in factors.tolist():
        half_w, half_h = width / factor / 2, height / factor / 2
        box = (width / 2 - half_w, height / 2 - half_h, width / 2 + half_w, height / 2 + half_h)
        total += np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR, box=box))
    return _to_bytes(total / np.float32(len(factors) + 2))


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
    order = _swapped(image.shape[0], image.shape[1], reach, rounds, rng)
    shuffled = blurred.reshape(-1, 3)[order].reshape(image.shape)
    return _to_bytes(_blur(shuffled, sigma))


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_blur": gaussian_blur,
    "motion_blur": motion_blur,
    "zoom_blur": zoom_blur,
    "fog": fog,
    "glass_blur": glass_blur,
}


def apply_noises(
    image: ImageArray, camera: str, noises: Sequence[spec.Noise], rng: np.random.Generator
) -> ImageArray:
    """Return the image with every noise of this camera applied, one on top of the other in the order written.

    Each kind has a child generator of its own, so that changing or adding one noise moves no other. The
    result may be `image` itself when nothing applies; `image` is never changed.

    Args:
        image: (height, width, 3) uint8.
        camera: whose image it is; a noise without cameras is for all.
        noises: severities must be numbers by now, not distributions.
        rng: of this camera at this time.

    Raises:
        UnknownNameError: no such kind of noise.
        CorruptionError: a severity outside 0 to 10 or not drawn yet.
    """
    streams = dict(zip(CORRUPTIONS, rng.spawn(len(CORRUPTIONS)), strict=True))
    for noise in noises:
        if noise.kind not in CORRUPTIONS:
            raise UnknownNameError("noise", noise.kind, CORRUPTIONS)
        if isinstance(noise.severity, spec.Uniform | spec.Choice):
            raise CorruptionError(
                f"{noise.place}: severity of {noise.kind} is still {noise.severity}; draw it"
            )
        if not noise.cameras or camera in noise.cameras:
            image = CORRUPTIONS[noise.kind](image, noise.severity, streams[noise.kind])
    return image


def _level(image: ImageArray, severity: float) -> int:
    """Return the row of the tables, counted from 1; a fraction goes to the nearest."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CorruptionError(f"an image is (height, width, 3) uint8, got {image.shape} {image.dtype}")
    if not 0 <= severity <= MAX_SEVERITY:
        raise CorruptionError(f"severity {severity:g} is outside 0 to {MAX_SEVERITY}")
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


def _swapped(height: int, width: int, reach: int, rounds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return, for every pixel, the number of the pixel that is there after random swaps with neighbours.

    Pixels 2 * reach apart cannot meet in one swap, so all of them are swapped at once.
    """
    order = np.arange(height * width)
    numbers = np.arange(height * width).reshape(height, width)
    for _ in range(rounds):
        offsets = rng.integers(-reach, reach, size=(2, height, width), dtype=np.int8)
        rows = np.clip(offsets[0] + np.arange(height)[:, None], 0, height - 1)
        columns = np.clip(offsets[1] + np.arange(width), 0, width - 1)
        partners = rows * width + columns
        for top in range(2 * reach):
            for left in range(2 * reach):
                here = numbers[top :: 2 * reach, left :: 2 * reach].ravel()
                there = partners[top :: 2 * reach, left :: 2 * reach].ravel()
                order[here], order[there] = order[there], order[here]
    return order
