import gc
import math
import os
import subprocess
import sys

import mujoco
import numpy as np
import psutil
import pytest

from libero_safety.registry import UnknownNameError
from libero_safety.sim.gl import choose_backend, load_mujoco
from libero_safety.sim.vision import (
    QUALITIES,
    SCENERY_GROUP,
    NoGLError,
    Vision,
    VisionError,
    displaced_camera,
    gl_backend,
)

SCENE = """
<mujoco>
  <visual><headlight ambient="0.8 0.8 0.8" diffuse="0 0 0" specular="0 0 0"/></visual>
  <worldbody>
    <light pos="0.5 0.3 3" dir="0 0 -1" castshadow="true"/>
    <geom name="floor" type="plane" size="5 5 0.1" rgba="0.5 0.5 0.5 1"/>
    <geom type="box" size="0.2 0.2 0.2" pos="0 0 0.5" rgba="1 0 0 1"/>
    <geom type="box" size="0.3 0.3 0.3" pos="0 0 0.5" rgba="0 1 0 1" group="3"/>
    <site type="sphere" size="0.35" pos="0 0 0.5" rgba="0 0 1 1"/>
    <geom type="sphere" size="0.15" pos="0 0.6 1.1" rgba="0 0 1 1" group="1"/>
    <camera name="front" pos="3 0 0.5" xyaxes="0 1 0 0 0 1"/>
    <camera name="back" pos="-3 0 0.5" xyaxes="0 -1 0 0 0 1"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene() -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.fixture(scope="module")
def vision(scene):
    report = gl_backend()
    if not report.ok:
        pytest.skip(f"no off-screen GL: {report.why}")
    with Vision(96, 64) as made:
        made.load(scene[0])
        yield made


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY")}
    clean["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, **environment},
        check=False,
    )


@pytest.mark.gl
def test_picture_is_upright_rgb_and_not_mirrored(vision, scene) -> None:
    image = vision.render(scene[1], "front")
    assert image.shape == (64, 96, 3)
    assert image.dtype == np.uint8
    red = np.argwhere((image[..., 0] > 150) & (image[..., 2] < 60))
    blue = np.argwhere((image[..., 2] > 150) & (image[..., 0] < 60))
    # The blue ball is above the red box and at +y: to the right seen from +x.
    assert blue[:, 0].mean() < red[:, 0].mean()
    assert blue[:, 1].mean() > red[:, 1].mean()
    behind = vision.render(scene[1], "back")
    blue = np.argwhere((behind[..., 2] > 150) & (behind[..., 0] < 60))
    assert blue[:, 1].mean() < 48


@pytest.mark.gl
def test_collision_shapes_and_sites_are_not_seen(vision, scene) -> None:
    image = vision.render(scene[1], "front")
    center = image[32, 48]
    assert center[0] > 150
    assert center[1] < 60
    assert center[2] < 60


@pytest.mark.gl
def test_pictures_repeat_and_are_the_callers_own(vision, scene) -> None:
    first = vision.render(scene[1], "front")
    kept = first.copy()
    first[:] = 0
    second = vision.render(scene[1], 0)
    assert (second == kept).all()
    free = mujoco.MjvCamera()
    free.lookat[:] = (0, 0, 0.5)
    free.distance, free.azimuth, free.elevation = 3.0, 180.0, 0.0
    assert vision.render(scene[1], free).shape == (64, 96, 3)


@pytest.mark.gl
def test_a_picture_may_be_larger_than_usual(vision, scene) -> None:
    small = vision.render(scene[1], "front")
    large = vision.render(scene[1], "front", 192, 128)
    assert large.shape == (128, 192, 3)
    halved = large.reshape(64, 2, 96, 2, 3).mean(axis=(1, 3))
    assert np.abs(halved - small).mean() < 4.0
    assert (vision.render(scene[1], "front") == small).all()


@pytest.mark.gl
def test_unknown_cameras_are_named(vision, scene) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'front'"):
        vision.render(scene[1], "frnt")
    for number in (-1, 2):
        with pytest.raises(UnknownNameError, match="front"):
            vision.render(scene[1], number)


@pytest.mark.gl
def test_presets_change_the_shadow_and_leave_the_model_alone(vision, scene) -> None:
    model, data = scene
    before = model.vis.quality.shadowsize, model.vis.quality.offsamples, model.vis.global_.offwidth
    mean = {}
    for quality in QUALITIES:
        with Vision(64, 64, quality) as other:
            other.load(model)
            free = mujoco.MjvCamera()
            free.lookat[:] = (0, 0, 0)
            free.distance, free.azimuth, free.elevation = 4.0, 180.0, -60.0
            mean[quality] = other.render(data, free).mean()
    assert mean["fast"] > mean["good"] + 1.0
    assert mean["good"] == pytest.approx(mean["libero"], abs=0.5)
    assert (
        model.vis.quality.shadowsize,
        model.vis.quality.offsamples,
        model.vis.global_.offwidth,
    ) == before


@pytest.mark.gl
def test_two_at_once_do_not_disturb_each_other(vision, scene) -> None:
    model, data = scene
    expected = vision.render(data, "front")
    with Vision(32, 32, "fast") as other:
        other.load(model)
        assert other.render(data, "back").shape == (32, 32, 3)
        assert (vision.render(data, "front") == expected).all()
    assert (vision.render(data, "front") == expected).all()


@pytest.mark.gl
def test_another_model_replaces_the_first(vision, scene) -> None:
    model, data = scene
    expected = vision.render(data, "front")
    other = mujoco.MjModel.from_xml_string(SCENE.replace("1 0 0 1", "1 1 1 1"))
    other_data = mujoco.MjData(other)
    mujoco.mj_forward(other, other_data)
    vision.load(other)
    assert (vision.render(other_data, "front")[32, 48] > 150).all()
    vision.load(model)
    assert (vision.render(data, "front") == expected).all()


@pytest.mark.gl
def test_misuse_has_a_name(vision, scene) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'good'"):
        Vision(quality="goood")  # type: ignore[arg-type]
    fresh = Vision(16, 16, "fast")
    with pytest.raises(VisionError, match="load"):
        fresh.render(scene[1], 0)
    fresh.close()
    fresh.close()
    for call in (lambda: fresh.load(scene[0]), lambda: fresh.render(scene[1], 0)):
        with pytest.raises(VisionError, match="closed"):
            call()


EXIT_CODE = f"""
import mujoco
from libero_safety.sim.vision import Vision
model = mujoco.MjModel.from_xml_string({SCENE!r})
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
kept = [Vision(32, 32, "fast") for _ in range(3)]
for vision in kept:
    vision.load(model)
    vision.render(data, "front")
del kept[0]
kept[0].close()
"""


@pytest.mark.gl
@pytest.mark.parametrize("backend", ["", "egl", "osmesa"])
def test_the_interpreter_ends_without_a_word(backend: str) -> None:
    probe = run_python("from libero_safety.sim.gl import probe_json; print(probe_json())", MUJOCO_GL=backend)
    if '"ok": true' not in probe.stdout:
        pytest.skip(f"no {backend or 'off-screen GL'} here")
    done = run_python(EXIT_CODE, MUJOCO_GL=backend)
    assert done.returncode == 0
    assert done.stdout + done.stderr == ""


def test_importing_needs_neither_gl_nor_mujoco() -> None:
    code = "import sys, libero_safety.sim.vision; assert not {'mujoco', 'OpenGL'} & set(sys.modules)"
    done = run_python(code, MUJOCO_GL="nonsense")
    assert done.returncode == 0, done.stderr


def test_a_bad_setting_is_named_and_not_raised_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "elg")
    report = gl_backend()
    assert not report.ok
    assert "egl" in report.why
    with pytest.raises(NoGLError, match="MUJOCO_GL=elg"):
        Vision()
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(NoGLError, match="switches drawing off"):
        choose_backend()


def test_a_setting_that_keeps_mujoco_from_importing_is_explained() -> None:
    code = """
from libero_safety.sim.gl import NoGLError, load_mujoco
try:
    load_mujoco()
except NoGLError as error:
    print(error)
"""
    done = run_python(code, MUJOCO_GL="nonsense")
    assert "Unset MUJOCO_GL" in done.stdout
    assert "libosmesa6" in done.stdout
    assert load_mujoco() is mujoco


def test_without_any_library_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(NoGLError, match=r"libegl1 libgl1 libgl1-mesa-dri.*libosmesa6"):
        choose_backend()
    monkeypatch.setattr("ctypes.util.find_library", lambda name: f"/nowhere/lib{name}.so")
    with pytest.raises(NoGLError, match="libosmesa6"):
        choose_backend()
    monkeypatch.setenv("DISPLAY", ":0")
    assert choose_backend()[0] == "glfw"


@pytest.mark.gl
@pytest.mark.slow
def test_a_thousand_models_leave_no_memory_behind(vision, scene) -> None:
    model, data = scene
    process = psutil.Process()

    def load(times: int) -> None:
        for _ in range(times):
            vision.load(model)
            vision.render(data, "front")
        gc.collect()

    load(100)
    before = process.memory_info().rss
    load(1000)
    grown_mib = (process.memory_info().rss - before) / 2**20
    # The driver's pools grow once by a few MiB and then stay; one lost shadow map alone is 4 MiB a load.
    assert grown_mib < 16.0, f"{grown_mib:.1f} MiB more after 1,000 loads"


LEVEL = np.array([math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0])  # at -y of the pivot, looks along +y, up is +z
PIVOT = np.array([0.1, 0.2, 0.8])
AWAY = PIVOT + np.array([0.0, -2.0, 0.0])


def axes(quat: np.ndarray) -> np.ndarray:
    """Columns: right, up, backwards."""
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix.reshape(3, 3)


def test_no_displacement_changes_nothing() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT)
    assert pos == pytest.approx(AWAY)
    assert quat == pytest.approx(LEVEL)


def test_yaw_pi_moves_to_the_other_side_and_still_looks_at_the_pivot() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, yaw=math.pi)
    assert pos == pytest.approx(PIVOT + np.array([0.0, 2.0, 0.0]))
    assert axes(quat) == pytest.approx(np.array([[-1, 0, 0], [0, 0, 1], [0, 1, 0]]), abs=1e-12)


def test_a_quarter_yaw_is_counter_clockwise_from_above() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, yaw=math.pi / 2)
    assert pos == pytest.approx(PIVOT + np.array([2.0, 0.0, 0.0]))
    assert -axes(quat)[:, 2] == pytest.approx([-1.0, 0.0, 0.0])


def test_pitch_raises_the_camera_on_a_circle() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, pitch=math.pi / 6)
    assert pos == pytest.approx(PIVOT + np.array([0.0, -math.sqrt(3.0), 1.0]))
    assert -axes(quat)[:, 2] == pytest.approx([0.0, math.sqrt(0.75), -0.5])
    assert axes(quat)[:, 0] == pytest.approx([1.0, 0.0, 0.0])


def test_scale_multiplies_the_distance_only() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, scale=1.5)
    assert pos == pytest.approx(PIVOT + np.array([0.0, -3.0, 0.0]))
    assert quat == pytest.approx(LEVEL)
    with pytest.raises(VisionError, match="scale"):
        displaced_camera(AWAY, LEVEL, PIVOT, scale=0.0)


def test_roll_turns_the_camera_in_place() -> None:
    pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, roll=math.pi / 2)
    assert pos == pytest.approx(AWAY)
    assert axes(quat)[:, 0] == pytest.approx([0.0, 0.0, 1.0])
    assert axes(quat)[:, 1] == pytest.approx([-1.0, 0.0, 0.0])


def test_a_camera_that_looks_straight_down_tips_about_its_own_horizontal() -> None:
    down = np.array([1.0, 0.0, 0.0, 0.0])
    pos, quat = displaced_camera(PIVOT + np.array([0.0, 0.0, 1.0]), down, PIVOT, pitch=-math.pi / 2)
    assert pos == pytest.approx(PIVOT + np.array([0.0, -1.0, 0.0]))
    assert quat == pytest.approx(LEVEL)


def test_all_at_once_keeps_the_pivot_in_the_middle() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        yaw, pitch, roll = rng.uniform(-1.0, 1.0, 3)
        pos, quat = displaced_camera(AWAY, LEVEL, PIVOT, yaw=yaw, pitch=pitch, roll=roll, scale=0.5)
        assert np.linalg.norm(pos - PIVOT) == pytest.approx(1.0)
        assert -axes(quat)[:, 2] == pytest.approx(PIVOT - pos)
        assert pos[2] - PIVOT[2] == pytest.approx(math.sin(pitch))


@pytest.mark.gl
def test_scenery_catches_shadows_and_throws_none() -> None:
    world = """<mujoco><worldbody>
        <light pos="0 0 3" dir="0 0 -1" castshadow="true" cutoff="60"/>
        <geom name="floor" type="box" size="2 2 0.1" pos="0 0 -0.1" group="2"/>
        <geom name="roof" type="box" size="0.4 0.4 0.02" pos="0 0 1" group="{group}"/>
        <camera name="below" pos="0 -1.5 0.6" xyaxes="1 0 0 0 0.4 1"/>
        </worldbody></mujoco>"""
    brightness = {}
    for group in (1, SCENERY_GROUP):
        model = mujoco.MjModel.from_xml_string(world.format(group=group))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        with Vision(64, 64) as other:
            other.load(model)
            first = other.render(data, "below")
            assert np.array_equal(first, other.render(data, "below"))
            brightness[group] = int(first[34:, 20:44].sum())
    assert brightness[SCENERY_GROUP] > 1.1 * brightness[1]
