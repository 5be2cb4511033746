"""Wide and flat things that lie on the palm of a flat hand, as a waiter carries a plate: placed, not searched for.

Fingers point to -x and the forearm comes from +x, as of the open hand that a scene holds by itself.
"""

import math

import numpy as np

from libero_safety.assets.asset import Asset
from libero_safety.assets.grasp_quality import WrenchSpace, hand_overlap, quality_of
from libero_safety.assets.grasp_sim import Closed, HandSim
from libero_safety.assets.grasp_synthesis import draw_hand, quat_of, split_of
from libero_safety.assets.grasps import Grasp, GraspError
from libero_safety.assets.hand import DOFS, FINGERS, JOINT_NAMES, HandModel
from libero_safety.assets.solid import Solid
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key
from libero_safety.ubddl.spec import Split

CARRIED = frozenset(
    """akita_black_bowl basket billiard_balls bowl cutting_board dish_towel glazed_rim_porcelain_ramekin notebook
    plate porcelain_bowl salad_porcelain_plate storage_box toy_balls tray white_bowl wood_bowl wooden_tray""".split()
)
"""Types that are carried."""
MAX_DISPLACEMENT_M = 0.01
_SUNK_M = 0.001
"""How deep the thing is in the skin that carries it."""
_BENDS_RAD: dict[Split, tuple[float, float]] = {"train": (0.02, 0.16), "test": (0.24, 0.36)}
"""How far the fingers are bent, each joint: least and most in each split."""
_SPREAD_RAD: dict[Split, tuple[float, float]] = {"train": (0.0, 0.12), "test": (0.18, 0.3)}
_LOWER_WRIST_RAD = (0.06, 0.2)
_TURN_RAD = 0.25
_STEEPEST_RAD = 0.45
"""How far from level the palm may be."""
_SETTLINGS = 3
_TRIES = 30


def carry(asset: Asset, *, count: int, seed: int) -> list[Grasp]:
    """Return up to `count` flat hands that carry an asset; the same for the same arguments.

    Raises:
        GraspError: the thing slides off every hand.
    """
    solid, split = Solid.of(asset), split_of(asset.name)
    made: list[Grasp] = []
    for number in range(_TRIES * count):
        rng = rng_for(Key("", asset.name, 0, seed, number), "carry")
        side, shape, model = draw_hand(rng)
        angles = _flat(rng, split)
        pos, rot = _under(solid, model, shape, model.pose_of(angles), rng)
        sim = HandSim(solid, model, shape)
        held = _settled(sim, sim.hold(pos, rot, angles))
        if held is None or (held.rot @ model.palm_frame[1])[2] < math.cos(_STEEPEST_RAD):
            continue
        moved = float(sim.displacements(held, 1)[0])
        if moved > MAX_DISPLACEMENT_M:
            continue
        pose = model.pose_of(held.angles)
        both = hand_overlap(solid, model, shape, pose, (held.rot, held.pos))
        quality = quality_of(both, len(held.contacts.points), WrenchSpace(0.0, 0.0), moved, 1)
        made.append(
            Grasp(
                asset.name,
                side,
                "carried",
                split,
                pose,
                shape,
                held.pos,
                quat_of(held.rot),
                held.grip,
                quality,
            )
        )
        if len(made) == count:
            return made
    if not made:
        raise GraspError(f"{asset.name!r} slides off the palm: {_TRIES * count} hands tried")
    return made


def _settled(sim: HandSim, held: Closed) -> Closed | None:
    """Return the thing at rest on the hand, which is then turned so that the thing is level again; None if it falls."""
    for _ in range(_SETTLINGS):
        resting = sim.settle(held)
        if resting is None:
            return None
        held = resting
    return held


def _flat(rng: np.random.Generator, split: Split) -> dict[str, float]:
    """Return the angles of a flat hand, thumb aside."""
    angles = dict.fromkeys(DOFS, 0.0)
    for finger in FINGERS[:4]:
        for joint in ("mcp", "pip", "dip"):
            angles[f"{finger}_{joint}_flexion"] = rng.uniform(*_BENDS_RAD[split])
        if finger != "middle":
            angles[f"{finger}_mcp_abduction"] = rng.uniform(*_SPREAD_RAD[split])
    angles["thumb_cmc_flexion"] = math.radians(rng.uniform(-20, -10))
    angles["thumb_cmc_abduction"] = math.radians(rng.uniform(-40, -25))
    return angles


def _under(
    solid: Solid, model: HandModel, shape: FloatArray, pose: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return position and rotation of a wrist with the palm up under the middle of the thing, just touching it."""
    along, palm, across = model.palm_frame
    dip, yaw = rng.uniform(*_LOWER_WRIST_RAD), rng.uniform(-_TURN_RAD, _TURN_RAD)
    ahead = np.array([-math.cos(yaw) * math.cos(dip), -math.sin(yaw) * math.cos(dip), math.sin(dip)])
    up = np.array([math.cos(yaw) * math.sin(dip), math.sin(yaw) * math.sin(dip), math.cos(dip)])
    handed = float(np.cross(along, palm) @ across)
    rot = np.array([ahead, up, np.cross(ahead, up) * handed]).T @ np.array([along, palm, across])
    hand = model.pose(pose, shape)
    knuckle = hand.joints[JOINT_NAMES.index("middle1")]
    middle = np.array([*(solid.box[0][:2] + solid.box[1][:2]) / 2, 0.0])
    start = middle - rot @ (knuckle * rng.uniform(0.75, 1.05))
    vertices = hand.vertices @ rot.T
    low, high = -0.3, 0.1
    for _ in range(24):
        height = (low + high) / 2
        deep = solid.depth(vertices + start * (1.0, 1.0, 0.0) + (0.0, 0.0, height)).max() > _SUNK_M
        low, high = (low, height) if deep else (height, high)
    return start * (1.0, 1.0, 0.0) + (0.0, 0.0, low), rot
