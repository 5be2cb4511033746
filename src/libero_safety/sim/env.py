"""One episode's physics: reset, step at 20 Hz (25 physics steps each), observe."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import mujoco
import numpy as np

from libero_safety.assets.catalog import Catalog, default_catalog
from libero_safety.errors import LiberoSafetyError
from libero_safety.mujoco_log import no_log_file
from libero_safety.sim import frames, predicate
from libero_safety.sim.compose import ModelCache, build_scene
from libero_safety.sim.control import CONTROLLERS, OperationalSpaceController
from libero_safety.sim.corrupt import apply_noises
from libero_safety.sim.reaction import Reactions
from libero_safety.sim.scene import Scene, SceneError
from libero_safety.sim.vision import Quality, Vision
from libero_safety.types import (
    ACTION_SIZE,
    SETTLE_STEPS,
    SUBSTEPS,
    FloatArray,
    ImageArray,
    Observation,
)
from libero_safety.ubddl.sample import Draw
from libero_safety.ubddl.spec import Scenario
from libero_safety.ubddl.words import CAMERAS

WRIST_CAMERA = CAMERAS[1]
IDLE_ACTION = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""Stay put, gripper open."""

_UNSTABLE = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)
_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


class UnstableSimulationError(LiberoSafetyError):
    """The physics blew up: neither a success nor a collision, the episode cannot be judged."""


class ActionError(LiberoSafetyError):
    """An action that is not seven finite numbers; nothing was executed."""


class SubstepHook(Protocol):
    """Something that looks at every physics step."""

    def after_substep(self, scene: Scene, data: mujoco.MjData) -> None:
        """Called after each physics step; contacts, forces and geometry are those of that step."""
        ...


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that a bit-equal continuation needs; made by `Env.snapshot`."""

    scene: Scene
    data: mujoco.MjData
    controller: FloatArray
    reactions: FloatArray
    steps: int


class Env:
    """Physics, controller, prescribed motion and cameras of one robot in one scene at a time.

    Attributes:
        hooks: called after every physics step of `step`, in order; not while settling.
        steps: control steps since the reset.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        image_size: int = 256,
        quality: Quality = "good",
        render: bool = True,
    ) -> None:
        """Make an empty environment.

        Args:
            catalog: where types and arenas come from; the built-in one by default.
            image_size: pixels of the square camera images.
            quality: rendering preset, see `vision.QUALITIES`.
            render: False leaves `Observation.images` empty, and needs no GL library.
        """
        no_log_file()
        self._catalog = catalog or default_catalog()
        self._image_size, self._render = image_size, render
        self._quality: Quality = quality
        self._models = ModelCache()
        self._vision: Vision | None = None
        self._scene: Scene | None = None
        self._drawn: Scene | None = None
        self.hooks: list[SubstepHook] = []
        self.steps = 0

    @property
    def scene(self) -> Scene:
        """The scene of the last reset."""
        if self._scene is None:
            raise SceneError("the environment has no scene yet: call reset(draw) first")
        return self._scene

    @property
    def catalog(self) -> Catalog:
        """Where types and arenas come from."""
        return self._catalog

    @property
    def scenario(self) -> Scenario:
        """The scenario of the last reset, every number drawn."""
        return self.scene.scenario

    @property
    def data(self) -> mujoco.MjData:
        """The physics state; derived quantities are up to date."""
        return self._data

    @property
    def time_s(self) -> float:
        """Simulated seconds since the episode began."""
        return float(self._data.time)

    def reset(self, draw: Draw, *, settle_steps: int = SETTLE_STEPS) -> None:
        """Build the scene of `draw`, let it settle with an idle open gripper, and set the clock to zero.

        Moving hazards wait at their start while the scene settles.

        Raises:
            SceneError: the scenario cannot be built, or its goal names something that is not there.
            UnstableSimulationError: the scene explodes while settling (things placed inside each other).
        """
        scene = build_scene(draw, self._catalog, self._models)
        preset = scene.scenario.robot.controller
        if preset not in CONTROLLERS:
            raise SceneError(f"unknown controller {preset!r}. Known: {', '.join(CONTROLLERS)}")
        data = mujoco.MjData(scene.model)
        data.qpos[:] = scene.start
        goal = scene.scenario.goal
        # A stuck controller of the previous scene must not survive a failed build, so all is replaced at once.
        self._scene, self._data, self.steps = scene, data, 0
        self._goal = predicate.compile_formula(scene, goal) if goal is not None else None
        self._controller = OperationalSpaceController(scene.model, scene.robot, CONTROLLERS[preset])
        self._reactions = Reactions(scene)
        self._place_hazards(0.0, moving=False)
        mujoco.mj_forward(scene.model, data)
        self._controller.reset(data)
        mujoco.mj_step1(scene.model, data)
        for _ in range(settle_steps):
            self._control_step(IDLE_ACTION, hooks=(), moving=False)
        self._check_stable()
        self._data = _awake_copy(scene.model, data)
        self._place_hazards(0.0, moving=True)
        mujoco.mj_forward(scene.model, self._data)

    def step(self, action: FloatArray) -> FloatArray:
        """Execute one action for one control step (50 ms) and return it as executed (clipped to [-1, 1]).

        Raises:
            ActionError: not seven finite numbers; the state is unchanged.
            UnstableSimulationError: the physics blew up.
        """
        values = np.asarray(action, dtype=np.float64)
        if values.shape != (ACTION_SIZE,) or not np.all(np.isfinite(values)):
            raise ActionError(
                f"an action is {ACTION_SIZE} finite numbers, not {values!r} (shape {values.shape})"
            )
        executed = np.clip(values, -1.0, 1.0)
        self._control_step(executed, self.hooks, moving=True)
        self.steps += 1
        self._check_stable()
        return executed

    def _control_step(self, action: FloatArray, hooks: Sequence[SubstepHook], moving: bool) -> None:
        scene, data, controller = self.scene, self._data, self._controller
        model = scene.model
        controller.set_goal(data, action)
        for _ in range(SUBSTEPS):
            controller.apply(data)
            mujoco.mj_step2(model, data)
            for hook in hooks:
                hook.after_substep(scene, data)
            if scene.hazards:
                if moving:
                    self._reactions.look(data)
                self._place_hazards(float(data.time) if moving else 0.0, moving)
            mujoco.mj_step1(model, data)

    def _place_hazards(self, time_s: float, moving: bool) -> None:
        """Write pose and velocity of everything that moves by prescription, before the contacts are computed."""
        qpos, qvel = self._data.qpos, self._data.qvel
        for hazard in self.scene.hazards:
            now = hazard.law.at(time_s)
            pos, dof = hazard.qpos, hazard.dof
            qpos[pos : pos + 3] = now.pos
            qpos[pos + 3 : pos + 7] = hazard.quat_at(now)
            qvel[dof : dof + 6] = 0.0
            if not moving:
                continue
            qvel[dof : dof + 3] = now.vel
            if now.turn_rate:
                qvel[dof + 3 : dof + 6] = hazard.up * now.turn_rate
            back = self._reactions.at(hazard.entity, time_s)
            if back is not None:
                qpos[pos : pos + 3] += back.offset
                qvel[dof : dof + 3] += back.velocity

    def _check_stable(self) -> None:
        for warning in _UNSTABLE:
            if self._data.warning[warning].number:
                raise UnstableSimulationError(
                    f"{self.scene.draw.key}: MuJoCo reports {warning.name[7:]} at {self.time_s:.3f} s "
                    f"(control step {self.steps})"
                )

    def goal_reached(self) -> bool:
        """Whether the goal holds now; False for a scenario without one."""
        return self._goal is not None and self._goal(self._data)

    def eef_pose(self) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of the grip site, world."""
        site = self.scene.robot.grip_site
        return np.array(self._data.site_xpos[site]), np.array(self._data.site_xmat[site]).reshape(3, 3)

    def eef_quat(self) -> FloatArray:
        """Orientation (w, x, y, z) of the flange, world: the one that LIBERO reports to policies."""
        return np.array(self._data.xquat[self.scene.robot.flange])

    def gripper(self) -> FloatArray:
        """Positions (2,) of the fingers (m)."""
        return np.array(self._data.qpos[list(self.scene.robot.finger_qpos)])

    @property
    def action_scale(self) -> tuple[float, float]:
        """Metres and radians that an action component of 1 asks for."""
        preset = CONTROLLERS[self.scene.scenario.robot.controller]
        return preset.position_scale_m, preset.rotation_scale_rad

    def frame_pose(self, name: str) -> tuple[FloatArray, FloatArray]:
        """World position (3,) and rotation (3, 3) of a frame, see `sim.frames.frame_pose`.

        Raises:
            SceneError: nothing of that name.
        """
        return frames.frame_pose(self.scene, self._data, name)

    def observe(self, *, images: bool = True) -> Observation:
        """Return what a policy may see now; without `images` nothing is rendered."""
        pos, _ = self.eef_pose()
        instruction = self.scene.scenario.instruction
        assert isinstance(instruction, str)
        views = {camera: self.image(camera) for camera in CAMERAS} if images and self._render else {}
        state = np.concatenate([pos, axis_angle(self.eef_quat()), self.gripper()])
        return Observation(views, state, instruction, self.time_s)

    def image(self, camera: str, size: tuple[int, int] | None = None, *, clean: bool = False) -> ImageArray:
        """Return the upright RGB image (height, width, 3) of a camera, with the scenario's noise unless `clean`.

        Raises:
            NoGLError: no off-screen GL library is installed.
        """
        width, height = size or (self._image_size, self._image_size)
        if self._vision is None:
            self._vision = Vision(quality=self._quality)
        if self._drawn is not self.scene:
            self._vision.load(self.scene.model)
            self._drawn = self.scene
        name = f"robot/{camera}" if camera == WRIST_CAMERA else camera
        image = self._vision.render(self._data, name, width, height)
        noises = self.scene.scenario.noises
        if clean or not noises:
            return image
        return apply_noises(image, camera, noises, self.scene.draw.key, self.steps)

    def show(self, qpos: FloatArray) -> None:
        """Pose the scene for a picture; physics does not go on from here."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self.scene.model, self._data)
        mujoco.mj_camlight(self.scene.model, self._data)

    def state_hash(self) -> int:
        """64-bit hash of the full state of physics, controller and reactions."""
        model = self.scene.model
        state = np.empty(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, self._data, state, _STATE)
        parts = (state, self._controller.state(), self._reactions.state())
        digest = hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=8)
        return int.from_bytes(digest.digest(), "little")

    def snapshot(self) -> Snapshot:
        """Return a copy of the state that `restore` continues from, bit for bit."""
        data = mujoco.MjData(self.scene.model)
        mujoco.mj_copyData(data, self.scene.model, self._data)
        return Snapshot(self.scene, data, self._controller.state(), self._reactions.state(), self.steps)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this scene: physics, controller, reactions, and with the clock motion, noise too."""
        if snapshot.scene is not self._scene:
            raise SceneError(
                "a snapshot belongs to the scene it was taken in; reset with the same draw first"
            )
        mujoco.mj_copyData(self._data, snapshot.scene.model, snapshot.data)
        self._controller.set_state(snapshot.controller)
        self._reactions.set_state(snapshot.reactions)
        self.steps = snapshot.steps

    def close(self) -> None:
        """Free the GL context, if one was made."""
        if self._vision is not None:
            self._vision.close()
            self._vision = self._drawn = None


def _awake_copy(model: mujoco.MjModel, data: mujoco.MjData) -> mujoco.MjData:
    """Return the same positions and velocities at time zero, with nothing asleep.

    What sleeps is missing from the contact list, and a rule that is broken at rest must be seen.
    """
    fresh = mujoco.MjData(model)
    fresh.qpos[:], fresh.qvel[:], fresh.ctrl[:] = data.qpos, data.qvel, data.ctrl
    return fresh


def axis_angle(quat: FloatArray) -> FloatArray:
    """Rotation vector (3,) of a (w, x, y, z) quaternion, angle in [0, 2 pi]: no antipodal flip.

    LIBERO-trained policies expect this form; flipping w < 0 changes their input.
    """
    w = float(np.clip(quat[0], -1.0, 1.0))
    sine = np.sqrt(1.0 - w * w)
    if sine < 1e-8:
        return np.zeros(3)
    return np.asarray(quat[1:] * (2.0 * np.arccos(w) / sine), dtype=np.float64)
