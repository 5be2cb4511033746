"""The rooms hold together: surfaces where they say, robot beside the table, cameras that see it."""

import mujoco
import numpy as np
import pytest
from asset_world import add_shape

from libero_safety.assets.arenas import Arena
from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.geometry import rotation, shape_bounds
from libero_safety.assets.lighting import LIGHTINGS, find_lighting
from libero_safety.assets.looks import PARTS, find_look, surfaces

NAMES = ("coffee_table", "floor", "kitchen", "living_room", "study", "tabletop")


def arena(name: str) -> Arena:
    return default_catalog().arena(name)


def test_names() -> None:
    assert tuple(default_catalog().arenas()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_workspace_frame_lies_on_the_surface(name: str) -> None:
    room = arena(name)
    low, high = shape_bounds([s for s in room.shapes if s.part == "workspace"])
    assert high[2] == pytest.approx(room.workspace_pos[2], abs=1e-9)
    for axis in (0, 1):
        assert low[axis] <= room.workspace_pos[axis] - room.workspace_half[axis] + 1e-9
        assert high[axis] >= room.workspace_pos[axis] + room.workspace_half[axis] - 1e-9


@pytest.mark.parametrize(
    ("name", "surface", "base"),
    [
        ("tabletop", 0.9, (-0.66, 0, 0.912)),
        ("kitchen", 0.9, (-0.66, 0, 0.912)),
        ("study", 0.885, (-0.75, 0, 0.912)),
        ("living_room", 0.437, (-0.51, 0, 0.42)),
        ("coffee_table", 0.424, (-0.51, 0, 0.41)),
        ("floor", 0.0, (-0.6, 0, 0)),
    ],
)
def test_heights_and_robot_bases_are_liberos(name: str, surface: float, base: tuple[float, ...]) -> None:
    room = arena(name)
    assert room.workspace_pos[2] == surface
    assert room.robot_base == base


@pytest.mark.parametrize("name", NAMES)
def test_the_robot_base_stands_on_its_mount_and_clear_of_the_table(name: str) -> None:
    room = arena(name)
    mount = [s for s in room.shapes if s.part == "mount"]
    top = shape_bounds(mount)[1][2] if mount else 0.0
    assert top == pytest.approx(room.robot_base[2], abs=1e-9)
    # The base link of a Panda reaches 9 cm to its front.
    if name != "floor":
        table = [s for s in room.shapes if s.part in ("workspace", "table")]
        assert shape_bounds(table)[0][0] - 0.06 > room.robot_base[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_view_looks_at_the_workspace(name: str) -> None:
    room = arena(name)
    view = next(v for v in room.cameras if v.name == "agentview")
    to = np.subtract(room.workspace_pos, view.pos)
    ahead = rotation(view.quat) @ np.array([0.0, 0.0, -1.0])
    angle = np.degrees(np.arccos(ahead @ to / np.linalg.norm(to)))
    assert angle < view.fovy_deg / 2


@pytest.mark.parametrize("name", NAMES)
def test_default_looks_are_known_words_and_shapes_follow_them(name: str) -> None:
    room = arena(name)
    looks = dict(room.looks)
    find_lighting(looks.pop("lighting"))
    assert set(looks) == {s.material for s in room.shapes} & set(PARTS)
    for part, word in looks.items():
        find_look(part, word)
    assert {s.material for s in room.shapes} <= {"", *PARTS, *surfaces()}


@pytest.mark.parametrize("name", NAMES)
def test_only_boxes_show_pictures_and_upright_ones_show_them_upright(name: str) -> None:
    for shape in arena(name).shapes:
        if not shape.material:
            continue
        assert shape.kind == "box"
        x_axis, y_axis, z_axis = rotation(shape.quat).T
        if abs(z_axis[2]) < 0.5:
            assert y_axis == pytest.approx((0, 0, 1), abs=1e-9)
        else:
            assert z_axis == pytest.approx((0, 0, 1), abs=1e-9)
        assert np.cross(x_axis, y_axis) == pytest.approx(z_axis, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "felt"),
    [("tabletop", 8), ("kitchen", 8), ("study", 8), ("living_room", 8), ("coffee_table", 8), ("floor", 1)],
)
def test_nothing_collides_but_floor_table_and_mount(name: str, felt: int) -> None:
    shapes = [s for s in arena(name).shapes if s.role != "visual"]
    assert {s.part for s in shapes} <= {"floor", "workspace", "table", "mount"}
    assert len(shapes) == felt


@pytest.mark.parametrize("name", NAMES)
def test_the_cameras_see_past_the_decor_to_the_workspace(name: str) -> None:
    spec = mujoco.MjSpec()
    room = arena(name)
    for shape in room.shapes:
        add_shape(spec.worldbody, shape)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hit = np.zeros(1, np.int32)
    for view in room.cameras:
        ray = np.subtract(room.workspace_pos, view.pos)
        mujoco.mj_ray(model, data, np.array(view.pos), ray, None, 1, -1, hit)
        assert room.shapes[hit[0]].part == "workspace", view.name


@pytest.mark.parametrize("word", LIGHTINGS)
def test_every_lighting_shines_down_at_the_workspace_from_within_the_walls(word: str) -> None:
    lighting = find_lighting(word)
    assert sum(light.shadow for light in lighting.lights) == 1
    for light in lighting.lights:
        x, y, z = light.pos
        assert z > 0.5
        assert x > -1.9
        assert abs(y) < 2.95


@pytest.mark.parametrize("name", NAMES)
def test_arenas_compile(name: str) -> None:
    spec = mujoco.MjSpec()
    for shape in arena(name).shapes:
        add_shape(spec.worldbody, shape)
    assert spec.compile().ngeom == len(arena(name).shapes)


@pytest.mark.parametrize("name", NAMES)
def test_the_catalog_knows_how_every_part_of_an_arena_can_look(name: str) -> None:
    looks = default_catalog().looks(name)
    assert list(looks) == [part for part, _ in arena(name).looks]
    for part, word in arena(name).looks:
        assert word in looks[part]
    assert ("table" in looks) == (name != "floor")
