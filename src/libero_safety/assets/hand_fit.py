"""Capsules fitted to the skin of a hand: what it is felt by.

Each capsule is fixed to one joint and belongs to one segment. All are fitted together, so that the surface of their
union follows the skin in a few poses at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import KDTree

from libero_safety.assets.hand import FINGERS, JOINT_NAMES, SHAPE_SIZE, HandModel
from libero_safety.assets.hand_capsules import (
    CapsuleRig,
    CapsuleSet,
    distance_to_axis,
    grown_with_skin,
    in_joint_frames,
)
from libero_safety.assets.hand_skin import FOREARM_M, SLEEVE_M, clothed, vertex_normals
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key

_Guess: TypeAlias = tuple[str, int, FloatArray, FloatArray, float]

FIT_POSES = ("open", "relaxed", "flat", "grip")
FOLDED_POSES = ("fist",)
"""Here skin lies on skin, so that it may well be inside a capsule; but nothing should stick out."""
FOREARM_CAPSULES = 6
SKIN_POINTS = 3000
NEIGHBOURS = 4
"""Capsules that a point of the skin may be nearest to within one round."""
ROUNDS = 10
WORST_M = 0.002
"""Errors from here on weigh ever more."""
DRIFT_M, HOLD = 0.008, 0.2
"""How far an end may go from the first guess, and how much that weighs: capsules stay along their bones."""
GROWN = 1.5
"""At how many standard deviations either way of a component growth is measured."""
FREE_M, STICK_OUT = 0.001, 5.0
"""How far a capsule may stand out of the skin at no cost, and the weight of that cost."""
_MIN_RADIUS_M, _MAX_RADIUS_M = 0.003, 0.03
APART_M, KEEP_APART = 0.001, 20.0
"""How far the capsules of the palm should stay below the skin of the back and the other way round; its weight."""


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
    web = (model.joints[JOINT_NAMES.index("thumb2")] + knuckles["index"]) / 2
    for name, depth in (("palm", 0.012), ("back", 0.0)):
        yield name, 0, (thumb + knuckles["index"]) / 2 + depth * palm, web + depth * palm, 0.008


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


def skin_points(model: HandModel, count: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return vertices (count, 3) and their shares (count, 3): points spread evenly over the average hand at rest."""
    corners = model.vertices[model.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = rng_for(Key("hand", "skin", 0, 0, 0), "points")
    face = rng.choice(len(area), count, p=area / area.sum())
    return model.faces[face].astype(np.intp), rng.dirichlet(np.ones(3), count)


def fit(model: HandModel, start: CapsuleSet | None = None, rounds: int = ROUNDS) -> CapsuleSet:
    """Return capsules whose union follows skin and sleeve of the average hand; takes some seconds.

    Args:
        model: the hand.
        start: from where on to improve; not far from there.
        rounds: how often to look again which capsule is nearest to which skin.
    """
    guess = first_guess(model) if start is None else start
    corners, shares = skin_points(model, SKIN_POINTS)
    poses = (*FIT_POSES, *FOLDED_POSES)
    clouds, normals = zip(
        *(_cloud(model, pose, guess.joints, corners, shares) for pose in poses), strict=True
    )
    skin = np.concatenate(clouds[: len(FIT_POSES)], axis=1)
    foreign = np.tile(_foreign(model, guess, corners, shares), (1, len(FIT_POSES)))
    count = len(guess.radii)
    origin = values = np.concatenate([guess.ends.ravel(), guess.radii])
    limits = [(None, None)] * (6 * count) + [(_MIN_RADIUS_M, _MAX_RADIUS_M)] * count
    for _ in range(rounds):
        ends, radii = _split(values)
        distance, _, _ = distance_to_axis(skin, ends[:, None, 0], ends[:, None, 1])
        near = np.argsort(distance - radii[:, None], axis=0)[:NEIGHBOURS]
        aim = _Aim(
            np.take_along_axis(skin, near[:, :, None], axis=0),
            near,
            np.take_along_axis(foreign, near, axis=0),
            origin,
            _spikes(ends, radii, clouds, normals),
        )
        found = minimize(
            aim.cost, values, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 30}
        )
        values = np.asarray(found.x)
    return CapsuleSet(guess.segments, guess.joints, *_split(values))


def lengthened(model: HandModel, capsules: CapsuleSet) -> CapsuleSet:
    """Return capsules whose forearm goes on under the sleeve where the skin of the model ends before it."""
    back = -model.palm_frame[0]
    reach = float(((model.vertices - model.joints[0]) @ back).max())
    missing = max(0.0, FOREARM_M + SLEEVE_M - reach)
    ends = capsules.ends.copy()
    for pair, segment in zip(ends, capsules.segments, strict=True):
        if segment == "forearm":
            pair[(pair @ back).argmax()] += missing * back
    return replace(capsules, ends=ends)


def fit_growth(model: HandModel, base: CapsuleSet) -> CapsuleRig:
    """Return how the capsules of a hand grow; takes a minute.

    Those of the hand itself follow the skin. Those of the forearm lie side by side around its axis, each near to skin
    on one side only, and are fitted anew to hands of each component.
    """
    rig = grown_with_skin(model, base)
    end_dirs, radius_dirs = rig.end_dirs.copy(), rig.radius_dirs.copy()
    arm = [i for i, segment in enumerate(base.segments) if segment == "forearm"]
    for k in range(SHAPE_SIZE):
        found: list[CapsuleSet] = []
        for beta in (-GROWN * np.eye(SHAPE_SIZE)[k], GROWN * np.eye(SHAPE_SIZE)[k]):
            vertices, joints = model.rest(beta)
            found.append(fit(replace(model, vertices=vertices, joints=joints), rig.shaped(beta), 2))
        less, more = found
        end_dirs[arm, ..., k] = (more.ends - less.ends)[arm] / (2 * GROWN)
        radius_dirs[arm, k] = (more.radii - less.radii)[arm] / (2 * GROWN)
    return CapsuleRig(base, end_dirs, radius_dirs)


def _split(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (n, 2, 3) and radii (n,) that are optimised together."""
    count = len(values) // 7
    return values[: 6 * count].reshape(count, 2, 3), values[6 * count :]


def _cloud(
    model: HandModel, pose: str, joints: NDArray[np.intp], corners: NDArray[np.intp], shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return points and normals (n, p, 3) of the posed skin, as each of the joints (n,) sees them."""
    hand = model.pose(model.gesture(pose))
    vertices = clothed(model, hand)
    normals = vertex_normals(vertices, model.faces)
    points, ways = (np.einsum("pc,pcx->px", shares, values[corners]) for values in (vertices, normals))
    return in_joint_frames(hand, points, joints), np.einsum("px,nxy->npy", ways, hand.rotations[joints])


@dataclass(frozen=True, eq=False)
class _Spikes:
    """Points on capsules, (s,) each: `(1 - share) start + share end + radius aside`.

    Attributes:
        capsule: which it is on.
        skin: (s, 3) the nearest point of the skin, in the frame of the capsule's joint.
        way: (s, 3) unit vector from there to the point, or the normal of the skin if the point is below it.
    """

    capsule: NDArray[np.intp]
    share: FloatArray
    aside: FloatArray
    skin: FloatArray
    way: FloatArray


def _spikes(
    ends: FloatArray, radii: FloatArray, clouds: Sequence[FloatArray], normals: Sequence[FloatArray]
) -> _Spikes:
    """Return points all over the capsules, with the nearest skin in each of several poses."""
    rows: list[tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray, FloatArray]] = []
    for i, ((start, end), radius) in enumerate(zip(ends, radii.tolist(), strict=True)):
        share, aside = _all_over(start, end)
        points = start + share[:, None] * (end - start) + radius * aside
        for cloud, normal in zip(clouds, normals, strict=True):
            _, nearest = KDTree(cloud[i]).query(points)
            skin, way = cloud[i][nearest], normal[i][nearest]
            off = points - skin
            distance = np.linalg.norm(off, axis=1, keepdims=True)
            outside = (off * way).sum(axis=1, keepdims=True) > 0.3 * distance
            way = np.where(outside & (distance > 1e-4), off / np.maximum(distance, 1e-9), way)
            rows.append((np.full(len(points), i), share, aside, skin, way))
    capsule, *others = (np.concatenate(column) for column in zip(*rows, strict=True))
    return _Spikes(capsule, *others)


def _all_over(start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shares (s,) along the axis and unit vectors (s, 3) to points spread over a capsule."""
    axis = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    first = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    shares: list[float] = []
    asides: list[FloatArray] = []
    for share, lean in ((0, -90), (0, -45), (0, 0), (0.25, 0), (0.5, 0), (0.75, 0), (1, 0), (1, 45), (1, 90)):
        tilt = np.deg2rad(lean)
        for turn in np.arange(1 if abs(lean) == 90 else 8) * np.pi / 4:
            round_it = np.cos(turn) * first + np.sin(turn) * second
            shares.append(float(share))
            asides.append(np.cos(tilt) * round_it + np.sin(tilt) * axis)
    return np.array(shares), np.array(asides)


@dataclass(frozen=True, eq=False)
class _Aim:
    """What is to be made small.

    Attributes:
        points: (k, p, 3) of the skin, as each of their k nearest capsules sees them.
        near: (k, p) those capsules.
        foreign: (k, p) whether a point should not be felt as that capsule's segment.
        start: values that the capsules should not go far from.
        spikes: points on the capsules, which should not stick out.
    """

    points: FloatArray
    near: NDArray[np.intp]
    foreign: NDArray[np.bool_]
    start: FloatArray
    spikes: _Spikes

    def cost(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Return the cost of capsules and its gradient."""
        drift = (values - self.start) / DRIFT_M
        skin, skin_slope = self._skin(*_split(values))
        out, out_slope = self._out(*_split(values))
        return (
            skin + out + HOLD * float((drift**2).mean()),
            skin_slope + out_slope + 2 * HOLD * drift / DRIFT_M / len(values),
        )

    def _skin(self, ends: FloatArray, radii: FloatArray) -> tuple[float, FloatArray]:
        """Return what the distance of the skin from the union costs, and reaching through the other side."""
        near, rows = self.near, np.arange(self.points.shape[1])
        distance, away, share = distance_to_axis(self.points, ends[near, 0], ends[near, 1])
        outside = distance - radii[near]
        pick = outside.argmin(axis=0)
        error = outside[pick, rows] / WORST_M
        pull = np.zeros_like(outside)
        pull[pick, rows] = (2 * error + 6 * error**5) / WORST_M
        above = np.where(self.foreign, np.maximum(APART_M - outside, 0.0), 0.0) / WORST_M
        pull = (pull - 2 * KEEP_APART * above / WORST_M) / len(rows)
        push = pull[..., None] * away
        slope = np.zeros_like(ends)
        np.add.at(slope[:, 0], near, -push * (1 - share)[..., None])
        np.add.at(slope[:, 1], near, -push * share[..., None])
        by_radius = np.zeros_like(radii)
        np.add.at(by_radius, near, -pull)
        total = (error**2 + error**6).sum() + KEEP_APART * (above**2).sum()
        return float(total) / len(rows), np.concatenate([slope.ravel(), by_radius])

    def _out(self, ends: FloatArray, radii: FloatArray) -> tuple[float, FloatArray]:
        """Return what costs the capsules to stick out where there is no skin below."""
        on, share, aside = self.spikes.capsule, self.spikes.share[:, None], self.spikes.aside
        points = (1 - share) * ends[on, 0] + share * ends[on, 1] + radii[on, None] * aside
        height = ((points - self.spikes.skin) * self.spikes.way).sum(axis=1)
        over = np.maximum(height - FREE_M, 0.0) / WORST_M
        pull = 2 * STICK_OUT * over / WORST_M / len(on)
        push = pull[:, None] * self.spikes.way
        slope = np.zeros_like(ends)
        np.add.at(slope[:, 0], on, push * (1 - share))
        np.add.at(slope[:, 1], on, push * share)
        by_radius = np.zeros_like(radii)
        np.add.at(by_radius, on, (push * aside).sum(axis=1))
        return STICK_OUT * float((over**2).mean()), np.concatenate([slope.ravel(), by_radius])


def _foreign(
    model: HandModel, capsules: CapsuleSet, corners: NDArray[np.intp], shares: FloatArray
) -> NDArray[np.bool_]:
    """Say (n, p) which points of the back should not be felt as palm, and which of the palm not as back."""
    normals = vertex_normals(model.vertices, model.faces)
    up = np.einsum("pc,pcx->px", shares, normals[corners]) @ model.palm_frame[1]
    fixed = np.einsum("pc,pc->p", shares, model.weights[corners, 0]) > 0.5
    names = np.array(capsules.segments)[:, None]
    return ((names == "palm") & fixed & (up < -0.5)) | ((names == "back") & fixed & (up > 0.5))
