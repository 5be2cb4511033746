import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from libero_safety.demo.keypose import KeyposeError, dump_keyposes
from libero_safety.demo.target import about_z, world_target
from libero_safety.policy.baselines import (
    NoopPolicy,
    NotAttachedError,
    RandomPolicy,
    RecklessPolicy,
    ReplayError,
    ReplayPolicy,
)
from libero_safety.policy.contract import ContractError, NonFiniteActionError
from libero_safety.types import Keypose, Observation
from libero_safety.ubddl.spec import Place

OBSERVATION = Observation({}, np.zeros(8), "", 0.0)
HOME = world_target(Keypose("home", "", (0, 0, 0)), np.zeros(3), np.eye(3))[1]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


class Stage:
    """A point gripper that moves a share of what it is asked, and things that move or are carried."""

    action_scale = (0.05, 0.5)
    share = 0.5

    def __init__(self, **things: tuple[float, float, float]) -> None:
        self.scene = SimpleNamespace(scenario=SimpleNamespace(place=Place("<code>", 0, 0)))
        self.pos, self.rotation = np.array([0.0, 0.0, 0.5]), HOME.copy()
        self.things = {name: np.array(pos) for name, pos in things.items()}
        self.yaw = dict.fromkeys(things, 0.0)
        self.speed = {name: np.zeros(3) for name in things}
        self.held: str | None = None
        self.grip = -1.0

    def eef_pose(self) -> tuple[np.ndarray, np.ndarray]:
        return self.pos.copy(), self.rotation.copy()

    def frame_pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        return self.things[name.partition(".")[0]].copy(), about_z(self.yaw[name.partition(".")[0]])

    def step(self, action: np.ndarray) -> None:
        assert np.abs(action).max() <= 1.0
        move = self.share * self.action_scale[0] * action[:3]
        self.pos += move
        turn = Rotation.from_rotvec(self.share * self.action_scale[1] * action[3:6])
        self.rotation = turn.as_matrix() @ self.rotation
        if action[6] > 0 and self.held is None:
            near = [n for n, p in self.things.items() if np.linalg.norm(p - self.pos) < 0.02]
            self.held = near[0] if near else None
        if action[6] <= 0:
            self.held = None
        self.grip = action[6]
        for name, pos in self.things.items():
            pos += move if name == self.held else self.speed[name]


def run(stage: Stage, keyposes: list[Keypose], steps: int = 400, **options: float) -> np.ndarray:
    """Positions after every step, (n, 3)."""
    policy = RecklessPolicy(keyposes, **options)  # type: ignore[arg-type]
    policy.attach(stage)
    policy.reset("", rng())
    path: list[np.ndarray] = []
    for _ in range(steps):
        (action,) = policy.act(OBSERVATION)
        stage.step(action)
        path.append(stage.pos.copy())
    return np.array(path)


def test_noop_keeps_still_with_an_open_gripper() -> None:
    policy = NoopPolicy()
    policy.reset("", rng())
    np.testing.assert_array_equal(policy.act(OBSERVATION), [[0, 0, 0, 0, 0, 0, -1]])


def test_random_is_uniform_and_repeats_with_its_generator() -> None:
    policy = RandomPolicy(chunk=4)
    policy.reset("", rng(3))
    first = np.concatenate([policy.act(OBSERVATION) for _ in range(250)])
    policy.reset("", rng(3))
    again = np.concatenate([policy.act(OBSERVATION) for _ in range(250)])
    assert first.shape == (1000, 7)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first).max() <= 1.0
    # Mean and variance of U(-1, 1) are 0 and 1/3; 4 sigma of the mean of 1000 draws is 0.073.
    assert np.abs(first.mean(axis=0)).max() < 0.073
    assert np.abs(first.var(axis=0) - 1 / 3).max() < 0.04
    policy.reset("", rng(4))
    assert not np.array_equal(policy.act(OBSERVATION), first[:4])


def test_random_needs_its_generator() -> None:
    with pytest.raises(NotAttachedError, match="before reset"):
        RandomPolicy().act(OBSERVATION)


def test_replay_repeats_the_recorded_actions_then_holds_the_gripper(tmp_path: Path) -> None:
    actions = np.arange(21.0).reshape(3, 7) / 21
    np.savez(tmp_path / "trace.npz", executed=actions, asked=actions + 1)
    for source in (actions, tmp_path / "trace.npz"):
        policy = ReplayPolicy(source)
        for _ in range(2):
            policy.reset("", rng())
            replayed = np.concatenate([policy.act(OBSERVATION) for _ in range(5)])
            np.testing.assert_array_equal(replayed[:3], actions)
            np.testing.assert_array_equal(replayed[3:], [[0] * 6 + [actions[2, 6]]] * 2)


def test_replay_says_what_it_cannot_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", executd=np.zeros((2, 7)))
    np.savez(tmp_path / "object.npz", executed=np.array([{}], dtype=object))
    np.save(tmp_path / "single.npy", np.zeros((2, 7)))
    (tmp_path / "text.npz").write_text("no archive")
    for name, message in [
        ("absent.npz", "cannot read actions from .*absent"),
        ("other.npz", "no array 'executed', did you mean 'executd'"),
        ("object.npz", "cannot read actions"),
        ("single.npy", "is no .npz file"),
        ("text.npz", "cannot read actions"),
    ]:
        with pytest.raises(ReplayError, match=message):
            ReplayPolicy(tmp_path / name)
    with pytest.raises(ContractError, match=r"shape \(2, 6\)"):
        ReplayPolicy(np.zeros((2, 6)))
    with pytest.raises(NonFiniteActionError):
        ReplayPolicy(np.full((2, 7), np.nan))


def test_reckless_goes_straight_at_full_speed() -> None:
    stage = Stage(mug=(0.3, 0.2, 0.0))
    start = stage.pos.copy()
    path = run(stage, [Keypose("at", "mug", (0.0, 0.0, 0.1), tolerance_m=0.002)], 60)
    goal = np.array([0.3, 0.2, 0.1])
    assert np.linalg.norm(path[-1] - goal) <= 0.002
    direction = (goal - start) / np.linalg.norm(goal - start)
    off_line = np.linalg.norm(np.cross(path - start, direction), axis=1)
    assert off_line.max() < 1e-12
    # The longest axis (0.4 m) moves a full unit, 0.025 m here, in every step until the goal is 0.05 m away.
    np.testing.assert_allclose(np.diff(path[:13, 2]), -0.025)


def test_reckless_follows_what_moves() -> None:
    stage = Stage(belt=(0.2, 0.0, 0.1))
    stage.speed["belt"][1] = 0.001
    run(stage, [Keypose("on", "belt.top", (0.0, 0.0, 0.0), wait_steps=1000)], 200, gain=1.0)
    # A proportional follower lags by the speed over the share it moves per step: 1 mm / 0.5.
    np.testing.assert_allclose(stage.things["belt"] - stage.pos, (0.0, 0.002, 0.0), atol=1e-9)


def test_reckless_lifts_what_it_holds_by_as_much_as_it_was_told() -> None:
    stage = Stage(mug=(0.1, 0.0, 0.0), plate=(0.0, 0.3, 0.0))
    keyposes = [
        Keypose("above", "mug", (0, 0, 0.1)),
        Keypose("down", "mug", (0, 0, 0)),
        Keypose("grasp", "mug", (0, 0, 0), gripper=1.0, wait_steps=10),
        Keypose("lift", "mug", (0, 0, 0.2), gripper=1.0, wait_steps=30),
    ]
    run(stage, keyposes, 120)
    assert stage.held == "mug"
    assert stage.things["mug"][2] == pytest.approx(0.2, abs=0.02)
    np.testing.assert_allclose(stage.things["mug"][:2], (0.1, 0.0), atol=0.01)


def test_reckless_carries_places_and_lets_go() -> None:
    stage = Stage(mug=(0.1, 0.0, 0.0), plate=(0.0, 0.3, 0.0))
    stage.speed["plate"][0] = 0.0005
    keyposes = [
        Keypose("down", "mug", (0, 0, 0)),
        Keypose("grasp", "mug", (0, 0, 0), gripper=1.0, wait_steps=10),
        Keypose("lift", "mug", (0, 0, 0.2), gripper=1.0),
        Keypose("over", "plate", (0, 0, 0.2), gripper=1.0),
        Keypose("lower", "plate", (0, 0, 0.02), gripper=1.0),
        Keypose("open", "plate", (0, 0, 0.02), wait_steps=10),
        Keypose("away", "mug", (0, 0, 0.2)),
    ]
    path = run(stage, keyposes, 300)
    assert stage.held is None
    assert stage.things["mug"][1] == pytest.approx(0.3, abs=0.02)
    assert stage.things["mug"][2] == pytest.approx(0.02, abs=0.015)
    assert path[-1, 2] > 0.2
    np.testing.assert_array_equal(path[-1], path[-2])
    assert stage.grip == -1.0


@pytest.mark.parametrize("yaw_deg", [-170, -100, -45, 0, 45, 100, 170, 260])
def test_reckless_turns_the_wrist_by_a_right_angle_at_most(yaw_deg: float) -> None:
    stage = Stage(mug=(0.1, 0.0, 0.2))
    stage.yaw["mug"] = math.radians(yaw_deg)
    keypose = Keypose("at", "mug", (0, 0, 0), wait_steps=60)
    run(stage, [keypose], 60)
    wanted = world_target(keypose, *stage.frame_pose("mug"))[1]
    # Closing axis and pointing axis are those asked for, up to swapping the fingers.
    assert abs(wanted[:, 0] @ stage.rotation[:, 0]) == pytest.approx(1.0, abs=1e-4)
    assert wanted[:, 2] @ stage.rotation[:, 2] == pytest.approx(1.0, abs=1e-4)
    turned = Rotation.from_matrix(stage.rotation @ HOME.T).magnitude()
    assert turned <= math.pi / 2 + 0.01


def test_reckless_keeps_the_grip_it_has() -> None:
    stage = Stage(book=(0.1, 0.0, 0.2), shelf=(0.0, 0.3, 0.2))
    grasp = Keypose("grasp", "book", (0, 0, 0), yaw=math.radians(80), gripper=1.0, wait_steps=15)
    place = Keypose("place", "shelf", (0, 0, 0), yaw=math.radians(120), gripper=1.0, wait_steps=60)
    run(stage, [grasp, place], 150)
    # Taking the other finger order here would put the book down turned by 180 degrees.
    turned = Rotation.from_matrix(stage.rotation @ HOME.T).as_rotvec()
    np.testing.assert_allclose(turned, (0, 0, math.radians(120)), atol=0.01)


def test_reckless_gives_up_a_keypose_that_it_cannot_reach() -> None:
    stage = Stage(wall=(5.0, 0.0, 0.0), mug=(0.1, 0.0, 0.5))
    stage.share = 0.0
    policy = RecklessPolicy(
        [Keypose("far", "wall", (0, 0, 0), gripper=1.0, wait_steps=3), Keypose("near", "mug", (0, 0, 0))],
        step_limit=5,
    )
    policy.attach(stage)
    policy.reset("", rng())
    actions = np.concatenate([policy.act(OBSERVATION) for _ in range(20)])
    np.testing.assert_array_equal(actions[:, 6], [-1.0] * 5 + [1.0] * 8 + [-1.0] * 7)
    assert actions[:13, :3].any(axis=1).all()
    assert not actions[13:, :6].any()


def test_reckless_starts_afresh_at_every_reset() -> None:
    keyposes = [Keypose("a", "mug", (0, 0, 0.1)), Keypose("b", "mug", (0, 0, 0))]
    policy = RecklessPolicy(keyposes)
    for _ in range(2):
        stage = Stage(mug=(0.1, 0.0, 0.0))
        policy.attach(stage)
        policy.reset("", rng())
        (action,) = policy.act(OBSERVATION)
        np.testing.assert_allclose(action[:3], (0.25, 0.0, -1.0))


def test_reckless_finds_the_keyposes_of_its_task(tmp_path: Path) -> None:
    keyposes = [Keypose("a", "mug", (0, 0, 0.1))]
    stage = Stage(mug=(0.1, 0.0, 0.0))
    stage.scene.scenario.place = Place(str(tmp_path / "pour.ubddl"), 1, 1)
    policy = RecklessPolicy()
    policy.attach(stage)
    with pytest.raises(KeyposeError, match=r"no keyposes for .*pour\.ubddl"):
        policy.reset("", rng())
    (tmp_path / "keyposes").mkdir()
    (tmp_path / "keyposes" / "pour.toml").write_text(dump_keyposes(keyposes))
    policy.reset("", rng())
    by_task = policy.act(OBSERVATION)
    policy = RecklessPolicy(tmp_path / "keyposes" / "pour.toml")
    policy.attach(stage)
    policy.reset("", rng())
    np.testing.assert_array_equal(policy.act(OBSERVATION), by_task)


def test_reckless_needs_an_environment_and_keyposes() -> None:
    with pytest.raises(NotAttachedError, match="attach"):
        RecklessPolicy([Keypose("a", "mug", (0, 0, 0))]).reset("", rng())
    policy = RecklessPolicy([])
    policy.attach(Stage())
    with pytest.raises(KeyposeError, match="empty"):
        policy.reset("", rng())
