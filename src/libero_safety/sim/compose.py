"""Scenario + draw + catalog -> scene: what is in it is compiled, where it stands is written afterwards."""

import copy
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

import mujoco
import numpy as np

from libero_safety.assets.arenas import Arena
from libero_safety.assets.asset import Asset, Quat
from libero_safety.assets.catalog import Catalog
from libero_safety.assets.geometry import (
    bounds,
    footprint,
    in_root,
    moved,
    quat_about,
    quat_multiply,
    shape_bounds,
)
from libero_safety.rng import rng_for
from libero_safety.sim.build import add_asset
from libero_safety.sim.motion import compile_motion, compile_retreat
from libero_safety.sim.robot import FINGER_START_QPOS, HOME_QPOS, RobotIds, resolve, robot_spec, set_physics
from libero_safety.sim.room import add_arena
from libero_safety.sim.scene import EntityIds, Hazard, JointIds, Scene, SceneError, joints_of
from libero_safety.sim.vision import displaced_camera
from libero_safety.types import FloatArray, Pose
from libero_safety.ubddl import spec
from libero_safety.ubddl.sample import Draw

EXTENT_M = 2.0
"""Size of the scene by which MuJoCo scales clipping planes."""
ORIGIN = Pose((0.0, 0.0, 0.0))
WRIST_VIEW_M = 0.15
"""How far before the wrist camera the point lies that it is turned about."""


class ModelCache:
    """The last few compiled models, by what is in them.

    Scenes of one scenario mostly differ in where things stand. Models are compiled with everything at the origin
    and poses are written afterwards, whether the model was in the cache or not: so a scene does not depend on
    what was built before it.
    """

    def __init__(self, size: int = 4) -> None:
        self._size = size
        self._models: dict[Hashable, mujoco.MjModel] = {}

    def get(self, key: Hashable, make: Callable[[], mujoco.MjModel]) -> mujoco.MjModel:
        """Return a copy of the model of `key`, making it if need be."""
        model = self._models.pop(key, None)
        if model is None:
            model = make()
        self._models[key] = model
        if len(self._models) > self._size:
            self._models.pop(next(iter(self._models)))
        return copy.copy(model)


def build_scene(draw: Draw, catalog: Catalog, cache: ModelCache | None = None) -> Scene:
    """Compile the scene of a draw, or take it from the cache, which must be of the same catalog.

    Raises:
        SceneError: MuJoCo refuses the model.
        UnknownAssetError: a type or arena that the catalog does not have.
        UnknownLookError: a look that the arena does not have.
        MotionError: a motion that cannot be carried out.
    """
    builder = _Builder(draw, catalog.arena(draw.scenario.arena), catalog)
    model = (cache or ModelCache(1)).get(builder.contents(), builder.compile)
    builder.place(model)
    return builder.resolve(model)


class _Builder:
    """Makes one scene's MjSpec and finds again in the model what it put there."""

    def __init__(self, draw: Draw, arena: Arena, catalog: Catalog) -> None:
        self.scenario, self.draw, self.arena, self.catalog = draw.scenario, draw, arena, catalog
        self.motions = {m.entity: m for m in draw.scenario.motions}
        own = (e.name for e in draw.scenario.entities if e.type in arena.workspace_types)
        self.workspace = next(own, "workspace")
        self.origin = np.array(arena.workspace_pos)
        self.assets: dict[str, Asset] = {
            entity.name: catalog.asset(str(entity.type))
            for entity in draw.scenario.entities
            if entity.name != self.workspace and entity.name in draw.poses
        }

    def contents(self) -> Hashable:
        """Return all that the model depends on; of motions, only whether there is one."""
        stirring = tuple(name for name, motion in self.motions.items() if motion.stirs)
        return replace(self.scenario, motions=()), tuple(self.assets), stirring, tuple(self.motions)

    def compile(self) -> mujoco.MjModel:
        """Arena, robot and every placed entity, each at the origin."""
        try:
            return self._spec().compile()
        except ValueError as error:
            raise SceneError(f"{self.scenario.name}: MuJoCo refuses the scene: {error}") from error

    def _spec(self) -> mujoco.MjSpec:
        out = mujoco.MjSpec()
        out.compiler.degree = False
        set_physics(out.option)
        out.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        # Near plane at 1 cm, far at 20 m: the fingers and what they hold are that close to the wrist camera.
        out.stat.extent = EXTENT_M
        out.visual.map.znear, out.visual.map.zfar = 0.01 / EXTENT_M, 20.0 / EXTENT_M
        add_arena(out, self.arena, self.scenario.looks)
        out.attach(robot_spec(), prefix="robot/", frame=out.worldbody.add_frame(pos=self.arena.robot_base))
        for name, asset in self.assets.items():
            motion = self.motions.get(name)
            moves = self.scenario.entity(name).kind == "object"
            free = moves and not (motion and not motion.stirs)
            add_asset(out, name, asset, ORIGIN, free=free, prescribed=free and motion is not None)
        self._displace_cameras(out)
        return out

    def place(self, model: mujoco.MjModel) -> None:
        """Write into the model where everything stands."""
        for name, asset in self.assets.items():
            pose = self._stand(name)
            body = model.body(f"{name}/{asset.links[0].name}").id
            model.body_pos[body], model.body_quat[body] = pose.pos, pose.quat
            joint = int(model.body_jntadr[body])
            if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                at = int(model.jnt_qposadr[joint])
                model.qpos0[at : at + 7] = [*pose.pos, *pose.quat]

    def _stand(self, name: str) -> Pose:
        """World pose of an entity, leaning as its motion says about its own axes, as high as it would be upright."""
        pose, motion = self.draw.poses[name], self.motions.get(name)
        x, y, z = (self.origin + pose.pos).tolist()
        lean = _lean(motion)
        if lean is None:
            return Pose((x, y, z), pose.quat)
        asset = self.assets[name]
        z += bounds(asset)[0][2] - _lowest_m(asset, lean)
        return Pose((x, y, z), quat_multiply(pose.quat, lean))

    def _displace_cameras(self, out: mujoco.MjSpec) -> None:
        for change in self.scenario.cameras:
            camera = next(c for c in out.cameras if c.name.removeprefix("robot/") == change.name)
            camera.pos, camera.quat = displaced_camera(
                np.array(camera.pos),
                np.array(camera.quat),
                self._look_at(camera),
                yaw=drawn(change.yaw),
                pitch=drawn(change.pitch),
                roll=drawn(change.roll),
                scale=drawn(change.scale),
            )

    def _look_at(self, camera: mujoco.MjsCamera) -> FloatArray:
        """What a camera turns about: where its axis meets the workspace, for the wrist camera the grip."""
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, np.array(camera.quat))
        axis = -rotation.reshape(3, 3)[:, 2]
        if camera.name.startswith("robot/"):
            return np.array(camera.pos) + WRIST_VIEW_M * axis
        reach = (self.origin[2] - camera.pos[2]) / axis[2] if axis[2] < -0.1 else 1.0
        return np.array(camera.pos) + reach * axis

    def resolve(self, model: mujoco.MjModel) -> Scene:
        """Turn names into ids."""
        entities = {name: self._entity_ids(model, name, asset) for name, asset in self.assets.items()}
        entities[self.workspace] = self._workspace_ids(model)
        robot = resolve(model, prefix="robot/")
        hazards = tuple(
            self._hazard(entities[name], motion)
            for name, motion in self.motions.items()
            if name in entities and entities[name].qpos is not None
        )
        return Scene(
            model=model,
            scenario=self.scenario,
            draw=self.draw,
            arena=self.arena,
            robot=robot,
            entities=entities,
            hazards=hazards,
            workspace=self.workspace,
            workspace_pos=self.origin,
            start=self._start(model, robot, entities),
        )

    def _entity_ids(self, model: mujoco.MjModel, name: str, asset: Asset) -> EntityIds:
        kind = self.scenario.entity(name).kind
        parts: dict[str, list[int]] = {part: [] for part in asset.parts}
        joints: dict[str, JointIds] = {}
        bodies = {link.name: model.body(f"{name}/{link.name}").id for link in asset.links}
        for link in asset.links:
            for index, shape in enumerate(link.shapes):
                if shape.role != "visual":
                    parts[shape.part].append(model.geom(f"{name}/{link.name}/{shape.part}/{index}").id)
            if link.joint is not None:
                joint = model.joint(f"{name}/{link.joint.name}")
                joints[link.joint.name] = JointIds(
                    link.joint, int(joint.qposadr[0]), int(joint.dofadr[0]), link.name
                )
        root = bodies[asset.links[0].name]
        adr = int(model.body_jntadr[root])
        free = adr >= 0 and model.jnt_type[adr] == mujoco.mjtJoint.mjJNT_FREE
        return EntityIds(
            name=name,
            kind=kind,
            asset=asset,
            body=root,
            geoms=np.array(sorted(g for ids in parts.values() for g in ids), np.int32),
            parts={part: np.array(ids, np.int32) for part, ids in parts.items()},
            qpos=int(model.jnt_qposadr[adr]) if free else None,
            dof=int(model.jnt_dofadr[adr]) if free else None,
            joints=joints,
            bodies=bodies,
        )

    def _workspace_ids(self, model: mujoco.MjModel) -> EntityIds:
        ids = [g for g in range(model.ngeom) if model.geom(g).name.startswith("arena/workspace/")]
        geoms = np.array(ids, np.int32)
        return EntityIds(self.workspace, "fixture", None, 0, geoms, {"workspace": geoms}, None, None, {}, {})

    def _hazard(self, entity: EntityIds, motion: spec.Motion) -> Hazard:
        assert entity.qpos is not None
        assert entity.dof is not None
        assert entity.asset is not None
        low, high = bounds(entity.asset)
        lean = _lean(motion)
        pose = self._stand(entity.name)
        law = compile_motion(
            motion,
            pose,
            surface_z=float(self.origin[2]),
            bottom_m=low[2] if lean is None else _lowest_m(entity.asset, lean),
            workspace_xy=(float(self.origin[0]), float(self.origin[1])),
            size_m=float(np.min(np.subtract(high, low))),
            radius_m=footprint(entity.asset).radius_m,
            rng=rng_for(self.draw.key, f"motion/{entity.name}"),
        )
        return Hazard(entity.name, entity.qpos, entity.dof, pose.quat, law, compile_retreat(motion))

    def _start(self, model: mujoco.MjModel, robot: RobotIds, entities: Mapping[str, EntityIds]) -> FloatArray:
        qpos = np.array(model.qpos0)
        qpos[list(robot.arm_qpos)] = np.array(HOME_QPOS) + np.array(self.draw.robot_offset)
        qpos[list(robot.finger_qpos)] = FINGER_START_QPOS
        for fact in self.scenario.init:
            _set_joint(qpos, fact, entities)
        return qpos


def _lean(motion: spec.Motion | None) -> Quat | None:
    """Return the rotation of a motion's tilt; None when it has none."""
    about_x, about_y = (drawn(angle) for angle in motion.tilt) if motion else (0.0, 0.0)
    angle = math.hypot(about_x, about_y)
    return quat_about((about_x / angle, about_y / angle, 0.0), angle) if angle else None


def _lowest_m(asset: Asset, quat: Quat) -> float:
    """Return the lowest point of an asset turned by `quat`, relative to its origin (m)."""
    return shape_bounds([moved(shape, (0.0, 0.0, 0.0), quat) for shape in in_root(asset)])[0][2]


def _set_joint(qpos: FloatArray, fact: spec.Fact, entities: Mapping[str, EntityIds]) -> None:
    """Apply an Open, Close, TurnOn or TurnOff fact."""
    if (
        fact.word not in ("Open", "Close", "TurnOn", "TurnOff")
        or fact.args[0].partition(".")[0] not in entities
    ):
        return
    name, _, part = fact.args[0].partition(".")
    for joint in joints_of(entities[name], part, "knob" if fact.word.startswith("Turn") else "door"):
        on = fact.word in ("Open", "TurnOn")
        far = joint.spec.high if joint.spec.opened >= joint.spec.closed else joint.spec.low
        near = joint.spec.low if joint.spec.opened >= joint.spec.closed else joint.spec.high
        qpos[joint.qpos] = far if on else near


def drawn(value: spec.Num) -> float:
    """Return a number of a resolved scenario, in which there is no distribution left."""
    if not isinstance(value, float | int):
        raise SceneError(f"{value} has not been drawn: build scenes from a Draw made by sample()")
    return float(value)
