"""The blurs as their definitions say, slowly and in double precision: what the fast ones are measured against."""

import math

import numpy as np
from scipy import ndimage

from libero_safety.sim.corrupt import GAUSSIAN, MOTION, ZOOM
from libero_safety.types import ImageArray


def gaussian(image: ImageArray, level: int) -> np.ndarray:
    """SciPy's Gaussian filter, edges repeated, cut at four standard deviations."""
    sigma = GAUSSIAN[level - 1]
    return ndimage.gaussian_filter(image.astype(float), (sigma, sigma, 0), mode="nearest", truncate=4.0)


def motion(image: ImageArray, level: int, angle_deg: float) -> np.ndarray:
    """The weighted sum of the image shifted along a line, pixel by pixel."""
    radius, sigma = MOTION[level - 1]
    width = 2 * radius + 1
    weights = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(width)]
    height, length, _ = image.shape
    out = np.zeros(image.shape)
    for i, weight in enumerate(weights):
        down = math.ceil(i * math.sin(math.radians(angle_deg)) - 0.5)
        right = math.ceil(i * math.cos(math.radians(angle_deg)) - 0.5)
        rows = np.clip(np.arange(height) + down, 0, height - 1)
        columns = np.clip(np.arange(length) + right, 0, length - 1)
        out += weight / sum(weights) * image[rows][:, columns]
    return out


def zoom(image: ImageArray, level: int) -> np.ndarray:
    """The mean of the image and its magnified copies; each is a crop that SciPy enlarges and that is trimmed."""
    end, step = ZOOM[level - 1]
    factors = np.arange(1, end, step)
    return (image + sum(_magnified(image.astype(float), factor) for factor in factors)) / (len(factors) + 1)


def _magnified(image: np.ndarray, factor: float) -> np.ndarray:
    height, width, _ = image.shape
    crop_h, crop_w = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - crop_h) // 2, (width - crop_w) // 2
    crop = image[top : top + crop_h, left : left + crop_w]
    enlarged = ndimage.zoom(crop, (factor, factor, 1), order=1, mode="nearest")
    trim_y, trim_x = (enlarged.shape[0] - height) // 2, (enlarged.shape[1] - width) // 2
    return enlarged[trim_y : trim_y + height, trim_x : trim_x + width]
