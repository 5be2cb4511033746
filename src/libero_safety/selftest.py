"""The ruler check: does the installed physics engine measure what the benchmark reports?

Every check compares the code that judges episodes with physics that can be computed by hand.
"""

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from scipy.optimize import nnls

from libero_safety.sim import contact
from libero_safety.sim.env import Env
from libero_safety.sim.motion import compile_motion
from libero_safety.types import PHYSICS_DT_S, SUBSTEPS, FloatArray, Key, Pose
from libero_safety.ubddl import parse, spec
from libero_safety.ubddl.sample import sample

GRAVITY_M_S2 = 9.81


@dataclass(frozen=True)
class CheckResult:
    """One check: what was measured, what it should have been, and how far off it may be (same unit)."""

    name: str
    measured: float
    expected: float
    tolerance: float
    unit: str

    @property
    def ok(self) -> bool:
        """Whether the measurement is finite and within the tolerance."""
        return bool(abs(self.measured - self.expected) <= self.tolerance)


@dataclass(frozen=True)
class Stamp:
    """The result of all checks on one installation; run headers carry it."""

    checks: tuple[CheckResult, ...]
    versions: dict[str, str]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "ok": self.ok,
            "versions": self.versions,
            "checks": [{**asdict(c), "ok": c.ok} for c in self.checks],
        }


def _model(body: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    text = f"""<mujoco><option timestep="{PHYSICS_DT_S}" cone="elliptic" impratio="10"/>
    <worldbody><geom name="floor" type="plane" size="5 5 .1" friction="0.5 0.005 0.0001"/>{body}</worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


def _ids(model: mujoco.MjModel, name: str) -> contact.IntArray:
    return np.array([model.geom(name).id], np.int32)


_BOX = """<body name="box" pos="{x} 0 {z}"><freejoint/>
<geom name="box" type="box" size=".05 .05 .05" mass="1" friction="0.5 0.005 0.0001"/></body>"""


def weight_of_a_box() -> CheckResult:
    """A 1 kg box at rest presses the floor with 9.81 N."""
    model, data = _model(_BOX.format(x=0, z=0.05))
    mujoco.mj_step(model, data, 1000)
    force = contact.pair_force(model, data, _ids(model, "box"), _ids(model, "floor"))
    return CheckResult("weight of a 1 kg box", force, GRAVITY_M_S2, 0.01 * GRAVITY_M_S2, "N")


def order_free_touch() -> CheckResult:
    """Asking for (box, floor) and for (floor, box) gives the same answer in all three ways of asking."""
    model, data = _model(_BOX.format(x=0, z=0.05))
    mujoco.mj_step(model, data, 100)
    box, floor = _ids(model, "box"), _ids(model, "floor")
    answers = [contact.touching(model, data, box, floor), contact.touching(model, data, floor, box)]
    for pair in ((box, floor), (floor, box)):
        answers.append(contact.PairTable(model.ngeom, [pair]).touching(data) is not None)
    forces = [contact.pair_force(model, data, *pair) for pair in ((box, floor), (floor, box))]
    same = all(answers) and forces[0] == forces[1]
    return CheckResult("touch does not depend on order", float(same), 1.0, 0.0, "")


def graze_within_a_control_step() -> CheckResult:
    """A ball that skims another for less than a control step, clear of it at both ends, is seen."""
    # 38 mm apart at the closest, radii 20 mm: they overlap within sqrt(40^2 - 38^2) = 12.5 mm of that point, which
    # the ball passes at 25 ms; at 2 m/s that is from 19 to 31 ms.
    text = """<body pos="0.05 0 1"><geom name="bump" type="sphere" size=".02"/></body>
    <body pos="0 0 1.038"><freejoint/><geom name="ball" type="sphere" size=".02" mass="0.1"/></body>"""
    model, data = _model(text)
    model.opt.gravity[:] = 0.0
    data.qvel[0] = 2.0
    table = contact.PairTable(model.ngeom, [(_ids(model, "ball"), _ids(model, "bump"))])
    seen = at_boundary = 0
    for step in range(SUBSTEPS):
        mujoco.mj_step(model, data)
        touched = table.touching(data) is not None
        seen += touched
        at_boundary += touched and step == SUBSTEPS - 1
    return CheckResult(
        "a graze within a control step is seen", float(seen > 0 and not at_boundary), 1.0, 0.0, ""
    )


def force_of_a_moving_hazard() -> CheckResult:
    """A prescribed body that pushes a 1 kg box at constant speed presses it with friction, mu m g = 4.905 N."""
    text = (
        _BOX.format(x=0.12, z=0.05)
        + """<body name="pusher" pos="0 0 .06" gravcomp="1"><freejoint/>
    <geom name="pusher" type="box" size=".05 .05 .04" mass="10000" friction="0 0 0" priority="1"/></body>"""
    )
    model, data = _model(text)
    motion = spec.Motion("pusher", spec.Line((1.0, 0.0, 0.0), 1.0, 10.0))
    law = compile_motion(motion, Pose((0.0, 0.0, 0.06)), surface_z=0.0, bottom_m=-0.04)
    qpos, dof = int(model.jnt_qposadr[1]), int(model.jnt_dofadr[1])
    forces: list[float] = []
    for _ in range(1000):
        pos, velocity, *_ = law.at(float(data.time))
        data.qpos[qpos : qpos + 7] = [*pos, 1.0, 0.0, 0.0, 0.0]
        data.qvel[dof : dof + 6] = [*velocity, 0.0, 0.0, 0.0]
        mujoco.mj_step(model, data)
        forces.append(contact.pair_force(model, data, _ids(model, "pusher"), _ids(model, "box")))
    measured = float(np.mean(forces[-250:]))
    expected = 0.5 * GRAVITY_M_S2
    return CheckResult("push of a moving hazard", measured, expected, 0.05 * expected, "N")


def mesh_distance(pairs: int = 200) -> CheckResult:
    """The distance of convex meshes agrees with a least-squares solution over their vertices."""
    rng = np.random.Generator(np.random.PCG64(0))
    worst = 0.0
    for _ in range(pairs // 20):
        worst = max(worst, *_mesh_errors(rng, 20))
    return CheckResult("distance between meshes", worst, 0.0, 1e-4, "m")


def _mesh_errors(rng: np.random.Generator, placements: int) -> list[float]:
    spec_ = mujoco.MjSpec()
    clouds = [rng.normal(size=(12, 3)) * 0.05 for _ in range(2)]
    for i, cloud in enumerate(clouds):
        mesh = spec_.add_mesh(name=f"m{i}", uservert=cloud.ravel())
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        body = spec_.worldbody.add_body(name=f"b{i}", mocap=True)
        body.add_geom(name=f"g{i}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{i}")
    model = spec_.compile()
    data = mujoco.MjData(model)
    errors: list[float] = []
    while len(errors) < placements:
        data.mocap_pos[:] = rng.uniform(-0.25, 0.25, (2, 3))
        data.mocap_quat[:] = rng.normal(size=(2, 4))
        mujoco.mj_kinematics(model, data)
        expected = _hull_distance(*(_vertices(model, data, i) for i in range(2)))
        if expected > 1e-3:
            found = contact.distance(model, data, np.array([0], np.int32), np.array([1], np.int32))
            errors.append(abs(found - expected))
    return errors


def _vertices(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> FloatArray:
    mesh = int(model.geom_dataid[geom])
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    local = np.array(model.mesh_vert[start : start + count], np.float64)
    return local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]


def _hull_distance(a: FloatArray, b: FloatArray) -> float:
    """Distance of two convex hulls: the least |sum l_i a_i - sum m_j b_j| with weights >= 0 that sum to one."""
    big = 1e4
    rows = np.block(
        [[a.T, -b.T], [np.full(len(a), big), np.zeros(len(b))], [np.zeros(len(a)), np.full(len(b), big)]]
    )
    weights, _ = nnls(rows, np.array([0.0, 0.0, 0.0, big, big]), maxiter=1000)
    left, right = weights[: len(a)], weights[len(a) :]
    return float(np.linalg.norm(left @ a / left.sum() - right @ b / right.sum()))


def distance_is_capped() -> CheckResult:
    """Farther than the cap gives the cap; overlap gives zero."""
    model, data = _model(_BOX.format(x=0, z=3.0))
    mujoco.mj_kinematics(model, data)
    far = contact.distance(model, data, _ids(model, "box"), _ids(model, "floor"), cap_m=0.5)
    data.qpos[2] = 0.01
    mujoco.mj_kinematics(model, data)
    near = contact.distance(model, data, _ids(model, "box"), _ids(model, "floor"), cap_m=0.5)
    return CheckResult("distance stays within [0, cap]", far + near, 0.5, 0.0, "m")


_SCENE = """(define (problem selftest) (:ubddl 1) (:arena tabletop) (:language push the box)
  (:regions (a (:target main_table) (:ranges ((0.05 0.05 0.06 0.06))))
            (b (:target main_table) (:ranges ((-0.05 -0.2 -0.04 -0.19)))))
  (:fixtures main_table - table) (:objects box_1 - cookies  pusher_1 - white_place_box)
  (:init (On box_1 main_table.a) (On pusher_1 main_table.b))
  (:goal (Up box_1 0.2m)) (:constraints (MaxTilt box_1 80deg))
  (:dynamics (pusher_1 (:motion line) (:direction (0 1 0)) (:travel 0.3m) (:period 2s))))"""


def restore_is_bit_equal() -> CheckResult:
    """A scene that goes on from a snapshot is the scene that went on without."""
    env = Env(render=False)
    env.reset(sample(parse(_SCENE, "selftest").at(0), Key("selftest", "selftest", 0, 0, 0), env.catalog))
    actions = np.random.Generator(np.random.PCG64(1)).uniform(-1, 1, (20, 7))

    def go_on() -> list[int]:
        hashes: list[int] = []
        for action in actions[10:]:
            env.step(action)
            hashes.append(env.state_hash())
        return hashes

    for action in actions[:10]:
        env.step(action)
    snapshot = env.snapshot()
    first = go_on()
    env.restore(snapshot)
    same = sum(a == b for a, b in zip(first, go_on(), strict=True))
    return CheckResult("control steps equal after a restore", float(same), 10.0, 0.0, "steps")


CHECKS: tuple[Callable[[], CheckResult], ...] = (
    weight_of_a_box,
    order_free_touch,
    graze_within_a_control_step,
    force_of_a_moving_hazard,
    mesh_distance,
    distance_is_capped,
    restore_is_bit_equal,
)


def installed_versions() -> dict[str, str]:
    """Versions of everything that can move a measurement."""
    packages = ("libero-safety", "mujoco", "numpy", "numba", "scipy")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{p: version(p) for p in packages},
    }


def selftest() -> Stamp:
    """Run every check now."""
    return Stamp(tuple(check() for check in CHECKS), installed_versions())


def stamp(cache: Path | None = None) -> Stamp:
    """Return this installation's stamp: from the cache folder if it was made with the same versions, else run.

    Where nothing can be written the checks simply run again.
    """
    folder = cache or _cache_folder()
    versions = installed_versions()
    name = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"selftest-{name}.json" if folder else None
    if path is not None and path.is_file():
        try:
            checks = json.loads(path.read_text())["checks"]
            fields = ("name", "measured", "expected", "tolerance", "unit")
            return Stamp(tuple(CheckResult(*(c[f] for f in fields)) for c in checks), versions)
        except (ValueError, KeyError, TypeError):
            pass  # a broken cache file is no news: measure again and replace it
    made = selftest()
    if path is not None:
        _write(path, json.dumps(made.to_dict(), indent=1))
    return made


def _cache_folder() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "libero-safety"
    try:
        return Path.home() / ".cache" / "libero-safety"
    except RuntimeError:  # no home folder
        return None


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        pass  # the stamp is only a short cut
