"""Assets from MJCF files: what is read, and that no bad file gets as far as the physics."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog, catalog_of
from libero_safety.assets.geometry import bounds, mass_kg, volume_m3
from libero_safety.assets.mjcf import read_asset
from libero_safety.assets.mjcf_file import AssetFileError
from libero_safety.assets.sources import BUILT_IN, SourceError, source, source_names
from libero_safety.sim.build import add_asset
from libero_safety.types import Pose

CUBE = """v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
f 1/1 3/3 2/2
f 1/1 4/4 3/3
f 5/1 6/2 7/3
f 5/1 7/3 8/4
f 1/1 2/2 6/3
f 1/1 6/3 5/4
f 2/1 3/2 7/3
f 2/1 7/3 6/4
f 3/1 4/2 8/3
f 3/1 8/3 7/4
f 4/1 1/2 5/3
f 4/1 5/3 8/4
"""
BOX = '<geom type="box" size=".02 .03 .04" pos="0 0 .04" mass=".5"/>'


def write(folder: Path, world: str, assets: str = "", head: str = "", name: str = "thing") -> Path:
    """Write NAME.xml, a cube of 2 cm in cube.obj and a red picture in red.png."""
    (folder / "cube.obj").write_text(CUBE)
    Image.new("RGB", (8, 8), (255, 0, 0)).save(folder / "red.png")
    path = folder / f"{name}.xml"
    path.write_text(
        f"<mujoco model='{name}'>{head}<asset>{assets}</asset><worldbody>{world}</worldbody></mujoco>"
    )
    return path


def read(folder: Path, world: str, assets: str = "", head: str = "") -> Asset:
    return read_asset(write(folder, world, assets, head), "thing", "test", folder)


def body(content: str, attributes: str = 'name="object"') -> str:
    return f"<body {attributes}><freejoint/>{content}</body>"


def test_a_box_is_read_with_its_mass_and_stands_on_the_ground(tmp_path: Path) -> None:
    asset = read(tmp_path, body(BOX, 'name="object" pos="1 2 3"'))
    low, high = bounds(asset)
    assert low == pytest.approx((-0.02, -0.03, 0.0))
    assert high == pytest.approx((0.02, 0.03, 0.08))
    assert mass_kg(asset) == pytest.approx(0.5)
    assert (asset.name, asset.source, asset.licence, asset.parts) == (
        "thing",
        "test",
        "NOASSERTION",
        ("body",),
    )


@pytest.mark.parametrize(
    ("geom", "outer", "part"),
    [
        ('name="handle/2"', 'name="object"', "handle"),
        ('name="handle_2"', 'name="object"', "handle"),
        ('name="wooden_handle_collision_2"', 'name="object"', "wooden_handle"),
        ('name="geom_3"', 'name="blade"', "blade"),
        ("", 'name="blade"', "blade"),
        ("", 'name="thing"', "body"),
        ("", "", "body"),
    ],
)
def test_names_become_parts(tmp_path: Path, geom: str, outer: str, part: str) -> None:
    assert read(tmp_path, body(f'<geom type="sphere" size=".02" {geom}/>', outer)).parts == (part,)


def test_density_classes_and_angles_are_those_of_the_file(tmp_path: Path) -> None:
    head = """<compiler angle="degree"/>
      <default><default class="steel"><geom density="7800" friction=".3 .1 .1"/></default></default>"""
    geom = '<geom class="steel" type="cylinder" size=".01 .05" euler="0 90 0"/>'
    asset = read(tmp_path, body(geom), head=head)
    low, high = bounds(asset)
    assert np.subtract(high, low) == pytest.approx((0.1, 0.02, 0.02))
    assert mass_kg(asset) == pytest.approx(7800 * np.pi * 0.01**2 * 0.1)
    assert asset.links[0].shapes[0].friction == pytest.approx(0.3)


def test_an_inertial_says_what_a_body_weighs(tmp_path: Path) -> None:
    inertial = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
    assert mass_kg(read(tmp_path, body(inertial + BOX))) == pytest.approx(2.0)


def test_masses_stay_with_their_geoms_whatever_the_order_of_bodies(tmp_path: Path) -> None:
    inner = '<body name="b"><geom type="sphere" size=".01" mass="3"/></body>'
    cube = '<geom type="box" size=".01 .01 .01" mass="2"/>'
    world = f'<body name="a"><geom type="sphere" size=".02" mass="1"/>{inner}{cube}</body>'
    shapes = read(tmp_path, world).links[0].shapes
    masses = {(s.kind, s.size[0]): round(s.density * volume_m3(s), 6) for s in shapes}
    assert masses == {("sphere", 0.02): 1, ("box", 0.01): 2, ("sphere", 0.01): 3}


def test_a_mesh_is_felt_as_its_hull_and_seen_with_its_picture(tmp_path: Path) -> None:
    assets = """<mesh name="cube" file="cube.obj" scale=".01 .01 .01"/>
      <texture name="red" type="2d" file="red.png"/><material name="red" texture="red"/>"""
    geoms = """<geom type="mesh" mesh="cube" material="red" contype="0" conaffinity="0" group="1"/>
      <geom type="mesh" mesh="cube" density="1000" group="0"/>"""
    seen, felt = read(tmp_path, body(geoms), assets).links[0].shapes
    assert (seen.role, felt.role) == ("visual", "collision")
    assert seen.picture is not None
    assert (seen.picture.pixels == (255, 0, 0)).all()
    assert seen.mesh is not None
    assert seen.mesh.uv is not None
    assert seen.mesh.uv.shape == (12, 3, 2)
    assert felt.mesh is not None
    assert len(felt.mesh.vertices) == 8
    assert mass_kg(read(tmp_path, body(geoms), assets)) == pytest.approx(1000 * 0.02**3, rel=1e-5)


def test_a_picture_is_built_once_and_put_on_its_mesh(tmp_path: Path) -> None:
    assets = """<mesh name="cube" file="cube.obj" scale=".01 .01 .01"/>
      <texture name="red" type="2d" file="red.png"/><material name="red" texture="red"/>"""
    geoms = """<geom type="mesh" mesh="cube" material="red" contype="0" conaffinity="0" group="1"/>
      <geom type="mesh" mesh="cube" group="0"/><geom type="box" size=".01 .01 .01" material="red" group="1"/>"""
    asset = read(tmp_path, body(geoms), assets)
    assert asset.links[0].shapes[2].rgba == pytest.approx(
        (1, 0, 0, 1)
    )  # no texture coordinates: the mean colour
    spec = mujoco.MjSpec()
    for name in ("a", "b"):
        add_asset(spec, name, asset, Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)), free=False)
    model = spec.compile()
    assert (model.ntex, model.nmat) == (1, 1)
    assert (model.tex_data.reshape(8, 8, 3) == (255, 0, 0)).all()
    assert model.geom("a/root/body/0").matid[0] == 0
    assert model.geom("a/root/body/1").matid[0] == -1


def test_colliding_geoms_are_drawn_when_nothing_else_is_or_in_the_group_that_is(tmp_path: Path) -> None:
    assert read(tmp_path, body(BOX)).links[0].shapes[0].role == "both"
    seen = '<geom type="sphere" size=".01" contype="0" conaffinity="0" group="1"/>'
    geoms = seen + BOX + BOX.replace("<geom", '<geom group="1"')
    roles = [s.role for s in read(tmp_path, body(geoms)).links[0].shapes]
    assert roles == ["visual", "collision", "both"]


def test_box_sites_are_zones_upright_in_the_frame_of_the_asset(tmp_path: Path) -> None:
    sites = """<site name="top_side" type="box" size=".02 .03 .001" pos="0 0 .07"/>
      <site name="room" type="box" size=".01 .02 .03" pos="0 0 .04" quat=".70711 0 .70711 0"/>
      <site name="dot" size=".01"/>"""
    top, room = read(tmp_path, body(BOX + sites)).zones
    assert (top.name, top.kind) == ("top_side", "surface")
    assert top.pos[2] - top.half[2] == pytest.approx(0.08)  # on the box, not in it
    assert (room.kind, room.half) == ("inside", pytest.approx((0.03, 0.02, 0.01), abs=1e-6))


def test_the_file_may_say_which_way_is_up_and_its_licence(tmp_path: Path) -> None:
    custom = '<custom><text name="up" data="y"/><text name="licence" data="CC0-1.0"/></custom>'
    asset = read(tmp_path, body(BOX), head=custom)
    assert np.subtract(*bounds(asset)[::-1]) == pytest.approx((0.04, 0.08, 0.06))
    assert asset.licence == "CC0-1.0"


def test_joints_open_in_the_positive_direction(tmp_path: Path) -> None:
    door = """<body name="door" pos=".1 0 0"><joint name="hinge" axis="0 0 1" range="-90 0" damping="2"/>
      <geom type="box" size=".01 .01 .01" pos=".05 0 0" mass=".1"/></body>"""
    knob = """<body name="dial"><joint name="knob" type="hinge" axis="0 0 1" range="0 120"/>
      <geom type="box" size=".01 .01 .01" mass=".1"/></body>"""
    asset = read(tmp_path, f'<body name="object">{BOX}{door}{knob}</body>')
    assert [link.name for link in asset.links] == ["root", "door", "dial"]
    hinge, dial = (link.joint for link in asset.links[1:])
    assert hinge is not None
    assert dial is not None
    assert hinge.axis == pytest.approx((0, 0, -1))
    assert (hinge.low, hinge.high) == pytest.approx((0, np.pi / 2))
    assert hinge.closed < 0.1 < hinge.opened < hinge.high
    assert (hinge.damping, hinge.role, dial.role) == (2.0, "door", "knob")
    assert asset.links[1].pos == pytest.approx((0.1, 0, 0.01))  # the knob's lowest point is on the ground


def test_an_include_inside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{BOX}</mujocoinclude>")
    assert mass_kg(read(tmp_path, body('<include file="part.xml"/>'))) == pytest.approx(0.5)


MESH = '<mesh name="m" file="{}" scale=".01 .01 .01"/>'
USE = '<geom type="mesh" mesh="m" mass=".1"/>'
FLAT = CUBE.replace(" 1\n", " -1\n", 99).replace("v 1 1 -1", "v 1 1 -1")
BAD = {
    "missing mesh": (body(USE), MESH.format("none.obj"), "", "none.obj, which is no file"),
    "missing texture": (body(BOX), '<texture type="2d" name="t" file="none.png"/>', "", "none.png"),
    "texture that is no image": (
        body(BOX),
        '<texture type="2d" name="t" file="cube.obj"/>',
        "",
        "no picture",
    ),
    "mesh of another kind": (body(USE), MESH.format("red.png"), "", r"none of \.obj"),
    "broken mesh": (body(USE), MESH.format("broken.obj"), "", "MuJoCo refuses it"),
    "broken stl": (body(USE), MESH.format("broken.stl"), "", "MuJoCo refuses it"),
    "broken msh": (body(USE), MESH.format("broken.msh"), "", "MuJoCo refuses it"),
    "empty mesh": (body(USE), MESH.format("empty.stl"), "", "is empty"),
    "inside-out mesh": (body(USE), MESH.format("inside_out.obj"), "", "inside-out"),
    "flat mesh": (body(USE), MESH.format("flat.obj"), "", "flat|coplanar|refuses"),
    "zero mass": (body(BOX.replace('".5"', '"0"')), "", "", "mass|weighs"),
    "zero mass without a joint": (f"<body>{BOX.replace('.5', '0')}</body>", "", "", "weighs 0 kg"),
    "negative mass": (body(BOX.replace('".5"', '"-1"')), "", "", "mass|weighs"),
    "negative density": (body('<geom type="sphere" size=".1" density="-1"/>'), "", "", "weighs|density|mass"),
    "tonnes": (body(BOX.replace('".5"', '"1e6"')), "", "", "weighs 1e\\+06 kg, not"),
    "next to nothing": (body(BOX.replace('".5"', '"1e-9"')), "", "", "weighs 1e-09 kg, not"),
    "infinite damping": (
        f'<body><joint range="0 1" damping="inf"/>{BOX}</body>',
        "",
        "",
        'damping="inf"> is not',
    ),
    "bad inertia": (body(f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>{BOX}'), "", "", "inertia"),
    "negative inertia": (
        body(f'<inertial pos="0 0 0" mass="1" diaginertia="-1 1 1"/>{BOX}'),
        "",
        "",
        "inertia",
    ),
    "duplicate names": (body(BOX.replace("<geom", '<geom name="a"') * 2), "", "", "repeated name"),
    "centimetres": (body(USE), MESH.format("cube.obj").replace(".01 .01 .01", "9 9 9"), "", "centimetres"),
    "too small": (body('<geom type="sphere" size="1e-5" mass=".1"/>'), "", "", "smaller than"),
    "not finite": (body('<geom type="sphere" size=".02" pos="nan 0 0"/>'), "", "", "finite|refuses|nan"),
    "nothing to touch": (
        body('<geom type="sphere" size=".02" contype="0" conaffinity="0" />'),
        "",
        "",
        "touched",
    ),
    "nothing at all": ("", "", "", "touched"),
    "plane": (f'<geom type="plane" size="1 1 1"/>{body(BOX)}', "", "", "is a plane"),
    "unlimited joint": (f'<body><joint name="j"/>{BOX}</body>', "", "", "has no range"),
    "ball joint": (f'<body><joint name="j" type="ball" range="0 1"/>{BOX}</body>', "", "", "neither a hinge"),
    "nested joints": (
        f'<body><joint range="0 1"/>{BOX}<body name="b"><joint range="0 1"/>{BOX}</body></body>',
        "",
        "",
        "hangs on a body with a joint",
    ),
    "two joints": (
        f'<body name="b"><joint range="0 1"/><joint range="0 1" axis="1 0 0"/>{BOX}</body>',
        "",
        "",
        "2 joints",
    ),
    "composite": ('<body><composite type="cable"/></body>', "", "", "<composite> is not supported"),
    "unknown element": ("<bodi/>", "", "", "MuJoCo refuses it"),
    "unknown up": (body(BOX), "", '<custom><text name="up" data="Y"/></custom>', "up is 'Y'"),
    "include that is missing": (body('<include file="none.xml"/>'), "", "", "none.xml, which is no file"),
    "include outside": (body('<include file="../secret.xml"/>'), "", "", "outside of"),
    "mesh outside": (body(USE), MESH.format("../cube.obj"), "", "outside of"),
    "mesh outside by its folder": (
        body(USE),
        MESH.format("cube.obj"),
        '<compiler meshdir="/tmp"/>',
        "outside",
    ),
    "include of itself": (body('<include file="thing.xml"/>'), "", "", "include each other"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_an_error_that_names_it(tmp_path: Path, case: str) -> None:
    world, assets, head, message = BAD[case]
    folder = tmp_path / "objects"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    (tmp_path / "cube.obj").write_text(CUBE)
    (folder / "broken.obj").write_text("v 1 2\nf 1 2 900\n")
    (folder / "broken.stl").write_bytes(b"\x01" * 90)
    (folder / "broken.msh").write_bytes(b"\x7f" * 90)
    (folder / "empty.stl").write_bytes(b"")
    inside_out = [
        " ".join(("f", *line.split()[:0:-1])) if line[0] == "f" else line for line in CUBE.splitlines()
    ]
    (folder / "inside_out.obj").write_text("\n".join(inside_out))
    flat = [
        " ".join((*line.split()[:3], "0")) if line.startswith("v ") else line for line in CUBE.splitlines()
    ]
    (folder / "flat.obj").write_text("\n".join(flat))
    with pytest.raises(AssetFileError, match=message) as caught:
        read(folder, world, assets, head)
    assert str(caught.value).startswith(str(folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE mujoco [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>&x;</mujoco>', "entities"),
        ("<mujoco><worldbody>", "no XML: .*line 1"),
        ("<robot/>", "no MJCF: the outermost element is <robot>"),
        ("", "no XML"),
    ],
)
def test_a_file_that_is_no_mjcf_is_an_error_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "thing.xml"
    path.write_text(text)
    with pytest.raises(AssetFileError, match=message) as caught:
        read_asset(path, "thing", "test", tmp_path)
    assert str(caught.value).startswith(str(path))


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "thing.xml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AssetFileError, match="cannot be read"):
        read_asset(path, "thing", "test", tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in all three layouts."""
    write(tmp_path, body(BOX), name="brick")
    (tmp_path / "block").mkdir()
    write(tmp_path / "block", body(BOX.replace(".5", ".7")), name="block")
    for number, name in enumerate(("agveuv", "bcdefg", "xyzxyz"), start=1):
        place = tmp_path / "apple" / name / "usd" / "MJCF"
        place.mkdir(parents=True)
        write(place, body(BOX.replace(".5", f".{number}")), name=name)
    place = tmp_path / "apple" / "agveuv" / "usd" / "MJCF"
    write(place, body(BOX.replace(".5", ".9")), name="agveuv_with_hand")
    return tmp_path


def test_a_folder_is_a_source_in_three_layouts(folder: Path) -> None:
    catalog = catalog_of((str(folder),))
    masses = {
        "brick": 0.5,
        "block": 0.7,
        "agveuv": 0.1,
        "apple": 0.1,
        "apple__2": 0.2,
        "apple_3": 0.3,
        "xyzxyz": 0.3,
    }
    assert {name: round(mass_kg(catalog.asset(name)), 6) for name in masses} == masses
    assert mass_kg(catalog.asset("apple_with_hand")) == pytest.approx(0.9)
    assert mass_kg(catalog.asset("apple_1_with_hand")) == pytest.approx(0.9)
    assert catalog.asset("brick").source == str(folder / "brick.xml")
    assert catalog.split("apple_3") == "train"
    assert bounds(catalog.asset("brick__100")) != bounds(catalog.asset("brick"))


def test_of_one_name_the_first_source_holds(folder: Path) -> None:
    write(folder, body(BOX), name="mug")
    ours, theirs = catalog_of((BUILT_IN, str(folder))), catalog_of((str(folder), BUILT_IN))
    assert (ours.asset("mug").source, theirs.asset("mug").source) == (BUILT_IN, str(folder / "mug.xml"))
    assert {"brick", "plate"} <= set(ours.names()) & set(theirs.names())
    assert theirs.sources == (str(folder), BUILT_IN)


def test_a_missing_name_lists_near_names_of_all_sources(folder: Path) -> None:
    catalog = catalog_of((BUILT_IN, str(folder)))
    with pytest.raises(Exception, match="did you mean 'brick'"):
        catalog.asset("brik")
    with pytest.raises(Exception, match="did you mean 'plate'"):
        catalog.asset("plat")


def test_the_same_files_elsewhere_have_the_same_hash(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other, body(BOX), name="brick")
    assert (
        catalog_of((str(folder),)).asset("brick").digest()
        == catalog_of((str(other),)).asset("brick").digest()
    )
    write(other, body(BOX.replace(".5", ".6")), name="brick")
    changed = Catalog(source(str(other))).asset("brick")
    assert changed.digest() != catalog_of((str(folder),)).asset("brick").digest()


def test_sources_that_are_not_there_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no asset source 'bilt-in', did you mean 'built-in'"):
        source("bilt-in")
    with pytest.raises(SourceError, match="no objects"):
        source(str(tmp_path))
    with pytest.raises(SourceError, match="named twice"):
        catalog_of((BUILT_IN, BUILT_IN))
    with pytest.raises(SourceError, match="no asset source in ' , '"):
        source_names(" , ")
    write(tmp_path, body(BOX), name="brick")
    (tmp_path / "brick").mkdir()
    write(tmp_path / "brick", body(BOX), name="brick")
    with pytest.raises(SourceError, match="both called 'brick'"):
        source(str(tmp_path))


def test_source_names_are_split_at_commas_and_folders_made_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert source_names("libero, built-in,mine") == ("libero", "built-in", str(tmp_path / "mine"))
