"""Which off-screen OpenGL there is, and how to open one; needs neither OpenGL nor MuJoCo until asked."""

import ctypes
import ctypes.util
import importlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from libero_safety.errors import LiberoSafetyError

INSTALL_HINT = (
    "`apt-get install libegl1 libgl1 libgl1-mesa-dri` (EGL) or `apt-get install libosmesa6` (OSMesa)"
)

_OFF = ("disable", "disabled", "off", "false", "0")
_ANY = ("", "enable", "enabled", "on", "true", "1")
_NAMES = {"egl": "egl", "osmesa": "osmesa", "glfw": "glfw", "glx": "glfw"}
_PROBE_TIMEOUT_S = 60.0


class NoGLError(LiberoSafetyError):
    """Nothing here can draw a picture."""


class GLContext(Protocol):
    """An off-screen OpenGL context."""

    def make_current(self) -> None:
        """Let the OpenGL calls of this thread go here."""
        ...

    def free(self) -> None:
        """Destroy it."""
        ...


@dataclass(frozen=True)
class GLReport:
    """What a trial in a separate process found.

    Attributes:
        name: `egl`, `osmesa` or `glfw`; what was asked for when nothing works.
        ok: whether a context could be made.
        why: where the choice comes from, or what is wrong and how to mend it.
        device: name that the driver gives itself; `llvmpipe` and `softpipe` draw on the CPU.
    """

    name: str
    ok: bool
    why: str
    device: str = ""

    @property
    def software(self) -> bool:
        """Whether pictures are drawn by the CPU."""
        return any(word in self.device.lower() for word in ("llvmpipe", "softpipe", "swrast"))


def load_mujoco():
    """Import MuJoCo; it reads `MUJOCO_GL` while it is imported and can fail over it.

    Raises:
        NoGLError: the variable keeps MuJoCo from being imported.
    """
    try:
        import mujoco
    except Exception as error:
        setting = os.environ.get("MUJOCO_GL")
        if setting is None:
            raise
        raise NoGLError(
            f"MuJoCo cannot be imported with MUJOCO_GL={setting} ({error}). Unset MUJOCO_GL to run without "
            f"pictures, or set it to egl or osmesa and install {INSTALL_HINT}"
        ) from error
    return mujoco


def choose_backend() -> tuple[str, str]:
    """Return the name of the OpenGL library to use and the reason.

    `MUJOCO_GL` decides; without it EGL, then OSMesa, then a window system, whichever can be loaded: the same
    order with and without a display, so that pictures do not depend on who is logged in.

    Raises:
        NoGLError: `MUJOCO_GL` forbids drawing or is misspelt, or nothing can be loaded.
    """
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in _OFF:
        raise NoGLError(f"MUJOCO_GL={asked} switches drawing off; unset it to draw")
    if asked in _NAMES:
        return _NAMES[asked], f"MUJOCO_GL={asked}"
    if asked not in _ANY:
        raise NoGLError(f"MUJOCO_GL={asked} is not one of {', '.join(_NAMES)}; mend or unset it")
    if platform.system() != "Linux":
        return "default", f"the default on {platform.system()}"
    fixed = os.environ.get("PYOPENGL_PLATFORM", "").lower()
    if fixed in ("egl", "osmesa"):
        return fixed, f"PYOPENGL_PLATFORM={fixed}"
    if _egl_has_device():
        return "egl", "EGL is installed"
    if _load("OSMesa"):
        return "osmesa", "OSMesa is installed and EGL is not"
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return "glfw", "there is a display but neither EGL nor OSMesa"
    raise NoGLError(f"no library for off-screen drawing found: install {INSTALL_HINT}")


def open_context(width: int, height: int) -> GLContext:
    """Return a new OpenGL context for pictures up to this size (pixels).

    Raises:
        NoGLError: there is none to be had; the message says what to install or change.
    """
    name, reason = choose_backend()
    load_mujoco()
    module = "mujoco.gl_context" if name == "default" else f"mujoco.{name}"
    try:
        context = importlib.import_module(module).GLContext(width, height)
        context.make_current()
    except Exception as error:
        others = " or ".join(other for other in ("egl", "osmesa") if other != name)
        raise NoGLError(
            f"cannot open an off-screen context with {name} ({reason}): {error}. "
            f"Install {INSTALL_HINT}, or set MUJOCO_GL={others}"
        ) from error
    return context


def gl_backend() -> GLReport:
    """Try to open a context in a separate process, so that a broken driver cannot take this one down."""
    try:
        name, _ = choose_backend()
    except NoGLError as error:
        return GLReport(os.environ.get("MUJOCO_GL", "") or "none", ok=False, why=str(error))
    code = f"import sys; from {__name__} import probe_json; sys.stdout.write(probe_json())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            env=environment,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return GLReport(name, ok=False, why=f"no answer from the driver within {_PROBE_TIMEOUT_S:.0f} s")
    except (OSError, ValueError, IndexError) as error:
        return GLReport(name, ok=False, why=f"the trial process ended without an answer ({error})")
    return GLReport(**found)


def probe_json() -> str:
    """Open a context here and describe it: a `GLReport` as JSON."""
    name, reason = choose_backend()
    try:
        context = open_context(64, 64)
    except NoGLError as error:
        return json.dumps(asdict(GLReport(name, ok=False, why=str(error))))
    device = _device_name()
    context.free()
    return json.dumps(asdict(GLReport(name, ok=True, why=reason, device=device)))


def _device_name() -> str:
    """Return what the driver of the current context calls itself, or nothing."""
    try:
        gl = importlib.import_module("OpenGL.GL")
        text = gl.glGetString(gl.GL_RENDERER)
    except Exception:
        return ""
    return text.decode(errors="replace") if isinstance(text, bytes) else ""


def _load(library: str) -> ctypes.CDLL | None:
    path = ctypes.util.find_library(library)
    try:
        return ctypes.CDLL(path) if path else None
    except OSError:
        return None


def _egl_has_device() -> bool:
    """Whether EGL can be loaded and lists a device to draw on without a display."""
    egl = _load("EGL")
    if egl is None:
        return False
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    address = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    if not address:
        return False
    query = ctypes.CFUNCTYPE(
        ctypes.c_uint, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)
    )(address)
    count = ctypes.c_int(0)
    return bool(query(0, None, ctypes.byref(count))) and count.value > 0
