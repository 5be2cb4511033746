"""What is seen is closed, light, and where it is felt."""

import math
from functools import partial

import mujoco
import numpy as np
import pytest
from asset_volume import farthest_outside, seen, volumes
from asset_world import add_asset, lifted, tilt_deg, world

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import bounds, footprint, mass_kg, scaled
from libero_safety.assets.mesh import mesh_volume
from libero_safety.assets.meshes.kit import (
    block,
    extrude,
    joined,
    lathe,
    mirrored,
    open_edges,
    placed,
    rounded_box,
    torus,
    tube,
)
from libero_safety.assets.objects.bottles import BOTTLES
from libero_safety.assets.objects.boxes import BOXES
from libero_safety.assets.objects.food import FOODS
from libero_safety.assets.objects.hand import HANDS
from libero_safety.assets.objects.ranges import (
    OWN_COLOURS,
    RANGES,
    NoRangeError,
    can_draw,
    drawn,
    sample_parameters,
)
from libero_safety.assets.objects.tools import TOOLS
from libero_safety.assets.objects.toys import TOYS
from libero_safety.assets.objects.vessels import VESSELS
from libero_safety.sim.build import add_asset as add_to_scene
from libero_safety.types import Pose

RECIPES = VESSELS | BOTTLES | BOXES | FOODS | TOOLS | TOYS
NAMES = [n for n in default_catalog().names() if n not in HANDS]
ROLLS = {"ball", "water_ball"}

STANDS_OUT = {
    "stem": "a stalk gives way",
    "flame": "a flame",
    "icing": "a cherry on top",
    "cap": "the screw cap on a carton's roof",
}
"""Parts whose surface may be more than 6 mm outside of what is felt."""
SHELLS = {
    *VESSELS,
    "frypan",
    "rotated_frypan",
    "chefmate_8_frypan",
    "desk_caddy",
    "toy_motorbike",
    "eyeglasses",
    "fork",
    "rotated_fork",
    "spoon",
    "wooden_spoon",
    "spatula",
    "scissors",
    "hairbrush",
    "knife",
    "rotated_knife",
}
"""Hollow, wiry and thin things: convex pieces make their walls and bars thicker, or fill the gaps between them."""
MANY_TRIANGLES = {
    "toy_train": 1000,
    "toy_motorbike": 850,
    "keyboard": 800,
    "microwave": 1000,
    "flat_stove": 1150,
    "white_cabinet": 1300,
    "wooden_cabinet": 1300,
}


def test_volumes_of_the_kit() -> None:
    disc = lathe(((0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0)), 12)
    assert mesh_volume(disc) == pytest.approx(2 * math.pi, rel=1e-9)
    ring = lathe(((1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0)), 9)
    assert mesh_volume(ring) == pytest.approx(3 * math.pi, rel=1e-9)
    assert mesh_volume(block((1.0, 2.0, 3.0))) == pytest.approx(48)
    notch = ((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 0.2), (0.0, 1.0))
    assert mesh_volume(extrude(notch, 0.0, 1.0)) == pytest.approx(1.2)
    assert mesh_volume(torus(1.0, 0.1, 64, 32)) == pytest.approx(2 * math.pi**2 * 0.01, rel=0.02)
    bar = tube(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)), 0.1, sides=24)
    assert mesh_volume(bar) == pytest.approx(math.pi * (0.02 + 0.004 / 3), rel=0.05)
    assert 46.5 < mesh_volume(rounded_box((1.0, 2.0, 3.0), 0.1)) < 48


@pytest.mark.parametrize(
    "mesh",
    [
        lathe(((0.0, 0.0), (1.0, 0.0), (0.5, 2.0), (0.0, 2.0)), 7),
        lathe(((1.0, 0.0), (2.0, 0.0), (1.5, 1.0)), 9),
        rounded_box((1.0, 2.0, 3.0), 0.1, 0.5, 2),
        extrude(((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 0.2), (0.0, 1.0)), 0.0, 1.0, 0.05),
        tube(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.5, 0.8, 0.0)), (0.1, 0.2, 0.1)),
        torus(1.0, 0.2),
    ],
)
def test_meshes_are_closed_and_their_normals_point_outwards(mesh) -> None:
    for each in (
        mesh,
        mirrored(mesh, 1),
        placed(mesh, (1, 2, 3), (0.5, 0.5, 0.5, 0.5)),
        joined([mesh, mesh]),
    ):
        assert open_edges(each) == (0 if each.name != "group" else open_edges(each))
        assert mesh_volume(each) > 0
        corners = each.vertices[each.faces]
        area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert each.normals is not None
        assert np.linalg.norm(each.normals, axis=2) == pytest.approx(1.0)
        assert (np.einsum("fj,fcj->fc", area, each.normals) > 0).all()


def test_a_hole_is_counted() -> None:
    box = block((1.0, 1.0, 1.0))
    torn = type(box)(box.name, box.vertices, box.faces[1:])
    assert open_edges(torn) == 3


def test_a_cylinder_is_smooth_and_its_lids_are_sharp() -> None:
    mesh = lathe(((0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0)), 12)
    assert mesh.normals is not None
    corners = mesh.vertices[mesh.faces]
    side = np.abs(mesh.normals[:, :, 2]).max(axis=1) < 0.5
    outward = corners[side][:, :, :2] / np.linalg.norm(corners[side][:, :, :2], axis=2, keepdims=True)
    assert mesh.normals[side][:, :, :2] == pytest.approx(outward, abs=1e-9)
    assert np.abs(mesh.normals[~side][:, :, 2]) == pytest.approx(1.0)


def test_mujoco_keeps_vertices_normals_and_texture_coordinates() -> None:
    asset = default_catalog().asset("classic_blue_mug")
    spec = mujoco.MjSpec()
    add_to_scene(spec, "mug", asset, Pose((0, 0, 0), (1, 0, 0, 0)), free=False)
    model = spec.compile()
    shape = next(s for s in seen(asset) if s.part == "rim")
    assert shape.mesh is not None
    assert shape.mesh.normals is not None
    number = next(i for i in range(model.nmesh) if model.mesh(i).name.endswith(shape.mesh.digest))
    first = model.mesh_normaladr[number]
    normals = model.mesh_normal[first : first + model.mesh_normalnum[number]]
    at = model.mesh_facenormal[model.mesh_faceadr[number] :][: model.mesh_facenum[number]]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[number])
    assert normals[at] @ turn.reshape(3, 3).T == pytest.approx(shape.mesh.normals, abs=1e-5)


def test_equal_meshes_are_added_once_and_scaled_ones_are_others() -> None:
    asset = default_catalog().asset("plate")
    spec = mujoco.MjSpec()
    for name, thing in (("a", asset), ("b", asset), ("c", scaled(asset, 1.1))):
        add_to_scene(spec, name, thing, Pose((0, 0, 0), (1, 0, 0, 0)), free=False)
    model = spec.compile()
    shapes = len(seen(asset))
    assert model.nmesh == 2 * shapes


def test_a_digest_covers_the_surface() -> None:
    asset = default_catalog().asset("egg")
    root = asset.links[0]
    shape = seen(asset)[0]
    assert shape.mesh is not None
    other = type(shape.mesh)(
        shape.mesh.name, shape.mesh.vertices * 1.001, shape.mesh.faces, shape.mesh.normals, shape.mesh.uv
    )
    swapped = tuple(type(s)(**{**vars(s), "mesh": other}) if s is shape else s for s in root.shapes)
    changed = type(asset)(asset.name, (type(root)(root.name, swapped),), asset.zones, asset.grasp)
    same = type(asset)(asset.name, (type(root)(root.name, root.shapes),), asset.zones, asset.grasp)
    assert asset.digest() == same.digest() != changed.digest()


@pytest.mark.parametrize("name", NAMES)
def test_the_surface_is_closed_light_and_where_it_is_felt(name: str) -> None:
    asset = default_catalog().asset(name)
    shapes = seen(asset)
    assert shapes
    assert all(s.mesh is not None and open_edges(s.mesh) == 0 for s in shapes)
    assert sum(len(s.mesh.faces) for s in shapes if s.mesh is not None) <= MANY_TRIANGLES.get(name, 760)
    far, part = farthest_outside(asset)
    assert far < (0.006 if part not in STANDS_OUT else 0.04), part
    assert {s.part for s in shapes} <= set(asset.parts)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in SHELLS])
def test_convex_pieces_fill_the_surface(name: str) -> None:
    felt, surface = volumes(default_catalog().asset(name))
    assert surface == pytest.approx(felt, rel=0.1)


def draw(number: int) -> Asset:
    names = [n for n in RECIPES if can_draw(RECIPES[n])]
    name = names[number % len(names)]
    return drawn(RECIPES[name], name, np.random.default_rng(number))


def test_every_object_but_hands_and_furniture_can_be_drawn() -> None:
    assert all(can_draw(recipe) for recipe in RECIPES.values())
    assert not any(can_draw(recipe) for recipe in HANDS.values())
    with pytest.raises(NoRangeError, match="no ranges for the recipe 'cabinet'"):
        sample_parameters(FIXTURES["white_cabinet"], np.random.default_rng(0))
    families = {partial(r).func.__name__ for r in RECIPES.values()} - {"_turned", "_quarter"}
    assert families == set(RANGES)


def test_draws_repeat_and_differ_in_shape_and_colour() -> None:
    first, again, other = (drawn(RECIPES["bowl"], "bowl", np.random.default_rng(s)) for s in (1, 1, 2))
    assert first.digest() == again.digest()
    assert np.divide(bounds(first)[1], bounds(other)[1]) != pytest.approx(1.0, abs=0.005)
    assert seen(first)[0].rgba != seen(other)[0].rgba


def test_a_turned_type_is_drawn_turned() -> None:
    straight, turned = (
        drawn(RECIPES[n], n, np.random.default_rng(3))
        for n in ("classic_blue_mug", "rotated_classic_blue_mug")
    )
    assert mass_kg(straight) == pytest.approx(mass_kg(turned))
    assert footprint(straight).radius_m == pytest.approx(footprint(turned).radius_m, rel=1e-2)
    assert straight.grasp is not None
    assert turned.grasp is not None
    assert turned.grasp[1] == pytest.approx(straight.grasp[1] + math.pi / 2)


def check_drawn(asset: Asset) -> None:
    shapes = seen(asset)
    assert all(s.mesh is not None and open_edges(s.mesh) == 0 and mesh_volume(s.mesh) > 0 for s in shapes)
    assert mass_kg(asset) > 0


def rest(asset: Asset) -> tuple[float, float]:
    """Return how far (m) and by what angle (degrees) a thing moves in 2 s, half a second after it has been put down."""
    spec = world()
    add_asset(spec, asset, (0, 0, -bounds(asset)[0][2]), free=True)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=250)
    pos, turn = data.qpos[:3].copy(), data.qpos[3:7].copy()
    mujoco.mj_step(model, data, nstep=1000)
    between = np.zeros(3)
    mujoco.mju_subQuat(between, data.qpos[3:7], turn)
    assert tilt_deg(data.qpos[3:7]) < 2
    return float(np.linalg.norm(data.qpos[:3] - pos)), float(np.degrees(np.linalg.norm(between)))


def test_what_is_told_by_its_colour_keeps_it() -> None:
    assert set(RECIPES) >= OWN_COLOURS
    for seed in range(5):
        black = drawn(RECIPES["akita_black_bowl"], "akita_black_bowl__7", np.random.default_rng(seed))
        body, rim = (next(s.rgba for s in seen(black) if s.part == part) for part in ("body", "rim"))
        assert max(body[:3]) < 0.1
        assert rim[0] > 3 * max(rim[1:3])
        plain = drawn(RECIPES["white_bowl"], "white_bowl", np.random.default_rng(seed))
        assert {s.part for s in seen(plain)} == {"body"}


@pytest.mark.parametrize("number", range(0, 118, 9))
def test_some_drawn_objects_are_sound(number: int) -> None:
    asset = draw(number)
    check_drawn(asset)
    if asset.name not in ROLLS:
        moved, turned = rest(asset)
        assert moved < 0.002
        assert turned < 1.0
    assert asset.grasp is None or lifted(asset)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_drawn_objects_are_sound_and_all_differ() -> None:
    digests: set[str] = set()
    faults: list[str] = []
    for number in range(1000):
        asset = draw(number)
        digests.add(asset.digest())
        check_drawn(asset)
        if asset.name not in SHELLS:
            felt, surface = volumes(asset)
            if abs(surface / felt - 1) > 0.1:
                faults.append(f"{asset.name} {number}: volume {surface / felt - 1:+.3f}")
        if asset.name not in ROLLS:
            moved, turned = rest(asset)
            if moved > 0.002 or turned > 1.0:
                faults.append(
                    f"{asset.name} {number}: moved {1e3 * moved:.1f} mm, turned {turned:.1f} degrees"
                )
        if asset.grasp is not None and not lifted(asset):
            faults.append(f"{asset.name} {number}: cannot be lifted")
    assert not faults
    assert len(digests) == 1000
