"""MANO's files: read without running what is in them, and written so that others read them."""

import os
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.spatial.transform import Rotation

from libero_safety.assets.hand import HandModel, embedded_hand
from libero_safety.assets.mano import ManoFileError, UnsafePickleError, read_mano, write_mano

SIDES = ("right", "left")


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mano") / "MANO_RIGHT.npz"
    write_mano(embedded_hand("right"), path)
    return path


def entries(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as data:
        return dict(data)


def pickled(path: Path, content: object, protocol: int = 2) -> Path:
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return path


def numbers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 0.3, 48), rng.normal(0.0, 1.0, 10)


def same(one: HandModel, other: HandModel) -> None:
    assert one.side == other.side
    assert (one.faces == other.faces).all()
    for seed in range(3):
        pose, shape = numbers(seed)
        a, b = one.pose(pose, shape), other.pose(pose, shape)
        assert a.vertices == pytest.approx(b.vertices, abs=1e-9)
        assert a.joints == pytest.approx(b.joints, abs=1e-9)


@pytest.mark.parametrize("side", SIDES)
def test_what_is_written_is_read_back(side: str, tmp_path: Path) -> None:
    write_mano(embedded_hand(side), tmp_path / "hand.npz")
    same(read_mano(tmp_path / "hand.npz"), embedded_hand(side))


def test_corrections_of_the_pose_are_used(right: Path, tmp_path: Path) -> None:
    content = entries(right)
    content["posedirs"] = np.random.default_rng(0).normal(0.0, 1e-3, content["posedirs"].shape)
    np.savez(tmp_path / "hand.npz", **content)
    model = read_mano(tmp_path / "hand.npz")
    pose, shape = numbers(0)
    # The template carries what MANO's definition adds: posedirs times the entries of R - I.
    features = (Rotation.from_rotvec(pose.reshape(16, 3)[1:]).as_matrix() - np.eye(3)).ravel()
    plain = embedded_hand("right")
    shifted = type(plain)(
        **{
            **{k: getattr(plain, k) for k in plain.__dataclass_fields__},
            "vertices": plain.vertices + content["posedirs"] @ features,
        }
    )
    assert model.pose(pose, shape).vertices == pytest.approx(shifted.pose(pose, shape).vertices, abs=1e-9)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_with_a_sparse_matrix_is_read(right: Path, tmp_path: Path, protocol: int) -> None:
    content = entries(right)
    content["J_regressor"] = csc_matrix(content["J_regressor"])
    same(read_mano(pickled(tmp_path / "hand.pkl", content, protocol)), embedded_hand("right"))


def test_a_pickle_with_chumpy_arrays_is_read_without_chumpy(right: Path, tmp_path: Path, monkeypatch) -> None:
    """What MANO's own files hold: `shapedirs` as a selection of an array, `v_template` perhaps wrapped."""
    content = entries(right)
    whole = np.concatenate([content["shapedirs"], content["shapedirs"]], axis=2)
    chosen = np.arange(whole.size).reshape(whole.shape)[:, :, :10]
    with monkeypatch.context() as patch:
        modules = {}
        for name, cls in (("chumpy.ch", "Ch"), ("chumpy.reordering", "Select")):
            module = types.ModuleType(name)
            kind = type(cls, (), {"__module__": name})
            setattr(module, cls, kind)
            patch.setitem(sys.modules, "chumpy", types.ModuleType("chumpy"))
            patch.setitem(sys.modules, name, module)
            modules[cls] = kind

        def wrapped(kind: str, **state: object) -> object:
            thing = modules[kind]()
            vars(thing).update(state)
            return thing

        content["v_template"] = wrapped("Ch", x=content["v_template"])
        content["shapedirs"] = wrapped(
            "Select", a=wrapped("Ch", x=whole), idxs=chosen.ravel(), preferred_shape=chosen.shape
        )
        content["unused"] = wrapped("Ch", b="an expression that nobody needs")
        path = pickled(tmp_path / "hand.pkl", content)
        needed = pickled(tmp_path / "needed.pkl", {**content, "weights": content["unused"]})
    assert "chumpy" not in sys.modules
    same(read_mano(path), embedded_hand("right"))
    with pytest.raises(ManoFileError, match="'weights' is an expression of chumpy"):
        read_mano(needed)


class _Payload:
    def __init__(self, *call: object) -> None:
        self._call = call

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self._call[0], self._call[1:]


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        ((os.system, "touch {0}"), f"{os.system.__module__}.system"),
        ((eval, "open('{0}', 'w')"), "eval"),
        ((getattr, "x", "__class__"), "getattr"),
        ((np.load, "{0}"), "load"),
    ],
)
def test_a_hostile_pickle_is_refused_and_not_run(
    right: Path, tmp_path: Path, protocol: int, call: tuple, name: str
) -> None:
    mark = tmp_path / "was-run"
    content = dict(entries(right))
    content["v_template"] = _Payload(*(str(c).format(mark) if isinstance(c, str) else c for c in call))
    with pytest.raises(UnsafePickleError, match=name):
        read_mano(pickled(tmp_path / "hand.pkl", content, protocol))
    assert not mark.exists()


def test_a_reconstructor_makes_nothing_else(tmp_path: Path) -> None:
    text = b"ccopy_reg\n_reconstructor\n(cnumpy\nndarray\nc__builtin__\nobject\nNtR."
    (tmp_path / "hand.pkl").write_bytes(text)
    with pytest.raises(UnsafePickleError, match="ndarray"):
        read_mano(tmp_path / "hand.pkl")


def test_a_missing_file_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(ManoFileError, match=r"mano\.is\.tue\.mpg\.de") as caught:
        read_mano(tmp_path / "MANO_RIGHT.pkl")
    assert "MANO_RIGHT.pkl" in str(caught.value)
    assert "non-commercial" in str(caught.value)
    assert "embedded_hand" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": None}, "no 'weights'"),
        ({"weights": np.zeros((5, 16))}, r"'weights' is \(5, 16\)"),
        ({"posedirs": np.zeros((1790, 3, 207))}, "'posedirs'"),
        ({"shapedirs": np.zeros((1790, 3, 4))}, "4 components, 10 are needed"),
        ({"v_template": np.full((1790, 3), np.nan)}, "not finite"),
        ({"f": np.array([[0, 1, 5000]])}, "outside 0..1789"),
        ({"kintree_table": np.zeros((2, 16))}, "hang together differently"),
        ({"hands_mean": np.array(["a"] * 45)}, "no array of numbers"),
    ],
)
def test_a_file_that_is_no_hand_is_named_and_so_is_what_is_wrong(
    right: Path, tmp_path: Path, change: dict, message: str
) -> None:
    content = {k: v for k, v in {**entries(right), **change}.items() if v is not None}
    np.savez(tmp_path / "odd.npz", **content)
    with pytest.raises(ManoFileError, match=message) as caught:
        read_mano(tmp_path / "odd.npz")
    assert "odd.npz" in str(caught.value)


def test_damaged_files_are_refused(right: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(ManoFileError, match=r"array\.npz"):
        read_mano(tmp_path / "array.npz")
    for name, data in (("a.pkl", b"\x80\x02nonsense"), ("b.npz", b"PK nonsense"), ("c.txt", b"hello")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ManoFileError, match=name):
            read_mano(tmp_path / name)
    with pytest.raises(ManoFileError, match="holds a list"):
        read_mano(pickled(tmp_path / "d.pkl", [1, 2]))
    content = dict(entries(right))
    matrix = csc_matrix(content["J_regressor"])
    matrix.indices[0] = 10**6
    content["J_regressor"] = matrix
    with pytest.raises(ManoFileError, match="damaged sparse matrix"):
        read_mano(pickled(tmp_path / "e.pkl", content))
    np.savez(tmp_path / "g.npz", **{**entries(right), "joint2num": np.array({"wrist": 0}, dtype=object)})
    same(read_mano(tmp_path / "g.npz"), embedded_hand("right"))
    np.savez(tmp_path / "f.npz", **{**entries(right), "v_template": np.array([{}], dtype=object)})
    with pytest.raises(ManoFileError, match="'v_template' is no plain array"):
        read_mano(tmp_path / "f.npz")


def test_a_left_file_with_the_shapes_of_the_right_hand_is_put_right(tmp_path: Path) -> None:
    write_mano(embedded_hand("left"), tmp_path / "left.npz")
    content = entries(tmp_path / "left.npz")
    content["shapedirs"] = content["shapedirs"] * np.array((-1.0, 1.0, 1.0))[:, None]
    np.savez(tmp_path / "left.npz", **content)
    model = read_mano(tmp_path / "left.npz")
    assert model.side == "left"
    assert model.shape_dirs == pytest.approx(embedded_hand("left").shape_dirs)


@pytest.mark.parametrize("side", SIDES)
def test_body_models_agrees(side: str, tmp_path: Path) -> None:
    reason = "body_models, an independent implementation of MANO, is not installed"
    mano = pytest.importorskip("body_models.mano.numpy", reason=reason)
    model = embedded_hand(side)
    write_mano(model, tmp_path / "hand.npz")
    other = mano.MANO(model_path=tmp_path / "hand.npz")
    for seed in range(3):
        pose, shape = numbers(seed)
        values = dict(other.get_rest_pose(batch_dims=(1,)))
        values["shape"] = shape[None]
        values["wrist_rotation"] = pose[None, :3]
        values["hand_pose"] = pose[3:].reshape(1, 15, 3)
        theirs = np.asarray(other.forward_vertices(**values))[0]
        assert np.abs(theirs - model.pose(pose, shape).vertices).max() < 1e-6  # single precision
