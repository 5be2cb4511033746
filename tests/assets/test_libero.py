"""LIBERO's own meshes, where they are installed or LIBERO_SAFETY_LIBERO_ASSETS names their folder."""

import math

import mujoco
import numpy as np
import pytest
from asset_world import tilt_deg

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog, catalog_of, default_catalog
from libero_safety.assets.geometry import bounds
from libero_safety.assets.libero import LICENCE, VARIABLE, LiberoAssetsError, libero_folder
from libero_safety.assets.sources import BUILT_IN, LIBERO
from libero_safety.sim.build import add_asset
from libero_safety.types import Pose

SETTLED_S = 1.0


def here() -> bool:
    try:
        libero_folder()
    except LiberoAssetsError:
        return False
    return True


needs_libero = pytest.mark.skipif(not here(), reason="LIBERO's meshes are not installed")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_of((LIBERO, BUILT_IN))


def names() -> list[str]:
    return catalog_of((LIBERO,)).names() if here() else []


def settle(asset: Asset, free: bool) -> tuple[float, float]:
    """Return how far (m) and by how many degrees an asset moves from 1 mm above a table in a second."""
    spec = mujoco.MjSpec()
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    table = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=(2, 2, 0.05), pos=(0, 0, -0.05))
    assert table is not None
    add_asset(spec, "thing", asset, Pose((0.0, 0.0, 0.001), (1.0, 0.0, 0.0, 0.0)), free=free)
    model = spec.compile()
    data = mujoco.MjData(model)
    while data.time < SETTLED_S:
        mujoco.mj_step(model, data)
    body = model.body(f"thing/{asset.links[0].name}").id
    return math.dist(data.xpos[body], (0, 0, 0)), tilt_deg(data.xquat[body])


@needs_libero
def test_all_that_libero_has_is_there(catalog: Catalog) -> None:
    assert len(names()) > 70
    assert {
        "milk",
        "akita_black_bowl",
        "white_yellow_mug",
        "flat_stove",
        "microwave",
        "wooden_cabinet",
    } <= set(names())
    assert catalog.asset("milk").source == "libero:stable_hope_objects/milk/milk.xml"
    assert catalog.asset("knife").source == BUILT_IN
    assert catalog.asset("milk").licence == LICENCE


@needs_libero
@pytest.mark.parametrize(
    "name", ["milk", "akita_black_bowl", "white_yellow_mug", "flat_stove", "moka_pot", "basket"]
)
def test_they_settle_upright(catalog: Catalog, name: str) -> None:
    moved, tilt = settle(catalog.asset(name), free=True)
    assert moved < 0.01
    assert tilt < 3


@needs_libero
@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_one_of_them_settles_upright(catalog: Catalog, name: str) -> None:
    moved, tilt = settle(catalog.asset(name), free=True)
    assert moved < 0.01
    assert tilt < 3


OTHERWISE = {
    "ketchup": "lies across LIBERO's",
    "salad_dressing": "lies across LIBERO's",
    "new_salad_dressing": "lies across LIBERO's",
    "bbq_sauce": "lies across LIBERO's",
    "macaroni_and_cheese": "lies flat; stands in LIBERO",
}


@needs_libero
def test_they_are_turned_and_as_large_as_the_built_in_things_of_the_same_name(catalog: Catalog) -> None:
    ours = default_catalog()
    for name in sorted(set(names()) & set(ours.names()) - OTHERWISE.keys()):
        a, b = (np.subtract(*bounds(c.asset(name))[::-1]) for c in (catalog, ours))
        assert a == pytest.approx(b, abs=0.02), name


@needs_libero
@pytest.mark.parametrize("name", ["flat_stove", "microwave", "wooden_cabinet", "white_cabinet"])
def test_fixtures_have_the_zones_and_joints_of_the_built_in_ones(catalog: Catalog, name: str) -> None:
    theirs, ours = catalog.asset(name), default_catalog().asset(name)
    assert {z.name for z in ours.zones} <= {z.name for z in theirs.zones}
    for zone in ours.zones:
        other = catalog.zone(name, zone.name)
        mine = default_catalog().zone(name, zone.name)
        assert other is not None
        assert mine is not None
        assert other.kind == mine.kind
        assert other.pos == pytest.approx(mine.pos, abs=0.05)
    opening = [
        sorted((k.joint.role, round(k.joint.high, 2)) for k in a.links if k.joint is not None)
        for a in (theirs, ours)
    ]
    assert opening[0] == opening[1]
    for link in theirs.links[1:]:
        assert link.joint is not None
        assert 0 < link.joint.closed < link.joint.opened < link.joint.high


def test_without_the_meshes_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(LiberoAssetsError, match=VARIABLE):
        libero_folder()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("libero_safety.assets.libero.find_spec", lambda _: None)
    with pytest.raises(LiberoAssetsError, match=r"pip install 'libero-safety\[libero\]'"):
        libero_folder()
