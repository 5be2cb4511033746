"""An MJCF file as an asset: geoms become shapes with parts, box sites zones, joints doors and knobs.

The rules are on the page `docs/assets.md`. Only what collides weighs anything; a mesh that collides does so as its
convex hull, as in MuJoCo.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from libero_safety.assets.asset import (
    Asset,
    Joint,
    Link,
    MeshData,
    Picture,
    Quat,
    Rgba,
    Shape,
    ShapeKind,
    Vec3,
)
from libero_safety.assets.geometry import (
    bounds,
    colliding,
    quat_about,
    quat_multiply,
    rotate,
    rotation,
    shape_bounds,
    shifted,
)
from libero_safety.assets.mjcf_file import AssetFileError, MjcfFile, read_mjcf
from libero_safety.assets.mjcf_mass import weighed
from libero_safety.assets.mjcf_mesh import hull, is_flat, picture, seen_mesh, texture_of
from libero_safety.registry import near_match
from libero_safety.types import FloatArray, Zone

LARGEST_M, SMALLEST_M = 3.0, 0.001
"""Things larger or smaller than this are taken for things in another unit."""
HEADROOM_M = 0.05
"""Half height of a zone on top of something."""
THIN_M = 0.006
"""Box sites with a half height below this are surfaces to stand on, the others rooms to be in."""
OPENED_SHARE, CLOSED_SHARE = 0.8, 0.05
"""Shares of a joint's range from which on it is open, and up to which it is closed."""
NO_LICENCE = "NOASSERTION"
"""SPDX word for a licence that nobody stated."""

UPS: dict[str, Quat] = {
    "z": (1.0, 0.0, 0.0, 0.0),
    "-z": (0.0, 1.0, 0.0, 0.0),
    "y": quat_about((1.0, 0.0, 0.0), math.pi / 2),
    "-y": quat_about((1.0, 0.0, 0.0), -math.pi / 2),
    "x": quat_about((0.0, 1.0, 0.0), -math.pi / 2),
    "-x": quat_about((0.0, 1.0, 0.0), math.pi / 2),
}
"""Which way is up in a file -> the turn that makes it z."""
_NOT_PARTS = frozenset(
    "geom geoms collision coll col visual vis mesh object base root main world link body g c v".split()
)
_KINDS: Mapping[str, tuple[ShapeKind, int]] = {
    "mjGEOM_BOX": ("box", 3),
    "mjGEOM_SPHERE": ("sphere", 1),
    "mjGEOM_CAPSULE": ("capsule", 2),
    "mjGEOM_CYLINDER": ("cylinder", 2),
    "mjGEOM_ELLIPSOID": ("ellipsoid", 3),
    "mjGEOM_MESH": ("mesh", 0),
}
_PLAIN: Rgba = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's colour of a geom that has none."""


@dataclass(frozen=True)
class Reading:
    """What a file does not say itself.

    Attributes:
        turn: rotation that makes z up; None: as its `<text name="up">` says, z if there is none.
        thresholds: joint name -> (opened, closed) in the direction of opening.
        licence: SPDX name; None: as its `<text name="licence">` says.
        first_name_holds: of things that share a name the first is taken; an error otherwise.
        ignored_sites: sites that are no zones.
    """

    turn: Quat | None = None
    thresholds: Mapping[str, tuple[float, float]] | None = None
    licence: str | None = None
    first_name_holds: bool = False
    ignored_sites: frozenset[str] = frozenset()


def read_asset(path: Path, name: str, source: str, root: Path, reading: Reading = Reading()) -> Asset:
    """Return the asset in an MJCF file.

    What has a joint keeps its origin above the ground; anything else has it at the middle of its bounding box.

    Args:
        path: the file.
        name: of the type.
        source: where it is from, for the run log.
        root: the folder that holds everything that the file names.
        reading: what the file does not say itself.

    Raises:
        AssetFileError: the file cannot be read, MuJoCo refuses it, or it holds no usable thing; the message begins with
            its path.
    """
    file = read_mjcf(path, root, first_name_holds=reading.first_name_holds)
    turn = reading.turn or _up(file)
    convert = _Converter(file, turn, reading)
    asset = Asset(
        name,
        convert.links(),
        licence=reading.licence or file.texts.get("licence", NO_LICENCE),
        source=source,
    )
    if not any(True for _ in colliding(asset)):
        raise AssetFileError(f"{path}: nothing in it can be touched: no geom has a contype or conaffinity")
    asset = replace(asset, zones=convert.zones({link.name: link for link in asset.links}))
    _check_size(path, asset)
    low, high = bounds(asset)
    middle = (0.0, 0.0) if len(asset.links) > 1 else ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2)
    return shifted(asset, (-middle[0], -middle[1], -low[2]))


def _up(file: MjcfFile) -> Quat:
    up = file.texts.get("up", "z").removeprefix("+")
    if up not in UPS:
        raise AssetFileError(f"{file.path}: up is {up!r}{near_match(up, UPS)}. Known: {', '.join(UPS)}")
    return UPS[up]


def _check_size(path: Path, asset: Asset) -> None:
    shapes = [shape for link in asset.links for shape in link.shapes]
    low, high = shape_bounds(shapes)
    extent = max(h - w for w, h in zip(low, high, strict=True))
    size = " x ".join(f"{h - w:.4g}" for w, h in zip(low, high, strict=True))
    if not math.isfinite(extent):
        raise AssetFileError(f"{path}: a geom has a size or position that is not finite")
    if extent > LARGEST_M:
        hint = "in centimetres or millimetres? Give its meshes a scale of 0.01 or 0.001"
        raise AssetFileError(f"{path}: {size} m is larger than {LARGEST_M:g} m: {hint}")
    if extent < SMALLEST_M:
        raise AssetFileError(f"{path}: {size} m is smaller than {SMALLEST_M:g} m: not in metres?")


class _Converter:
    """Reads bodies, geoms, sites and joints of one compiled file.

    Frames of links have the axes of the asset's root frame, and the body's origin as theirs.
    """

    def __init__(self, file: MjcfFile, turn: Quat, reading: Reading) -> None:
        import mujoco

        self._mj = mujoco
        self._file, self._model, self._reading = file, file.model, reading
        self._turn = turn
        self._data = mujoco.MjData(file.model)
        mujoco.mj_kinematics(file.model, self._data)
        self._owner = self._owners()
        self._hulls: dict[int, MeshData] = {}
        self._pictures: dict[int, Picture] = {}

    def links(self) -> tuple[Link, ...]:
        """Return the root and one link for each body with a joint."""
        made: list[Link] = []
        for body in sorted({0, *self._owner.values()}):
            geoms = [
                g for g in range(self._model.ngeom) if self._owner[int(self._model.geom_bodyid[g])] == body
            ]
            shapes = weighed(self._file, geoms, self._shapes(geoms, body), self._link_name(body))
            joint = self._joint(body) if body else None
            made.append(Link(self._link_name(body), tuple(shapes), self._origin(body), joint=joint))
        return tuple(made)

    def zones(self, links: Mapping[str, Link]) -> tuple[Zone, ...]:
        """Return a zone for each box site; turned boxes as the upright box around them."""
        found: dict[str, Zone] = {}
        for i in range(self._model.nsite):
            site = self._model.site(i)
            if (
                int(site.type[0]) != self._mj.mjtGeom.mjGEOM_BOX
                or not site.name
                or site.name in self._reading.ignored_sites
            ):
                continue
            body = self._owner[int(site.bodyid[0])]
            frame = rotation(self._turn) @ self._data.site_xmat[i].reshape(3, 3)
            half = np.abs(frame) @ site.size
            x, y, z = (np.subtract(self._at(self._data.site_xpos[i]), self._origin(body))).tolist()
            link = self._link_name(body) if body else ""
            zone = Zone(
                site.name, (x, y, z), (float(half[0]), float(half[1]), float(half[2])), "inside", link
            )
            found[site.name] = (
                zone if half[2] > THIN_M else _surface(zone, links[self._link_name(body)].shapes)
            )
        return tuple(found.values())

    def _fail(self, message: str) -> AssetFileError:
        return AssetFileError(f"{self._file.path}: {message}")

    def _owners(self) -> dict[int, int]:
        """Return body -> the body whose joint moves it; 0 for what moves with the root."""
        free = self._mj.mjtJoint.mjJNT_FREE
        owner = {0: 0}
        for body in range(1, self._model.nbody):
            count, first = int(self._model.body_jntnum[body]), int(self._model.body_jntadr[body])
            above = owner[int(self._model.body_parentid[body])]
            if count == 0 or int(self._model.jnt_type[first]) == free:
                owner[body] = above
                continue
            name = self._model.body(body).name or f"body {body}"
            if count > 1:
                raise self._fail(f"{name} has {count} joints; one is supported")
            if above:
                raise self._fail(
                    f"{name} has a joint and hangs on a body with a joint; that is not supported"
                )
            owner[body] = body
        return owner

    def _link_name(self, body: int) -> str:
        if not body:
            return "root"
        name = self._model.body(body).name or self._model.joint(int(self._model.body_jntadr[body])).name
        return name.replace("/", "_") or f"link_{body}"

    def _at(self, pos: FloatArray) -> Vec3:
        x, y, z = np.asarray(pos).tolist()
        return rotate(self._turn, (x, y, z))

    def _origin(self, body: int) -> Vec3:
        return self._at(self._data.xpos[body]) if body else (0.0, 0.0, 0.0)

    def _joint(self, body: int) -> Joint:
        """Return the joint of a body; it opens in the positive direction, from where the file has it."""
        index = int(self._model.body_jntadr[body])
        joint = self._model.joint(index)
        kinds = {self._mj.mjtJoint.mjJNT_HINGE: "hinge", self._mj.mjtJoint.mjJNT_SLIDE: "slide"}
        kind = kinds.get(int(joint.type[0]))
        if kind is None:
            raise self._fail(f"joint {joint.name!r} is neither a hinge nor a slide")
        if not self._model.jnt_limited[index]:
            raise self._fail(f"joint {joint.name!r} has no range")
        low, high = (float(v) for v in joint.range)
        sign = 1.0 if high >= -low else -1.0
        low, high = (low, high) if sign > 0 else (-high, -low)
        axis = sign * self._data.xaxis[index]
        opened, closed = (self._reading.thresholds or {}).get(
            joint.name,
            (low + OPENED_SHARE * (high - low), max(low, 0.0) + CLOSED_SHARE * (high - max(low, 0.0))),
        )
        return Joint(
            joint.name.replace("/", "_") or f"joint_{index}",
            "hinge" if kind == "hinge" else "slide",
            self._at(axis),
            pos=_minus(self._at(self._data.xanchor[index]), self._origin(body)),
            low=low + 0.0,  # no negative zero
            high=high,
            opened=opened,
            closed=closed,
            damping=float(self._model.dof_damping[self._model.jnt_dofadr[index]]),
            friction=float(self._model.dof_frictionloss[self._model.jnt_dofadr[index]]),
            role="knob" if re.search("knob|button|switch|dial", joint.name) else "door",
        )

    def _shapes(self, geoms: Sequence[int], owner: int) -> list[Shape]:
        groups = {int(self._model.geom_group[g]) for g in geoms if not self._felt(g)}
        return [
            self._shape(g, owner, drawn=not groups or int(self._model.geom_group[g]) in groups) for g in geoms
        ]

    def _felt(self, geom: int) -> bool:
        return bool(self._model.geom_contype[geom] or self._model.geom_conaffinity[geom])

    def _shape(self, geom: int, owner: int, *, drawn: bool) -> Shape:
        """Return a geom in the frame of its link; `drawn` is about geoms that collide."""
        model, felt = self._model, self._felt(geom)
        kind_of = self._mj.mjtGeom(int(model.geom_type[geom])).name
        if kind_of not in _KINDS:
            what = kind_of.removeprefix("mjGEOM_").lower()
            raise self._fail(
                f"geom {model.geom(geom).name or geom!r} is a {what}; an asset is made of solids"
            )
        kind, sizes = _KINDS[kind_of]
        quat = np.empty(4)
        self._mj.mju_mat2Quat(quat, self._data.geom_xmat[geom])
        w, x, y, z = quat.tolist()
        mesh = None if kind != "mesh" else self._mesh(int(model.geom_dataid[geom]), felt)
        cover = self._cover(geom) if mesh is not None and mesh.uv is not None else None
        return Shape(
            kind,
            tuple(float(v) for v in model.geom_size[geom][:sizes]),
            _minus(self._at(self._data.geom_xpos[geom]), self._origin(owner)),
            quat_multiply(self._turn, (w, x, y, z)),
            part=self._part(geom),
            rgba=self._colour(geom, mean=cover is None),
            role="visual" if not felt else "both" if drawn else "collision",
            friction=float(model.geom_friction[geom][0]),
            mesh=mesh,
            picture=cover,
        )

    def _part(self, geom: int) -> str:
        """Return the part of a geom: its name before a slash, or without words that name no part, or its body's."""
        name = self._model.geom(geom).name
        if "/" in name:
            return name.split("/")[0].replace(".", "_") or "body"
        body = self._model.body(int(self._model.geom_bodyid[geom])).name
        for label in (name, body):
            words = [
                w
                for w in re.split(r"[_\-.\s]+", label)
                if w and not w.isdigit() and w.lower() not in _NOT_PARTS
            ]
            if words and label != self._file.path.stem:
                return "_".join(words)
        return "body"

    def _colour(self, geom: int, *, mean: bool) -> Rgba:
        """Return the colour of a geom; with `mean` times that of the picture on its material."""
        model = self._model
        own, material = model.geom_rgba[geom], int(model.geom_matid[geom])
        colour = np.array(
            model.mat_rgba[material] if material >= 0 and np.allclose(own, _PLAIN) else own, float
        )
        texture = texture_of(model, geom)
        if mean and texture is not None:
            colour[:3] *= self._picture(texture).pixels.mean(axis=(0, 1)) / 255
        r, g, b, a = colour.tolist()
        return (r, g, b, a)

    def _cover(self, geom: int) -> Picture | None:
        texture = texture_of(self._model, geom)
        return None if texture is None or not is_flat(self._model, texture) else self._picture(texture)

    def _picture(self, texture: int) -> Picture:
        if texture not in self._pictures:
            self._pictures[texture] = picture(self._model, texture)
        return self._pictures[texture]

    def _mesh(self, index: int, felt: bool) -> MeshData:
        if not felt:
            return seen_mesh(self._model, index)
        if index not in self._hulls:
            self._hulls[index] = hull(self._model, index, str(self._file.path))
        return self._hulls[index]


def _surface(site: Zone, shapes: Sequence[Shape]) -> Zone:
    """Return the room above a thin site; it begins on the highest thing at its middle, if one is near its height."""
    (x, y, z), top = site.pos, site.pos[2]
    for shape in shapes:
        low, high = shape_bounds([shape])
        covers = low[0] <= x <= high[0] and low[1] <= y <= high[1]
        if shape.role != "visual" and covers and abs(high[2] - z) < HEADROOM_M:
            top = max(top, high[2])
    half = (site.half[0], site.half[1], HEADROOM_M)
    return replace(site, pos=(x, y, top + HEADROOM_M), half=half, kind="surface")


def _minus(a: Vec3, b: Vec3) -> Vec3:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])
