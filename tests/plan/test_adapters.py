"""Adapters hand the world over as it is, and pass on only what holds. The libraries are stand-ins, or installed."""

import sys
from types import ModuleType, SimpleNamespace

import mujoco
import numpy as np
import pytest

from libero_safety.plan import solids
from libero_safety.plan.extra import MissingExtraError
from libero_safety.plan.planners import make_planner
from libero_safety.plan.problem import Path, PlanFailed, Problem, Upright
from libero_safety.plan.world import World
from libero_safety.sim.robot import FINGER_OPEN_QPOS, HOME_QPOS, resolve, robot_spec

HOME = np.array(HOME_QPOS)
TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])


def side(angle: float) -> np.ndarray:
    joints = HOME.copy()
    joints[0] = angle
    return joints


def over() -> np.ndarray:
    """Home with the elbow up: above the wall."""
    joints = HOME.copy()
    joints[3], joints[5] = -1.4, 1.4
    return joints


def meshed(vertices: np.ndarray) -> World:
    """A mesh called `thing`, a ball and a capsule far from the robot."""
    spec = mujoco.MjSpec()
    spec.attach(robot_spec(), prefix="robot/", frame=spec.worldbody.add_frame(pos=(0.0, 0.0, 0.5)))
    spec.add_mesh(name="mesh", uservert=vertices.ravel())
    body = spec.worldbody
    body.add_geom(name="thing", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh", pos=(0.6, 0.5, 0.6))
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.05, 0, 0), pos=(0.6, -0.5, 0.6))
    body.add_geom(name="rod", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=(0.02, 0.1, 0), pos=(0.0, 0.8, 0.6))
    body.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(2, 2, 0.1))
    model = spec.compile()
    robot = resolve(model)
    qpos = np.array(model.qpos0)
    qpos[list(robot.arm_qpos)] = HOME_QPOS
    qpos[list(robot.finger_qpos)] = FINGER_OPEN_QPOS
    return World(model, robot, qpos, margin_m=0.01)


def test_solids_are_in_the_frame_of_the_base():
    found = {s.name.partition("-")[0]: s for s in solids.surroundings(meshed(TETRAHEDRON))}
    assert set(found) == {"thing", "ball", "rod", "floor"}
    np.testing.assert_allclose(found["ball"].pos, (0.6, -0.5, 0.1))
    np.testing.assert_allclose(found["ball"].half_m, 0.06)
    np.testing.assert_allclose(found["rod"].half_m, (0.03, 0.03, 0.13))
    assert found["floor"].pos[2] + found["floor"].half_m[2] == pytest.approx(-0.5 + 0.01)
    corners = found["thing"].pos + found["thing"].vertices @ found["thing"].rot.T
    expected = TETRAHEDRON + (0.6, 0.5, 0.1)
    assert sorted(map(tuple, corners.round(6))) == sorted(map(tuple, expected.round(6)))
    out = np.linalg.norm(found["thing"].grown() - found["thing"].vertices, axis=1)
    np.testing.assert_allclose(out, 0.01)


def test_a_swapped_mesh_has_another_name():
    names = [
        {s.name for s in solids.surroundings(meshed(TETRAHEDRON * k)) if s.kind == "mesh"} for k in (1, 1, 2)
    ]
    assert names[0] == names[1]
    assert names[0] != names[2]


class Vamp(ModuleType):
    """vamp-planner 0.6 as far as it is used: same names, same parameters, in this order."""

    def __init__(self, answer: list[np.ndarray]) -> None:
        super().__init__("vamp")
        self.asked: list[SimpleNamespace] = []
        vamp = self

        class Environment:
            def __init__(self):
                self.spheres, self.capsules, self.cuboids, self.attachment = [], [], [], None

            def add_sphere(self, s):
                self.spheres.append(s)

            def add_capsule(self, s):
                self.capsules.append(s)

            def add_cuboid(self, s):
                self.cuboids.append(s)

            def attach(self, a):
                self.attachment = a

        class Attachment:
            def __init__(self, tf):
                assert tf.shape == (4, 4)
                assert tf.dtype == np.float32
                self.spheres = []

            def add_spheres(self, spheres):
                self.spheres.extend(spheres)

        class Settings:
            pass

        class FloatPath(list):
            pass

        class Sampler:
            def skip(self, n):
                vamp.skipped = n

        class Panda:
            @staticmethod
            def halton():
                return Sampler()

            @staticmethod
            def eefk(configuration):
                assert len(configuration) == 7
                pose = np.eye(4, dtype=np.float32)
                pose[:3, 3] = (0.1, 0.2, 0.3)
                return pose

            @staticmethod
            def validate(configuration, environment):
                return not any(max(c.half_extents) > 4 for c in environment.cuboids)

            @staticmethod
            def rrtc(start, goal, environment, settings, sampler):
                assert all(len(g) == 7 for g in goal)
                vamp.asked.append(SimpleNamespace(start=start, goals=goal, environment=environment))
                path = FloatPath(np.asarray(row, np.float32) for row in answer)
                return SimpleNamespace(solved=bool(answer), path=path)

            @staticmethod
            def simplify(path, environment, settings, sampler):
                return SimpleNamespace(solved=True, path=path)

        self.panda, self.Environment, self.Attachment = Panda, Environment, Attachment
        self.RRTCSettings = self.SimplifySettings = Settings

    @staticmethod
    def Sphere(center, radius):
        return SimpleNamespace(center=center, radius=radius)

    @staticmethod
    def Cylinder(center, euler_xyz, radius, length):
        return SimpleNamespace(center=center, euler_xyz=euler_xyz, radius=radius, length=length)

    @staticmethod
    def Cuboid(center, euler_xyz, half_extents):
        return SimpleNamespace(center=center, euler_xyz=euler_xyz, half_extents=half_extents)


def test_vamp(walled, monkeypatch):
    start, goal = side(0.45), side(-0.45)
    way = [start, over() + (0.45, 0, 0, 0, 0, 0, 0), over() - (0.45, 0, 0, 0, 0, 0, 0), goal]
    fake = Vamp(way)
    monkeypatch.setitem(sys.modules, "vamp", fake)
    path = make_planner("vamp").plan(Problem(walled, start, goal[None], seed=2))
    assert isinstance(path, Path), path
    np.testing.assert_array_equal(path.joints[[0, -1]], [start, goal])
    (asked,) = fake.asked
    (wall,) = asked.environment.cuboids
    np.testing.assert_allclose(wall.half_extents, np.array([0.2, 0.02, 0.2]) + 0.005 + 0.003)
    assert fake.skipped == 128
    balls = np.array([s.center for s in asked.environment.attachment.spheres]) + (0.1, 0.2, 0.3)
    walled.free(walled.home)
    for finger in ("left_finger", "right_finger"):
        for geom in walled.robot.link_geoms[finger]:
            gaps = np.linalg.norm(balls - walled.geom_pose(geom)[0], axis=1)
            assert gaps.min() < asked.environment.attachment.spheres[int(gaps.argmin())].radius


def test_what_vamp_thinks_is_free_is_proved(walled, monkeypatch):
    monkeypatch.setitem(sys.modules, "vamp", Vamp([side(0.45), side(-0.45)]))
    failed = make_planner("vamp").plan(Problem(walled, side(0.45), side(-0.45)[None]))
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "exhausted"
    assert "own collision check" in failed.detail
    upright = Problem(walled, side(0.45), side(-0.45)[None], constraint=Upright(0.1))
    assert make_planner("vamp").plan(upright).reason == "constraint"


class Tensor(np.ndarray):
    """As much of a tensor as is asked for."""

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


def curobo(answer: list[np.ndarray] | None, calls: list[tuple]) -> dict[str, ModuleType]:
    """cuRobo v2 as far as it is used: same modules, names and parameters."""

    class JointState:
        def __init__(self, position, joint_names):
            self.position, self.joint_names = position, joint_names

        @staticmethod
        def from_position(position, joint_names=None):
            assert position.shape == (1, 7)
            return JointState(position, joint_names)

    class MotionPlannerCfg:
        @staticmethod
        def create(robot, scene_model=None, collision_cache=None, random_seed=123, max_goalset=1):
            calls.append(("create", robot, collision_cache))
            return SimpleNamespace(device="cuda:0")

    class Attachments:
        def attach(
            self,
            joint_states,
            obstacles,
            link_name="attached_object",
            num_spheres=None,
            surface_radius=0.002,
            world_objects_pose_offset=None,
            disable_obstacle_names=None,
        ):
            calls.append(("attach", len(obstacles), num_spheres, world_objects_pose_offset))

        def detach(self, link_name=None, enable_obstacle_names=None):
            calls.append(("detach",))

    class MotionPlanner:
        def __init__(self, config):
            self.device_cfg = config
            self.attachment_manager = Attachments()

        def warmup(
            self, enable_graph=True, warmup_joint_index=0, warmup_joint_delta=0.2, num_warmup_iterations=10
        ):
            calls.append(("warmup",))

        def update_world(self, scene_cfg):
            calls.append(("world", scene_cfg))

        def reset_seed(self):
            calls.append(("reset_seed",))

        def destroy(self):
            calls.append(("destroy",))

        def plan_cspace(self, goal_state, current_state, max_attempts=5, enable_graph_attempt=1):
            assert goal_state.joint_names == [f"panda_joint{i}" for i in range(1, 8)]
            if answer is None:
                return None
            # The locked fingers come first, to be told apart by their names.
            rows = np.array([[0.04, 0.04, *row] for row in answer], np.float32)[None, None].view(Tensor)
            names = ["panda_finger_joint1", "panda_finger_joint2", *goal_state.joint_names]
            return SimpleNamespace(
                success=np.array([[True]]), get_interpolated_plan=lambda: JointState(rows, names)
            )

    def module(name, **things):
        made = ModuleType(name)
        vars(made).update(things)
        return made

    return {
        "torch": module(
            "torch", tensor=lambda data, device, dtype: np.asarray(data, dtype), float32=np.float32
        ),
        "curobo": module("curobo"),
        "curobo.motion_planner": module(
            "curobo.motion_planner", MotionPlanner=MotionPlanner, MotionPlannerCfg=MotionPlannerCfg
        ),
        "curobo.scene": module(
            "curobo.scene", Scene=SimpleNamespace, Cuboid=SimpleNamespace, Mesh=SimpleNamespace
        ),
        "curobo.types": module(
            "curobo.types", JointState=JointState, Pose=SimpleNamespace(from_list=lambda pose: tuple(pose))
        ),
    }


def install(monkeypatch, answer) -> list[tuple]:
    calls: list[tuple] = []
    for name, module in curobo(answer, calls).items():
        monkeypatch.setitem(sys.modules, name, module)
    return calls


def test_curobo(walled, monkeypatch):
    start, goal = side(0.45), side(-0.45)
    way = [start, over() + (0.45, 0, 0, 0, 0, 0, 0), over() - (0.45, 0, 0, 0, 0, 0, 0), goal]
    calls = install(monkeypatch, way)
    planner = make_planner("curobo")
    path = planner.plan(Problem(walled, start, goal[None]))
    assert isinstance(path, Path), path
    np.testing.assert_array_equal(path.joints[[0, -1]], [start, goal])
    assert calls[0] == ("create", "franka.yml", {"cuboid": 400, "mesh": 400})
    assert [call[0] for call in calls] == ["create", "warmup", "world", "reset_seed", "detach"]
    (wall,) = calls[2][1].cuboid
    assert wall.name.endswith("box_0")
    np.testing.assert_allclose(wall.pose, [0.55, 0.0, 0.2, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(wall.dims, 2 * (np.array([0.2, 0.02, 0.2]) + 0.005))
    planner.close()
    assert calls[-1] == ("destroy",)


def test_curobo_sees_that_a_mesh_was_swapped(monkeypatch):
    calls = install(monkeypatch, None)
    planner = make_planner("curobo")
    for scale in (1.0, 2.0):
        failed = planner.plan(Problem(meshed(TETRAHEDRON * scale), side(0.4), side(-0.4)[None]))
        assert isinstance(failed, PlanFailed)
        assert failed.reason == "backend"
    first, second = (call[1].mesh for call in calls if call[0] == "world")
    assert [m.name for m in first] != [m.name for m in second]
    assert len(first[0].vertices[0]) == 3
    assert len(first[0].faces) % 3 == 0


@pytest.mark.parametrize("name", ["curobo", "vamp"])
def test_a_library_that_is_not_there(monkeypatch, name):
    for module in ("vamp", "curobo", "curobo.motion_planner"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=f"{name} is not available"):
        make_planner(name)


def test_roboplan(walled):
    pytest.importorskip("roboplan")
    start, goal = side(0.45), side(-0.45)
    planner = make_planner("roboplan")
    first = planner.plan(Problem(walled, start, goal[None], seed=1))
    again = planner.plan(Problem(walled, start, goal[None], seed=1))
    assert isinstance(first, Path), first
    assert isinstance(again, Path), again
    np.testing.assert_allclose(first.joints, again.joints)
    assert walled.first_hit(first.joints) is None
    np.testing.assert_allclose(first.joints[[0, -1]], [start, goal], atol=1e-9)
