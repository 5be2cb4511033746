"""Pictures of assets by themselves, all from the same side and each filling its picture."""

import math
from collections.abc import Iterator, Sequence

import mujoco
import numpy as np

from libero_safety.assets.asset import Asset
from libero_safety.assets.geometry import rotate, shape_bounds
from libero_safety.sim.build import add_asset
from libero_safety.sim.vision import Quality, Vision
from libero_safety.types import FloatArray, ImageArray, Pose

BATCH = 24
"""Assets in one model: a context for each picture would cost more than the picture."""
APART_M = 8.0
AZIMUTH_DEG, ELEVATION_DEG, FOVY_DEG = 150.0, -28.0, 30.0
"""The view is from the side of the robot's front camera, a little to the right and above."""
MARGIN = 1.08
_GROUND = (0.83, 0.83, 0.81, 1.0)


def portraits(
    assets: Sequence[Asset],
    size: int = 160,
    quality: Quality = "good",
    azimuths_deg: Sequence[float] = (AZIMUTH_DEG,),
) -> Iterator[ImageArray]:
    """Yield pictures (size, size, 3) of each asset, joints closed, standing on a plain ground: one from each azimuth.

    Raises:
        NoGLError: nothing here can draw.
    """
    with Vision(size, size, quality) as vision:
        for start in range(0, len(assets), BATCH):
            some = assets[start : start + BATCH]
            model = _studio(some)
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            vision.load(model)
            for index, asset in enumerate(some):
                for azimuth in azimuths_deg:
                    yield vision.render(data, _view(asset, index, azimuth))


def _studio(assets: Sequence[Asset]) -> mujoco.MjModel:
    out = mujoco.MjSpec()
    out.visual.global_.fovy = FOVY_DEG
    out.stat.extent, out.stat.center = 1.0, (0.0, 0.0, 0.0)
    out.visual.map.znear, out.visual.map.zfar = 0.01, 20.0
    out.visual.headlight.ambient, out.visual.headlight.diffuse = (0.35,) * 3, (0.35,) * 3
    out.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        dir=(-0.4, 0.5, -1.0),
        diffuse=(0.5,) * 3,
        castshadow=False,
    )
    for index, asset in enumerate(assets):
        low, _ = _box(asset)
        out.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(3.0, 3.0, 0.01),
            pos=(index * APART_M, 0.0, low[2] - 0.01),
            rgba=_GROUND,
        )
        add_asset(out, f"{index}", asset, Pose((index * APART_M, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)), free=False)
    return out.compile()


def _view(asset: Asset, index: int, azimuth_deg: float) -> mujoco.MjvCamera:
    low, high = _box(asset)
    camera = mujoco.MjvCamera()
    camera.lookat = (low + high) / 2 + (index * APART_M, 0.0, 0.0)
    camera.distance = MARGIN * float(np.linalg.norm(high - low)) / 2 / math.sin(math.radians(FOVY_DEG) / 2)
    camera.azimuth, camera.elevation = azimuth_deg, ELEVATION_DEG
    return camera


def _box(asset: Asset) -> tuple[FloatArray, FloatArray]:
    """Return the corners (m) of the box around everything that is seen or felt, root frame."""
    boxes: list[tuple[FloatArray, FloatArray]] = []
    for link in asset.links:
        for shape in link.shapes:
            low, high = (np.array(corner) for corner in shape_bounds([shape]))
            corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
            if link.joint is not None:
                corners = np.array([np.add(rotate(link.quat, tuple(c)), link.pos) for c in corners.tolist()])
            boxes.append((corners.min(axis=0), corners.max(axis=0)))
    return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
