"""Reading MJCF files of other origin: checked before MuJoCo sees them, compiled without touching the disk again."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from libero_safety.errors import LiberoSafetyError
from libero_safety.mujoco_log import no_log_file

if TYPE_CHECKING:
    import mujoco

TEXTURE_PX = 512
"""Pictures larger than this are read smaller: a camera image shows no more of them."""
MESH_SUFFIXES = (".obj", ".stl", ".msh")
_SECTIONS = ("compiler", "default", "asset", "worldbody", "custom")
"""What is read of a file; actuators, sensors, options and the like belong to a simulation, not to a thing."""
_COMPILER = ("angle", "eulerseq", "autolimits")
"""Compiler settings that change what the rest of a file says."""
_ASSETS = ("mesh", "texture", "material")
_REFUSED = ("composite", "flexcomp", "attach", "plugin", "extension", "hfield", "skin", "model", "deformable")
_NAMES = frozenset("name class childclass model file mesh material texture data".split())
"""Attributes that are no numbers."""
_NOT_FINITE = re.compile(r"(?<![\w.])[+-]?(nan|inf(inity)?)(?!\w)", re.IGNORECASE)
_FACES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
_DEEPEST_INCLUDE = 10


class AssetFileError(LiberoSafetyError):
    """A file that cannot be used as an asset; the message begins with its path."""


@dataclass(frozen=True)
class MjcfFile:
    """A file as MuJoCo understands it.

    Attributes:
        spec: what it says.
        model: compiled.
        texts: its `<custom><text name="..." data="..."/></custom>`.
    """

    path: Path
    spec: "mujoco.MjSpec"
    model: "mujoco.MjModel"
    texts: dict[str, str]


def read_mjcf(path: Path, root: Path, *, first_name_holds: bool = False) -> MjcfFile:
    """Read a file, and the meshes and pictures that it names, which must lie in the folder `root`.

    Args:
        path: the file.
        root: whatever it names outside of this folder is refused.
        first_name_holds: of meshes, textures and materials that share a name the first is taken; an error otherwise.

    Raises:
        AssetFileError: it cannot be read, is no MJCF, has external entities, names a file that is missing, outside the
            folder or no mesh or picture, or MuJoCo refuses it.
    """
    import mujoco  # here, so that a catalog of built-in assets does without it

    no_log_file()
    tree = _tree(path, root, 0)
    for element in tree.iter():
        if element.tag in _REFUSED:
            raise AssetFileError(f"{path}: <{element.tag}> is not supported in an asset")
        for name, value in element.items():
            if name not in _NAMES and _NOT_FINITE.search(value):
                raise AssetFileError(f'{path}: <{element.tag} {name}="{value}"> is not finite')
    files = _Files(path, root, tree)
    kept = ET.Element("mujoco", {"model": tree.get("model", path.stem)})
    for section in tree:
        if section.tag in _SECTIONS:
            kept.append(section)
    _only_meaning(kept)
    if first_name_holds:
        _drop_repeated(kept)
    contents = dict(files.take(kept))
    try:
        spec = mujoco.MjSpec.from_string(ET.tostring(kept, encoding="unicode"), assets=contents)
        model = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as problem:
        reason = files.original(" ".join(str(problem).split()))
        raise AssetFileError(f"{path}: MuJoCo refuses it: {reason}") from None
    texts = {t.get("name", ""): t.get("data", "") for t in kept.iterfind("custom/text")}
    return MjcfFile(path, spec, model, texts)


def _tree(path: Path, root: Path, depth: int) -> ET.Element:
    """Return the elements of a file with those of the files that it includes in their places."""
    if depth > _DEEPEST_INCLUDE:
        raise AssetFileError(f"{path}: files that include each other more than {_DEEPEST_INCLUDE} deep")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise AssetFileError(f"{path}: cannot be read: {problem}") from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise AssetFileError(f"{path}: document types and entities are not allowed in an asset")
    try:
        tree = ET.fromstring(text)
    except ET.ParseError as problem:
        raise AssetFileError(f"{path}: no XML: {problem}") from None
    if tree.tag not in ("mujoco", "mujocoinclude"):
        raise AssetFileError(f"{path}: no MJCF: the outermost element is <{tree.tag}>, not <mujoco>")
    for parent in list(tree.iter()):
        for index, child in reversed(list(enumerate(parent))):
            if child.tag == "include":
                target = inside(path, root, path.parent / child.get("file", ""), "<include>")
                parent[index : index + 1] = list(_tree(target, root, depth + 1))
    return tree


def inside(path: Path, root: Path, target: Path, what: str) -> Path:
    """Return `target` if it is a file within the folder `root`; `path` and `what` are for the error."""
    resolved = target.resolve()
    if not resolved.is_relative_to(root.resolve()):
        raise AssetFileError(f"{path}: {what} names {target}, which is outside of {root}")
    if not resolved.is_file():
        raise AssetFileError(f"{path}: {what} names {target}, which is no file")
    return resolved


def _only_meaning(tree: ET.Element) -> None:
    """Drop compiler settings, mesh inertias (a look need not be a solid) and free joints (a scene says what moves)."""
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag == "freejoint" or (child.tag == "joint" and child.get("type") == "free"):
                parent.remove(child)
    for compiler in tree.iterfind("compiler"):
        for name in set(compiler.attrib) - set(_COMPILER):
            del compiler.attrib[name]
    for mesh in tree.iterfind("asset/mesh"):
        mesh.set("inertia", "shell")


def _drop_repeated(tree: ET.Element) -> None:
    seen: set[tuple[str, str]] = set()
    for assets in tree.iterfind("asset"):
        for child in list(assets):
            name = (child.tag, child.get("name", ""))
            if name[1] and name in seen:
                assets.remove(child)
            seen.add(name)


class _Files:
    """The meshes and pictures of one file, handed to MuJoCo under names of our own."""

    def __init__(self, path: Path, root: Path, tree: ET.Element) -> None:
        self._path, self._root = path, root
        self._names: dict[str, Path] = {}
        settings: dict[str, str] = {}
        for compiler in tree.iterfind("compiler"):
            settings.update(compiler.attrib)
        both = settings.get("assetdir", "")
        self._folders = {
            "mesh": path.parent / settings.get("meshdir", both),
            "texture": path.parent / settings.get("texturedir", both),
        }
        self._strip = settings.get("strippath") == "true"

    def take(self, tree: ET.Element) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file, and put the name into the element that asks for it."""
        for element in tree.iterfind("asset/*"):
            if element.tag not in _ASSETS:
                raise AssetFileError(f"{self._path}: <{element.tag}> is not supported in an asset")
            for attribute in ("file", *_FACES):
                name = element.get(attribute)
                if name is None:
                    continue
                if not element.get("name"):
                    element.set("name", Path(name).stem)
                if element.tag == "material":
                    raise AssetFileError(f"{self._path}: a material cannot have a file")
                found = self._find(element.tag, name)
                suffix = found.suffix.lower() if element.tag == "mesh" else ".png"
                key = f"{len(self._names)}{suffix}"
                self._names[key] = found
                element.attrib.pop("content_type", None)
                element.set(attribute, key)
                yield key, self._mesh(found) if element.tag == "mesh" else self._picture(found)

    def original(self, message: str) -> str:
        """Return MuJoCo's message with the files' own names in it."""
        for key, path in self._names.items():
            message = message.replace(f"'{key}'", f"'{path.name}'")
        return message

    def _find(self, kind: str, name: str) -> Path:
        target = Path(name.replace("\\", "/"))
        target = Path(target.name) if self._strip else target
        return inside(self._path, self._root, self._folders[kind] / target, f"<{kind}>")

    def _mesh(self, path: Path) -> bytes:
        if path.suffix.lower() not in MESH_SUFFIXES:
            raise AssetFileError(f"{self._path}: mesh {path.name} is none of {', '.join(MESH_SUFFIXES)}")
        content = path.read_bytes()
        if not content:
            raise AssetFileError(f"{self._path}: mesh {path.name} is empty")
        return content

    def _picture(self, path: Path) -> bytes:
        from PIL import Image

        try:
            with Image.open(path) as picture:
                small = picture.convert("RGB")
        except Exception as problem:  # whatever a broken file makes the decoder raise
            raise AssetFileError(f"{self._path}: texture {path.name} is no picture: {problem}") from None
        small.thumbnail((TEXTURE_PX, TEXTURE_PX), cast(Image.Resampling, Image.Resampling.BOX))
        out = io.BytesIO()
        small.save(out, "PNG", compress_level=1)
        return out.getvalue()
