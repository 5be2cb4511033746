"""Files of the MANO hand model, which users who hold its licence may load; and the same format written.

A `.pkl` is read by an unpickler that knows arrays, sparse matrices and chumpy's wrappers of arrays, and nothing else:
no code in a file is ever run, and chumpy, which does not import on Python 3.11 and later, is not needed.
"""

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from libero_safety.assets.hand import PARENTS, SHAPE_SIZE, HandModel, Side
from libero_safety.errors import LiberoSafetyError
from libero_safety.types import FloatArray

WHERE = (
    "MANO's files (MANO_RIGHT.pkl, MANO_LEFT.pkl) come from mano.is.tue.mpg.de after registration, under a licence for "
    "non-commercial research only, and may not be passed on. Nothing here needs them: the built-in hand, "
    "`embedded_hand(side)`, is free"
)


class ManoFileError(LiberoSafetyError):
    """A file that is missing or no hand in MANO's format."""


class UnsafePickleError(ManoFileError):
    """A pickle that wants to make something else than arrays; it was not."""


def read_mano(path: str | Path, side: Side | None = None) -> HandModel:
    """Return the hand in a MANO file, `.pkl` or `.npz`.

    Args:
        path: the file.
        side: which hand it is; by default the fingers tell: those of MANO's right hand point to -x.

    Raises:
        ManoFileError: there is no such file, or something in it is missing or of another size.
        UnsafePickleError: the pickle names a class or function other than of arrays.
    """
    path = Path(path)
    if not path.is_file():
        raise ManoFileError(f"no file {str(path)!r}. {WHERE}")
    content = _Content(path, _read(path))
    vertices = content.array("v_template", (None, 3))
    count = len(vertices)
    faces = content.array("f", (None, 3)).astype(np.int32)
    if faces.min(initial=0) < 0 or faces.max(initial=0) >= count:
        raise ManoFileError(f"{path.name}: a face of 'f' refers to a vertex outside 0..{count - 1}")
    parents = content.array("kintree_table", (2, 16))[0].astype(np.int64)
    if parents[1:].tolist() != list(PARENTS[1:]):
        raise ManoFileError(
            f"{path.name}: the joints of 'kintree_table' hang together differently from MANO's"
        )
    shape_dirs = content.array("shapedirs", (count, 3, None))[:, :, :SHAPE_SIZE]
    if shape_dirs.shape[2] < SHAPE_SIZE:
        raise ManoFileError(
            f"{path.name}: 'shapedirs' has {shape_dirs.shape[2]} components, {SHAPE_SIZE} are needed"
        )
    regressor = content.array("J_regressor", (16, count))
    joints = regressor @ vertices
    side = side or ("right" if joints[4, 0] < joints[0, 0] else "left")
    if side == "left" and _mirrored_growth(vertices, shape_dirs):
        # The left hand's file ships with the shape directions of the right hand.
        shape_dirs = shape_dirs * np.array((-1.0, 1.0, 1.0))[:, None]
    pose_dirs = content.array("posedirs", (count, 3, 135))
    return HandModel(
        side,
        vertices,
        faces,
        content.array("weights", (count, 16)),
        shape_dirs,
        joints,
        np.einsum("jv,vxk->jxk", regressor, shape_dirs),
        pose_dirs if pose_dirs.any() else None,
        np.zeros(len(faces), dtype=bool),
        content.array("hands_mean", (45,)),
        path.name,
    )


def write_mano(model: HandModel, path: str | Path) -> None:
    """Write a hand as `.npz` in MANO's format, for other programs and for `read_mano`.

    The joints follow from the vertices through a matrix that is exact for the average hand and every component.
    """
    count = len(model.vertices)
    regressor = np.zeros((16, count))
    for j in range(16):
        near = np.argsort(np.linalg.norm(model.vertices - model.joints[j], axis=1))[:200]
        rows = np.vstack(
            [model.vertices[near].T, model.shape_dirs[near].reshape(len(near), -1).T, np.ones(len(near))]
        )
        wanted = np.concatenate([model.joints[j], model.joint_dirs[j].ravel(), [1.0]])
        # Components are of very different size, and all should fit to the same relative precision.
        scale = 1.0 / np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
        regressor[j, near] = np.linalg.lstsq(rows * scale[:, None], wanted * scale, rcond=1e-14)[0]
    parents = np.array([2**32 - 1, *PARENTS[1:]], dtype=np.uint32)
    np.savez_compressed(
        path,
        v_template=model.vertices,
        f=model.faces.astype(np.uint32),
        weights=model.weights,
        shapedirs=model.shape_dirs,
        posedirs=np.zeros((count, 3, 135)) if model.pose_dirs is None else model.pose_dirs,
        J_regressor=regressor,
        kintree_table=np.stack([parents, np.arange(16, dtype=np.uint32)]),
        hands_mean=model.mean_pose,
        hands_components=np.eye(45),
    )


def _mirrored_growth(vertices: FloatArray, shape_dirs: FloatArray) -> bool:
    """Say whether the first component, size, makes the hand longer along z but shorter along x, or the reverse."""
    grown = ((vertices - vertices.mean(axis=0)) * shape_dirs[:, :, 0]).sum(axis=0)
    return bool(grown[0] * grown[2] < 0)


@dataclass(frozen=True)
class _Content:
    path: Path
    entries: Mapping[str, Any]

    def array(self, key: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return an entry as array of `shape`, where None stands for any length."""
        try:
            value = self.entries[key]
        except KeyError:
            raise ManoFileError(f"{self.path.name}: no {key!r}; MANO's files have one") from None
        if isinstance(value, Exception):
            raise ManoFileError(f"{self.path.name}: {key!r} is no plain array: {value}") from None
        if isinstance(value, _Sparse | _Chumpy):
            value = value.array(f"{self.path.name}: {key!r}")
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ManoFileError(f"{self.path.name}: {key!r} is no array of numbers") from None
        if array.ndim != len(shape) or any(
            b is not None and a != b for a, b in zip(array.shape, shape, strict=True)
        ):
            wanted = " x ".join("n" if n is None else str(n) for n in shape)
            raise ManoFileError(f"{self.path.name}: {key!r} is {array.shape}, should be {wanted}")
        if not np.isfinite(array).all():
            raise ManoFileError(f"{self.path.name}: {key!r} holds numbers that are not finite")
        return array


def _read(path: Path) -> Mapping[str, Any]:
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as data:
                return {key: _entry(data, key) for key in data.files}
        except (AttributeError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise ManoFileError(f"{path.name}: cannot be read as .npz: {error}") from error
    if path.suffix != ".pkl":
        raise ManoFileError(f"{path.name}: MANO's files end in .pkl or .npz")
    try:
        with path.open("rb") as stream:
            content = _Unpickler(stream, encoding="latin1").load()
    except LiberoSafetyError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise ManoFileError(f"{path.name}: cannot be read as pickle: {error}") from error
    if not isinstance(content, dict):
        raise ManoFileError(f"{path.name}: holds a {type(content).__name__}, not MANO's named arrays")
    return content


def _entry(data: Mapping[str, Any], key: str) -> Any:
    """Return an array, or why it cannot be read: objects, which may stay where nobody needs them."""
    try:
        return data[key]
    except ValueError as error:
        return error


class _Sparse:
    """What a sparse matrix was pickled as; checked before it becomes one."""

    kind = csc_matrix

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.state = dict(state)

    def array(self, where: str) -> NDArray[Any]:
        state = self.state
        try:
            shape = state["_shape"] if "_shape" in state else state["shape"]
            matrix = self.kind((state["data"], state["indices"], state["indptr"]), shape=tuple(shape))
            matrix.check_format(full_check=True)
        except (KeyError, TypeError, ValueError) as error:
            raise ManoFileError(f"{where} is a damaged sparse matrix: {error}") from None
        return matrix.toarray()


class _SparseRows(_Sparse):
    kind = csr_matrix


class _Chumpy:
    """What one of chumpy's wrappers was pickled as: an array, or a selection of the entries of one."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.state = dict(state)

    def array(self, where: str) -> NDArray[Any]:
        state = self.state
        if "x" in state:
            return np.asarray(state["x"])
        if "a" in state and "idxs" in state:
            whole = state["a"]
            flat = np.ravel(whole.array(where) if isinstance(whole, _Chumpy) else whole)
            chosen = flat[np.asarray(state["idxs"], dtype=np.intp)]
            return chosen.reshape(tuple(state["preferred_shape"])) if "preferred_shape" in state else chosen
        raise ManoFileError(f"{where} is an expression of chumpy that holds no array")


def _start(kind: type, *_: Any) -> Any:
    """Stand in for `copyreg._reconstructor`: make one of the two stand-ins, without state."""
    if kind not in (_Sparse, _SparseRows, _Chumpy):
        raise UnsafePickleError(f"a MANO file has no business with {kind!r}")
    return kind()


_ARRAYS: dict[str, Any] = {
    "_reconstruct": np.zeros(1).__reduce__()[0],
    "scalar": np.float64(1.0).__reduce__()[0],
    "ndarray": np.ndarray,
    "dtype": np.dtype,
}
_SPARSE = {"csc_matrix": _Sparse, "csr_matrix": _SparseRows}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a class or function named in the file.

        Raises:
            UnsafePickleError: it is not one that arrays are made of.
        """
        root = module.split(".")[0]
        if module in ("numpy", "numpy.core.multiarray", "numpy._core.multiarray") and name in _ARRAYS:
            return _ARRAYS[name]
        if module.startswith("scipy.sparse") and name in _SPARSE:
            return _SPARSE[name]
        if root == "chumpy":
            return _Chumpy
        if (module, name) in (("copy_reg", "_reconstructor"), ("copyreg", "_reconstructor")):
            return _start
        if (module, name) in (("__builtin__", "object"), ("builtins", "object")):
            return object
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        raise UnsafePickleError(
            f"the file names {module}.{name}, which is no array; it was not loaded or run. {WHERE}"
        )


def _latin1(text: str, _: str = "latin1") -> bytes:
    """Stand in for `_codecs.encode`, with which Python 3 writes bytes in old protocols."""
    return text.encode("latin1")
