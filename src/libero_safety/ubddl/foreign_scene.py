"""Noise, cameras, looks and robot start of foreign dialects."""

import math

from libero_safety.ubddl import words
from libero_safety.ubddl.foreign import Reading, flat_word, unquoted
from libero_safety.ubddl.formula import head_of, unknown
from libero_safety.ubddl.number import number, number_or_dist
from libero_safety.ubddl.parse import keyed, single
from libero_safety.ubddl.reader import Atom, Node, UbddlError
from libero_safety.ubddl.spec import Camera, Look, Noise

NOISES = {
    "gaussian": "gaussian_blur",
    "motion": "motion_blur",
    "zoom": "zoom_blur",
    "fog": "fog",
    "glass": "glass_blur",
}
"""The reference's noise keys in our words."""
_NEVER_MADE = ("pepper", "salt")
_MAX_SEVERITY = 10.0
"""The last row of the reference's tables."""
_IDS_PER_NORM = 100
"""The reference's start states 1..500 lie 0.1 rad further from home for each hundred."""


def read_noise(reading: Reading, node: Node) -> None:
    """Read `(:noise (:gaussian 5) ...)`; it reaches `agentview` only."""
    if node.rest and isinstance(node.rest[0], Atom):
        reading.note(node.place, "not-carried", f"{node}: additive pixel noise is not carried over", "error")
        return
    for item in node.rest:
        entry, key = head_of(item, "(:kind severity)")
        kind = key.removeprefix(":")
        if kind in _NEVER_MADE:
            raise UbddlError(entry.place, f"noise {kind!r} was never made, there or here")
        if kind not in NOISES:
            raise unknown(entry.items[0], "noise", kind, NOISES)
        if NOISES[kind] in reading.block.noises:
            raise UbddlError(entry.place, f"noise {kind!r} is given twice")
        value = unquoted(single(entry, "one severity"))
        severity = number_or_dist(value, what="the severity", low=0.0, high=_MAX_SEVERITY)
        noise = Noise(NOISES[kind], severity, (words.CAMERAS[0],), entry.place)
        reading.block.noises[noise.kind] = noise
    active = [noise for noise in reading.block.noises.values() if noise.severity != 0.0]
    if len(active) > 1:
        reading.note(
            node.place, "two-noises", "the source applies only one of several; here all, in this order"
        )


def read_cam_view(reading: Reading, node: Node) -> None:
    """Read `(:cam_view (:vertical deg) (:horizon deg) (:scale_factor f) ...)`: it moves `agentview`."""
    keys = (":vertical", ":horizon", ":scale_factor", ":end_point_vertical", ":end_point_rot")
    values = {
        key: number(unquoted(single(entry, "one number")), what=key)
        for key, entry in keyed(node, node.rest, keys).items()
    }
    for key in keys[3:]:
        if values.get(key, 0.0) != 0.0:
            reading.note(
                node.place, "not-carried", f"{key}: turning a camera in place is not carried over", "error"
            )
    name = words.CAMERAS[0]
    reading.block.cameras[name] = Camera(
        name,
        yaw=math.radians(values.get(":horizon", 0.0)),
        pitch=math.radians(values.get(":vertical", 0.0)),
        scale=values.get(":scale_factor", 1.0),
        place=node.place,
    )


def read_scene(reading: Reading, node: Node) -> None:
    """Read `(:scene_properties (:floor style) (:wall style))`."""
    for key, entry in keyed(node, node.rest, (":floor", ":wall")).items():
        part = key[1:]
        reading.block.looks[part] = Look(part, flat_word(single(entry, "one style")), entry.place)


def read_init_state(reading: Reading, node: Node) -> None:
    """Read `(:robot_init_state id)`: a stored displacement of which only the length is known."""
    value = single(node, "one number")
    state = number(unquoted(value), what="the start state")
    if not 0 <= state <= 500 or state != int(state):
        raise UbddlError(value.place, f"a start state is 0 .. 500, found {value}")
    reading.block.robot["start_noise"] = 0.1 * math.ceil(state / _IDS_PER_NORM)
    reading.note(
        node.place, "approximated", "a displacement of that length, in a direction of our own drawing"
    )
