"""Pictures of a scene, drawn off screen, and where a displaced camera stands."""

import atexit
import contextlib
import functools
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError
from libero_safety.sim.gl import GLReport, NoGLError, gl_backend, load_mujoco, open_context
from libero_safety.types import FloatArray, ImageArray

if TYPE_CHECKING:
    import mujoco

__all__ = [
    "QUALITIES",
    "GLReport",
    "NoGLError",
    "Quality",
    "Vision",
    "VisionError",
    "displaced_camera",
    "gl_backend",
]

Quality: TypeAlias = Literal["fast", "good", "libero"]

VISIBLE_GROUPS = (0, 1, 2)
"""Geom groups that are seen; group 3 holds collision shapes."""
SCENERY_GROUP = 2
"""What is in it throws no shadow, only catches those of others: floors and walls fill a shadow map for nothing."""


class VisionError(LiberoSafetyError):
    """A picture that cannot be drawn or a camera that cannot be placed."""


@dataclass(frozen=True)
class _Preset:
    """Shadow map size (pixels, 0: no shadows), samples per pixel (0: one), whether shiny surfaces reflect.

    Boxes are drawn with `quads` x `quads` squares a side, round shapes with `slices` x `stacks` facets.
    """

    shadow_map: int
    samples: int
    reflections: bool
    slices: int = 28
    stacks: int = 16
    quads: int = 4


QUALITIES: dict[str, _Preset] = {
    "fast": _Preset(0, 0, reflections=False, slices=16, stacks=8, quads=2),
    "good": _Preset(768, 4, reflections=True, slices=16, stacks=8, quads=2),
    "libero": _Preset(4096, 4, reflections=True),
}
"""On a CPU triangles and the shadow map are most of the cost: with shadows everything is drawn three times.
`libero` is what LIBERO draws with (MuJoCo's defaults)."""


_QUALITY = ("shadowsize", "offsamples", "numslices", "numstacks", "numquads")


class Vision:
    """Draws pictures of one model after another through a single OpenGL context.

    Only geoms of the visible groups are drawn: no collision shapes, sites, joints or other helpers.
    Use it from the thread that made it.
    """

    def __init__(self, width: int = 256, height: int = 256, quality: Quality = "good") -> None:
        """Open the context.

        Args:
            width: pixels.
            height: pixels.
            quality: a name in `QUALITIES`.

        Raises:
            NoGLError: nothing here can draw.
            UnknownNameError: no such quality.
        """
        if quality not in QUALITIES:
            raise UnknownNameError("render quality", quality, QUALITIES)
        self._mj = load_mujoco()
        self._preset = QUALITIES[quality]
        self._width, self._height = width, height
        self._option = self._mj.MjvOption()
        self._option.geomgroup[:] = [group in VISIBLE_GROUPS for group in range(len(self._option.geomgroup))]
        self._option.sitegroup[:] = 0
        self._model: mujoco.MjModel | None = None
        self._scene: mujoco.MjvScene | None = None
        self._pixels: mujoco.MjrContext | None = None
        self._scenery: list[mujoco.MjvGeom] | None = None
        self._gl = open_context(width, height)
        # Registered after the context exists, so that it runs before EGL is shut down at interpreter exit.
        self._at_exit = functools.partial(_close_if_alive, weakref.ref(self))
        atexit.register(self._at_exit)

    def load(self, model: "mujoco.MjModel") -> None:
        """Draw this model from now on; what the last one held on the graphics device is freed.

        The model is left as it was, its own render quality and off-screen size included.

        Raises:
            VisionError: it is closed.
        """
        self._current()
        self._free_model()
        mj, preset = self._mj, self._preset
        quality, buffer = model.vis.quality, model.vis.global_
        before = [getattr(quality, name) for name in _QUALITY], buffer.offwidth, buffer.offheight
        wanted = preset.shadow_map, preset.samples, preset.slices, preset.stacks, preset.quads
        _assign(quality, wanted)
        buffer.offwidth, buffer.offheight = self._width, self._height
        try:
            self._pixels = mj.MjrContext(model, mj.mjtFontScale.mjFONTSCALE_50)
        finally:
            values, buffer.offwidth, buffer.offheight = before
            _assign(quality, values)
        mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN, self._pixels)
        scene = mj.MjvScene(model, maxgeom=model.ngeom + model.nskin + model.nflex + 100)
        scene.flags[mj.mjtRndFlag.mjRND_SHADOW] = preset.shadow_map > 0
        scene.flags[mj.mjtRndFlag.mjRND_REFLECTION] = preset.reflections
        self._model, self._scene = model, scene

    def render(
        self,
        data: "mujoco.MjData",
        camera: "str | int | mujoco.MjvCamera",
        width: int | None = None,
        height: int | None = None,
    ) -> ImageArray:
        """Return a new upright RGB picture, shape (height, width, 3).

        Args:
            data: of the loaded model, its kinematics up to date (`mj_forward`).
            camera: name or id of a camera in the model, or a free camera.
            width: pixels, when other than usual.
            height: pixels, when other than usual.

        Raises:
            VisionError: it is closed, or no model is loaded.
            UnknownNameError: the model has no such camera.
        """
        self._current()
        if self._model is None or self._scene is None or self._pixels is None:
            raise VisionError("no model to draw: call load(model) first")
        mj, pixels = self._mj, self._pixels
        width, height = width or self._width, height or self._height
        if width > pixels.offWidth or height > pixels.offHeight:
            mj.mjr_resizeOffscreen(max(width, pixels.offWidth), max(height, pixels.offHeight), pixels)
        view = camera if isinstance(camera, mj.MjvCamera) else self._view(self._model, camera)
        everything = int(mj.mjtCatBit.mjCAT_ALL)
        mj.mjv_updateScene(self._model, data, self._option, None, view, everything, self._scene)
        self._keep_scenery_from_throwing_shadows(self._model, self._scene)
        image: ImageArray = np.empty((height, width, 3), dtype=np.uint8)
        rect = mj.MjrRect(0, 0, width, height)
        mj.mjr_render(rect, self._scene, pixels)
        mj.mjr_readPixels(image, None, rect, pixels)
        return image[::-1].copy()

    def close(self) -> None:
        """Free everything; may be called any number of times."""
        gl, self._gl = self._gl, None
        if gl is None:
            return
        atexit.unregister(self._at_exit)
        gl.make_current()
        self._free_model()
        gl.free()

    def __enter__(self) -> "Vision":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_gl", None) is not None:
            with contextlib.suppress(Exception):
                self.close()

    def _current(self) -> None:
        if self._gl is None:
            raise VisionError("this Vision is closed; make a new one")
        self._gl.make_current()

    def _keep_scenery_from_throwing_shadows(self, model: "mujoco.MjModel", scene: "mujoco.MjvScene") -> None:
        """Declare scenery to be decoration, as MuJoCo does helper shapes; every update of the scene undoes it."""
        mj = self._mj
        if self._scenery is None:  # A model's geoms are at the same places of the list in every picture.
            geoms = [g for g in scene.geoms[: scene.ngeom] if g.objtype == mj.mjtObj.mjOBJ_GEOM]
            self._scenery = [g for g in geoms if model.geom_group[g.objid] == SCENERY_GROUP]
        for geom in self._scenery:
            geom.category = mj.mjtCatBit.mjCAT_DECOR

    def _free_model(self) -> None:
        if self._pixels is not None:
            self._pixels.free()
        self._model = self._scene = self._pixels = self._scenery = None

    def _view(self, model: "mujoco.MjModel", camera: str | int) -> "mujoco.MjvCamera":
        mj = self._mj
        found = mj.mj_name2id(model, mj.mjtObj.mjOBJ_CAMERA, camera) if isinstance(camera, str) else camera
        if not 0 <= found < model.ncam:
            known = [model.camera(i).name or str(i) for i in range(model.ncam)]
            raise UnknownNameError("camera", str(camera), known)
        view = mj.MjvCamera()
        view.type, view.fixedcamid = int(mj.mjtCamera.mjCAMERA_FIXED), found
        return view


def _assign(quality: "mujoco.MjVisual.Quality", values: Sequence[int]) -> None:
    for name, value in zip(_QUALITY, values, strict=True):
        setattr(quality, name, value)


def _close_if_alive(reference: "weakref.ref[Vision]") -> None:
    vision = reference()
    if vision is not None:
        vision.close()


def displaced_camera(
    pos: FloatArray,
    quat: FloatArray,
    look_at: FloatArray,
    *,
    yaw: float = 0.0,
    pitch: float = 0.0,
    roll: float = 0.0,
    scale: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return position (3,) and orientation (4,) of a camera swung around a point.

    The camera turns with the swing as if fixed to a rod from the pivot, so a pivot in the middle of the
    picture stays there.

    Args:
        pos: of the camera (m).
        quat: of the camera (w, x, y, z); it looks along its -z axis with x to the right and y up.
        look_at: the pivot (m), in the frame of `pos`, whose z axis is vertical.
        yaw: swing about the vertical through the pivot (rad); positive is counter-clockwise seen from above.
        pitch: swing about the horizontal through the pivot that runs along the picture (rad); positive raises
            the camera.
        roll: turn about its own view axis (rad); positive is counter-clockwise seen from behind the camera.
        scale: factor on the distance to the pivot.

    Raises:
        VisionError: the scale is not positive.
    """
    if not scale > 0.0:
        raise VisionError(f"camera scale {scale:g} must be more than 0: it multiplies the distance")
    right, up, _ = np.eye(3)
    axis = _horizontal(_rotate(quat, right), _rotate(quat, up))
    swing = _product(_turn((0.0, 0.0, 1.0), yaw), _turn(axis, -pitch))
    moved = look_at + scale * _rotate(swing, pos - look_at)
    turned = _product(_product(swing, quat), _turn((0.0, 0.0, 1.0), roll))
    return moved, turned / np.linalg.norm(turned)


def _horizontal(right: FloatArray, up: FloatArray) -> tuple[float, float, float]:
    """Return the horizontal unit vector along the picture; a camera on its side has its up axis there."""
    x, y = right[:2] if math.hypot(right[0], right[1]) > 1e-6 else -up[:2]
    length = math.hypot(x, y)
    return float(x / length), float(y / length), 0.0


def _turn(axis: tuple[float, float, float], angle: float) -> FloatArray:
    """Return the quaternion of a turn about a unit axis."""
    return np.array((math.cos(angle / 2), *(math.sin(angle / 2) * a for a in axis)))


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the quaternion that turns by b, then by a."""
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    return np.array((scalar, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))))


def _rotate(quat: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the vector turned by a unit quaternion."""
    twice = 2.0 * np.cross(quat[1:], vector)
    return vector + quat[0] * twice + np.cross(quat[1:], twice)
