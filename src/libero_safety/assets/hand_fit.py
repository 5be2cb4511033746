"""Capsules fitted to the skin of a hand: what it is felt by.

Each capsule is fixed to one joint and belongs to one segment. All are fitted together, so that the surface of their
union follows the skin in a few poses at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from libero_safety.assets.hand import FINGERS, JOINT_NAMES, SEGMENTS, HandModel, PosedHand
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key

_Guess: TypeAlias = tuple[str, int, FloatArray, FloatArray, float]

FIT_POSES = ("open", "relaxed", "grip")
FOREARM_CAPSULES = 6
SKIN_POINTS = 3000
NEIGHBOURS = 4
"""Capsules that a point of the skin may be nearest to within one round."""
ROUNDS = 8
WORST_M = 0.002
"""Errors from here on weigh ever more."""
DRIFT_M, HOLD = 0.008, 0.2
"""How far an end may go from the first guess, and how much that weighs: capsules stay along their bones."""
_MIN_RADIUS_M, _MAX_RADIUS_M = 0.003, 0.03
BACK_RADIUS_M = 0.01
"""Capsules of the back are thin, so that they do not come out of the palm."""


@dataclass(frozen=True, eq=False)
class CapsuleSet:
    """Capsules of a hand at rest.

    Attributes:
        segments: the segment that each belongs to, of `SEGMENTS`.
        joints: (n,) joint that each is fixed to.
        ends: (n, 2, 3) ends of the axes, relative to the joint at rest (m).
        radii: (n,) metres.
    """

    segments: tuple[str, ...]
    joints: NDArray[np.intp] = field(repr=False)
    ends: FloatArray = field(repr=False)
    radii: FloatArray = field(repr=False)


def distance_to_axis(
    points: FloatArray, start: FloatArray, end: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for points (..., 3): distance to the segment, its direction away from the axis, and where (0 to 1)."""
    way = end - start
    rel = points - start
    length = np.maximum((way * way).sum(axis=-1), 1e-12)
    share = np.clip((rel * way).sum(axis=-1) / length, 0.0, 1.0)
    off = rel - share[..., None] * way
    distance = np.sqrt((off * off).sum(axis=-1))
    return distance, off / np.maximum(distance, 1e-9)[..., None], share


def first_guess(model: HandModel) -> CapsuleSet:
    """Return capsules along the bones, over the palm and the back, and side by side in the forearm."""
    found = [*_finger_guess(model), *_palm_guess(model), *_forearm_guess(model)]
    return CapsuleSet(
        tuple(f[0] for f in found),
        np.array([f[1] for f in found]),
        np.array([[f[2] - model.joints[f[1]], f[3] - model.joints[f[1]]] for f in found]),
        np.array([f[4] for f in found]),
    )


def _finger_guess(model: HandModel) -> Iterator[_Guess]:
    """Yield a capsule for each phalanx and the base of the thumb, in the middle of the skin around it."""
    joints, vertices = model.joints, model.vertices
    mostly = model.weights.argmax(axis=1)
    for finger in FINGERS:
        base = JOINT_NAMES.index(f"{finger}1")
        bone = joints[base + 2] - joints[base + 1]
        bone = bone / np.linalg.norm(bone)
        skin = vertices[mostly == base + 2]
        reach = ((skin - joints[base + 2]) @ bone).max()
        chain = [*joints[base : base + 3], joints[base + 2] + bone * reach]
        for k in range(3):
            skin = vertices[mostly == base + k]
            distance, away, _ = distance_to_axis(skin, chain[k], chain[k + 1])
            shift = (distance[:, None] * away).mean(axis=0)
            radius = float(distance_to_axis(skin, chain[k] + shift, chain[k + 1] + shift)[0].mean())
            end = chain[k + 1] + shift - (bone * radius if k == 2 else 0.0)
            yield f"{finger}_tip" if k == 2 else finger, base + k, chain[k] + shift, end, radius


def _palm_guess(model: HandModel) -> Iterator[_Guess]:
    """Yield capsules along the bones of the hand, one towards the palm and one towards the back, and of its balls."""
    along, palm, across = model.palm_frame
    wrist = model.joints[0]
    knuckles = {f: model.joints[JOINT_NAMES.index(f"{f}1")] for f in FINGERS}
    for finger in ("index", "middle", "ring", "little"):
        way = knuckles[finger] - wrist
        for name, depth, radius in (("palm", 0.013, 0.011), ("back", 0.001, 0.01)):
            yield (
                name,
                0,
                wrist + 0.3 * way + depth * palm,
                wrist + way - along * 0.005 + depth * palm,
                radius,
            )
    way = knuckles["little"] - wrist
    yield "palm", 0, wrist + 0.25 * way + 0.014 * palm, wrist + 0.7 * way + 0.01 * palm, 0.013
    for depth, ahead in ((0.014, 0.0), (0.008, 0.008)):
        shift = along * ahead + depth * palm
        yield "palm", 0, knuckles["index"] + shift, knuckles["little"] + shift, 0.0085
    thumb = knuckles["thumb"]
    yield "palm", 0, wrist + 0.008 * palm + 0.008 * across, thumb + 0.008 * palm, 0.014


def _forearm_guess(model: HandModel) -> Iterator[_Guess]:
    """Yield capsules around the axis of the forearm, up to its end."""
    along, palm, across = model.palm_frame
    wrist = model.joints[0]
    behind = model.vertices[(model.vertices - wrist) @ along < 0.0] - wrist
    reach = -float((behind @ along).min())
    cuts = [behind[np.abs(behind @ along + reach * share) < 0.2 * reach] for share in (0.15, 0.7)]
    middles = [(c.min(axis=0) + c.max(axis=0)) / 2 for c in cuts]
    for turn in np.arange(FOREARM_CAPSULES) * 2 * np.pi / FOREARM_CAPSULES:
        ends: list[FloatArray] = []
        for middle, cut, share in zip(middles, cuts, (0.05, 0.8), strict=True):
            wide, high = np.ptp(cut @ across) / 2 - 0.013, np.ptp(cut @ palm) / 2 - 0.013
            flat = middle - (middle @ along) * along
            ring = across * max(wide, 0.0) * np.cos(turn) + palm * max(high, 0.0) * np.sin(turn)
            ends.append(wrist + flat + ring - along * reach * share)
        yield "forearm", 0, ends[0], ends[1], 0.0135


def in_joint_frames(hand: PosedHand, points: FloatArray, joints: NDArray[np.intp]) -> FloatArray:
    """Return points (p, 3) as each of the joints (n,) sees them in its frame at rest, (n, p, 3)."""
    rel = points[None] - hand.joints[joints][:, None]
    return np.einsum("npa,nab->npb", rel, hand.rotations[joints])


def surface_error(
    hand: PosedHand, capsules: CapsuleSet, points: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return for points (p, 3) how far (m) each is outside the nearest capsule of a posed hand, and which that is."""
    seen = in_joint_frames(hand, points, capsules.joints)
    distance, _, _ = distance_to_axis(seen, capsules.ends[:, None, 0], capsules.ends[:, None, 1])
    outside = distance - capsules.radii[:, None]
    nearest = outside.argmin(axis=0)
    return outside.min(axis=0), nearest


def skin_points(model: HandModel, count: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return vertices (count, 3) and their shares (count, 3): points spread evenly over the average hand at rest."""
    corners = model.vertices[model.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = rng_for(Key("hand", "skin", 0, 0, 0), "points")
    face = rng.choice(len(area), count, p=area / area.sum())
    return model.faces[face].astype(np.intp), rng.dirichlet(np.ones(3), count)


def fit(model: HandModel, poses: Sequence[str] = FIT_POSES) -> CapsuleSet:
    """Return capsules whose union follows the skin of the average hand; takes some seconds."""
    guess = first_guess(model)
    hands = [model.pose(model.gesture(pose)) for pose in poses]
    corners, shares = skin_points(model, SKIN_POINTS)
    clouds = [np.einsum("pc,pcx->px", shares, hand.vertices[corners]) for hand in hands]
    skin = np.concatenate(
        [in_joint_frames(h, cloud, guess.joints) for h, cloud in zip(hands, clouds, strict=True)], axis=1
    )
    count = len(guess.radii)
    start = values = np.concatenate([guess.ends.ravel(), guess.radii])
    widest = [BACK_RADIUS_M if name == "back" else _MAX_RADIUS_M for name in guess.segments]
    limits = [(None, None)] * (6 * count) + [(_MIN_RADIUS_M, most) for most in widest]
    for _ in range(ROUNDS):
        distance, _, _ = distance_to_axis(skin, *_ends(values, count))
        near = np.argsort(distance - values[6 * count :, None], axis=0)[:NEIGHBOURS]
        points = np.take_along_axis(skin, near[:, :, None], axis=0)
        found = minimize(
            _cost,
            values,
            (points, near, start),
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": 30},
        )
        values = np.asarray(found.x)
    return CapsuleSet(
        guess.segments, guess.joints, values[: 6 * count].reshape(count, 2, 3), values[6 * count :]
    )


def _ends(values: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    ends = values[: 6 * count].reshape(count, 2, 3)
    return ends[:, None, 0], ends[:, None, 1]


def _cost(
    values: FloatArray, points: FloatArray, near: NDArray[np.intp], start: FloatArray
) -> tuple[float, FloatArray]:
    """Return the cost of capsules and its gradient.

    Args:
        values: ends and radii.
        points: (k, p, 3) of the skin, as each of their k nearest capsules sees them.
        near: (k, p) those capsules.
        start: values that they should not go far from.
    """
    count = len(values) // 7
    ends, radii = values[: 6 * count].reshape(count, 2, 3), values[6 * count :]
    rows = np.arange(points.shape[1])
    distance, away, share = distance_to_axis(points, ends[near, 0], ends[near, 1])
    outside = distance - radii[near]
    pick = outside.argmin(axis=0)
    error = outside[pick, rows] / WORST_M
    slope = (2 * error + 4 * error**3) / WORST_M / len(rows)
    pull, at, own = slope[:, None] * away[pick, rows], share[pick, rows][:, None], near[pick, rows]
    gradient = np.zeros((count, 2, 3))
    np.add.at(gradient[:, 0], own, -pull * (1 - at))
    np.add.at(gradient[:, 1], own, -pull * at)
    by_radius = -np.bincount(own, slope, minlength=count)
    drift = (values - start) / DRIFT_M
    return (
        float((error**2 + error**4).mean() + HOLD * (drift**2).mean()),
        np.concatenate([gradient.ravel(), by_radius]) + 2 * HOLD * drift / DRIFT_M / len(values),
    )
