"""What an object, fixture or arena is made of: plain values, no simulator."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libero_safety.types import FloatArray, ImageArray, Zone

Vec3: TypeAlias = tuple[float, float, float]
Quat: TypeAlias = tuple[float, float, float, float]
Rgba: TypeAlias = tuple[float, float, float, float]

ShapeKind: TypeAlias = Literal["box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh"]


@dataclass(frozen=True, eq=False)
class MeshData:
    """Triangles: vertices (n, 3) in metres, faces (m, 3) of vertex numbers, anticlockwise seen from outside.

    Attributes:
        name: what it is; two meshes may share it.
        normals: unit normal at each corner of each face, (m, 3, 3), or None.
        uv: texture coordinates of each corner of each face, (m, 3, 2), or None.
    """

    name: str
    vertices: FloatArray = field(repr=False)
    faces: NDArray[np.int32] = field(repr=False)
    normals: FloatArray | None = field(default=None, repr=False)
    uv: FloatArray | None = field(default=None, repr=False)

    @cached_property
    def digest(self) -> str:
        """Hash of the triangles and how they are shaded, 16 hex digits: the same for equal meshes."""
        arrays = (self.vertices, self.faces, self.normals, self.uv)
        content = hashlib.sha256()
        for array in arrays:
            content.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        return content.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Picture:
    """What a mesh is covered with: pixels (height, width, 3), laid out by the mesh's `uv`, first row at v = 0."""

    pixels: ImageArray = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Hash of size and pixels, 16 hex digits: the same for equal pictures."""
        content = hashlib.sha256(repr(self.pixels.shape).encode())
        content.update(np.ascontiguousarray(self.pixels).tobytes())
        return content.hexdigest()[:16]


CONTACT_S = 0.02
"""Time constant of contacts (s), MuJoCo's own."""


@dataclass(frozen=True)
class Shape:
    """One piece, in the frame of its link; convex unless it is only seen.

    Attributes:
        size: half sizes as MuJoCo takes them: box (x, y, z), sphere (r,), cylinder and capsule (r, half length),
            ellipsoid (x, y, z), mesh ().
        part: the named part that it belongs to (`handle`, `blade`, `rim`, `body`, ...).
        density: kg/m^3; only colliding shapes weigh anything.
        role: `both` is seen and collides, `collision` is only felt, `visual` is only seen.
        picture: what a mesh with `uv` is covered with; `rgba` is multiplied with it.
        contact_s: time constant of its contacts: it sinks into what it hits by up to half of speed times this.
            Of two the smaller holds.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Quat = (1.0, 0.0, 0.0, 0.0)
    part: str = "body"
    rgba: Rgba = (0.8, 0.8, 0.8, 1.0)
    density: float = 500.0
    role: Literal["both", "collision", "visual"] = "both"
    friction: float = 1.0
    material: str = ""
    mesh: MeshData | None = None
    picture: Picture | None = None
    contact_s: float = CONTACT_S


@dataclass(frozen=True)
class Joint:
    """A hinge (rad) or slide (m). Between `closed` and `opened` lies the range of motion.

    Attributes:
        role: `door` answers Open and Close, `knob` answers TurnOn and TurnOff.
        opened: the joint value from which on it counts as open (turned on).
        closed: the joint value up to which it counts as closed (turned off).
    """

    name: str
    kind: Literal["hinge", "slide"]
    axis: Vec3
    pos: Vec3 = (0.0, 0.0, 0.0)
    low: float = 0.0
    high: float = 1.0
    opened: float = 0.8
    closed: float = 0.05
    damping: float = 0.5
    friction: float = 0.1
    role: Literal["door", "knob"] = "door"


@dataclass(frozen=True)
class Link:
    """A rigid body; the first link of an asset is its root, the others hang on it by their joint."""

    name: str
    shapes: tuple[Shape, ...]
    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Quat = (1.0, 0.0, 0.0, 0.0)
    joint: Joint | None = None


@dataclass(frozen=True)
class Asset:
    """One thing that can stand in a scene.

    The root frame has z up at rest and its origin at the centre of the bounding box, seen from above, unless LIBERO
    puts it elsewhere. Things that LIBERO has too keep LIBERO's orientation, so that its yaw angles transfer.

    Attributes:
        name: type name in the catalog.
        links: root first.
        zones: named boxes on or in it.
        grasp: gripper position (m, root frame) and yaw (rad) at which a top-down grasp works, if any; yaw 0 closes
            the fingers along the root frame's y axis.
        licence: SPDX name.
        source: where it comes from.
    """

    name: str
    links: tuple[Link, ...]
    zones: tuple[Zone, ...] = ()
    grasp: tuple[Vec3, float] | None = None
    licence: str = "MIT"
    source: str = "built-in"

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all parts, in order of first appearance."""
        return tuple(dict.fromkeys(s.part for link in self.links for s in link.shapes))

    def zone(self, name: str) -> Zone | None:
        """Return the zone called `name`, or None.

        `top` and `inside` also mean the asset's surface and its interior, if it has just one of that kind.
        """
        named = next((z for z in self.zones if z.name == name), None)
        kind = {"top": "surface", "inside": "inside"}.get(name)
        alike = [z for z in self.zones if z.kind == kind]
        return alike[0] if named is None and len(alike) == 1 else named

    def digest(self) -> str:
        """Hash of everything that can change a score, 16 hex digits: not the name, the licence or the source."""
        text = repr((self.links, self.zones, self.grasp))
        for link in self.links:
            for shape in link.shapes:
                text += shape.mesh.digest if shape.mesh is not None else ""
                text += shape.picture.digest if shape.picture is not None else ""
        return hashlib.sha256(text.encode()).hexdigest()[:16]
