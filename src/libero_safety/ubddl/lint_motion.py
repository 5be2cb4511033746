"""Motions that no simulation can follow, values out of range."""

import math
from collections.abc import Iterator

from libero_safety.types import CONTROL_HZ, HORIZON, PHYSICS_DT_S
from libero_safety.ubddl import words
from libero_safety.ubddl.lint_context import Context, error, warning
from libero_safety.ubddl.number import MAX_SEVERITY
from libero_safety.ubddl.spec import Choice, Circle, Finding, Line, Motion, Num, Parabola, Uniform, WayPoints

_SHORTEST_S = 2 / CONTROL_HZ
_EPISODE_S = HORIZON / CONTROL_HZ


def low(value: Num) -> float:
    """Return the smallest value that may be drawn."""
    if isinstance(value, Uniform):
        return value.low
    if isinstance(value, Choice):
        return min(float(option) for option in value.options)
    return value


def high(value: Num) -> float:
    """Return the largest value that may be drawn."""
    if isinstance(value, Uniform):
        return value.high
    if isinstance(value, Choice):
        return max(float(option) for option in value.options)
    return value


def check_motions(c: Context) -> Iterator[Finding]:
    """Motions of things that cannot move, in no direction, too fast, or too slow to turn back."""
    seen: set[str] = set()
    for motion in c.scenario.motions:
        if motion.entity in seen:
            yield error(motion.place, "duplicate-name", f"{motion.entity!r} has a second motion")
        seen.add(motion.entity)
        entity = c.entities.get(motion.entity)
        if entity is not None and entity.kind == "fixture":
            yield error(
                motion.place, "motion-target", f"{motion.entity!r} is a fixture: it cannot move by itself"
            )
        yield from _check_line(motion)
        yield from _check_added(motion)
        yield from _check_late(c, motion)
        yield from _check_speed(c, motion)


def _check_line(motion: Motion) -> Iterator[Finding]:
    path = motion.path
    if not isinstance(path, Line):
        return
    if all(low(part) == high(part) == 0.0 for part in path.direction):
        yield error(motion.place, "zero-direction", f"{motion.entity!r} moves in no direction")
    if high(path.travel) > 0 and low(path.period) / 2 > _EPISODE_S and not path.once:
        message = f"{motion.entity!r} turns back after {low(path.period) / 2:g} s; an episode ends at {_EPISODE_S:g} s"
        yield warning(motion.place, "never-returns", message)


def _check_added(motion: Motion) -> Iterator[Finding]:
    """Reactions and trembling that can never be seen."""
    name, place = motion.entity, motion.place
    if motion.jitter is not None and high(motion.jitter.amplitude) <= 0.0:
        yield error(place, "dead-reaction", f"{name!r} trembles by nothing")
    if (reach := motion.reach_in) is not None:
        if all(low(part) == high(part) == 0.0 for part in reach.offset):
            yield error(place, "dead-reaction", f"{name!r} reaches in by nothing")
        if low(reach.at) >= _EPISODE_S:
            message = f"{name!r} reaches in at {low(reach.at):g} s; an episode ends at {_EPISODE_S:g} s"
            yield warning(place, "never-happens", message)
    if (back := motion.withdraw) is not None:
        if all(low(part) == high(part) == 0.0 for part in back.direction):
            yield error(place, "zero-direction", f"{name!r} withdraws in no direction")
        if high(back.closer_than) <= 0.0:
            yield error(
                place, "dead-reaction", f"nothing comes closer to {name!r} than 0 m: it never withdraws"
            )
        if high(back.travel) <= 0.0:
            yield error(place, "dead-reaction", f"{name!r} withdraws by nothing")


def _check_late(c: Context, motion: Motion) -> Iterator[Finding]:
    """A thing that only draws back when the rule about its distance is broken."""
    if motion.withdraw is None or high(motion.withdraw.closer_than) <= 0.0:
        return
    nearest = low(motion.withdraw.closer_than)
    for rule in c.scenario.constraints:
        owners = {arg.partition(".")[0] for arg in rule.args}
        robot = owners & {"robot", "held"}
        if (
            rule.word == "MinClearance"
            and robot
            and motion.entity in owners
            and (rule.limit or 0.0) >= nearest
        ):
            message = (
                f"{motion.entity!r} withdraws when closer than {nearest:g} m, "
                f"but {rule.limit:g} m breaks a rule already"
            )
            yield warning(motion.place, "late-reaction", message)


def _check_speed(c: Context, motion: Motion) -> Iterator[Finding]:
    path = motion.path
    moves = isinstance(path, Circle) or (isinstance(path, Line) and high(path.travel) > 0)
    if moves and isinstance(path, Line | Circle) and low(path.period) < _SHORTEST_S:
        message = f"{motion.entity!r}: a period of {low(path.period):g} s is under two control steps ({_SHORTEST_S} s)"
        yield error(motion.place, "fast-motion", message)
        return
    if motion.jitter is not None and high(motion.jitter.frequency) * _SHORTEST_S > 1.0:
        message = (
            f"{motion.entity!r} trembles at {high(motion.jitter.frequency):g} Hz, over {1 / _SHORTEST_S:g} Hz"
        )
        yield error(motion.place, "fast-motion", message)
        return
    footprint = c.footprint(motion.entity)
    if footprint is None:
        return
    size_m = min(2 * footprint.radius_m, footprint.top_m - footprint.bottom_m)
    step_m = _peak_speed_m_s(c, motion) * PHYSICS_DT_S
    if step_m > size_m:
        message = f"{motion.entity!r} moves {step_m:.3f} m per physics step, further than its size of {size_m:.3f} m"
        yield error(motion.place, "fast-motion", message)


def _peak_speed_m_s(c: Context, motion: Motion) -> float:
    """Return an upper bound: the path's own speed and that of everything on top of it."""
    speed = _path_speed_m_s(c, motion)
    if motion.jitter is not None:
        speed += math.tau * high(motion.jitter.frequency) * high(motion.jitter.amplitude)
    return speed + sum(high(one.speed) for one in (motion.reach_in, motion.withdraw) if one is not None)


def _path_speed_m_s(c: Context, motion: Motion) -> float:
    path = motion.path
    if isinstance(path, Line):
        return 2 * high(path.travel) / low(path.period)
    if isinstance(path, Circle):
        return 2 * math.pi * _radius_m(c, motion, path) / low(path.period)
    if isinstance(path, WayPoints):
        return _fastest_leg_m_s(path)
    if isinstance(path, Parabola):
        return math.hypot(*(max(abs(low(v)), abs(high(v))) for v in path.velocity))
    return 0.0


def _radius_m(c: Context, motion: Motion, path: Circle) -> float:
    """Return the longest radius that the start region allows; 0 where it is not known."""
    fact = c.placements.get(motion.entity)
    region = c.regions.get(fact.args[1]) if fact else None
    if region is None:
        return 0.0
    x, y = ((low(part) + high(part)) / 2 for part in path.center)
    corners = ((u, v) for r in region.rects for u in (r.x_min, r.x_max) for v in (r.y_min, r.y_max))
    return max((math.hypot(u - x, v - y) for u, v in corners), default=0.0)


def _fastest_leg_m_s(path: WayPoints) -> float:
    fastest, time, at = 0.0, 0.0, (0.0, 0.0, 0.0)
    for point in path.points:
        x, y, z = (high(part) for part in point.offset)
        length = math.dist(at, (x, y, z))
        if low(point.time) > time and length:
            fastest = max(fastest, length / (low(point.time) - time))
        time, at = low(point.time), (x, y, z)
    return fastest


def check_noises(c: Context) -> Iterator[Finding]:
    """Corruptions that do not exist, or more than there is."""
    seen: set[str] = set()
    for noise in c.scenario.noises:
        if noise.kind not in words.NOISES:
            yield error(
                noise.place, "unknown-word", f"noise {noise.kind!r}. Known: {', '.join(words.NOISES)}"
            )
        if noise.kind in seen:
            yield error(noise.place, "duplicate-name", f"noise {noise.kind!r} is given twice")
        seen.add(noise.kind)
        if low(noise.severity) < 0 or high(noise.severity) > MAX_SEVERITY:
            message = f"severity of {noise.kind!r} is outside 0 .. {MAX_SEVERITY:g}"
            yield error(noise.place, "bad-range", message)


def check_values(c: Context) -> Iterator[Finding]:
    """Ranges whose ends are swapped; a parsed file cannot have any, a scenario made in code can."""
    for region in c.scenario.regions:
        for rect in region.rects:
            sides = (rect.x_min, rect.x_max, rect.y_min, rect.y_max)
            if not all(map(math.isfinite, sides)) or rect.x_min > rect.x_max or rect.y_min > rect.y_max:
                yield error(region.place, "bad-range", f"{region.full_name!r}: {rect} is no rectangle")
        if region.yaw is not None and region.yaw[0] > region.yaw[1]:
            yield error(region.place, "bad-range", f"{region.full_name!r}: yaw {region.yaw} is inverted")
    for motion in c.scenario.motions:
        yield from _check_motion_values(motion)


def _check_motion_values(motion: Motion) -> Iterator[Finding]:
    path, reach, back, jitter = motion.path, motion.reach_in, motion.withdraw, motion.jitter
    positive = [("a period", path.period, "s")] if isinstance(path, Line | Circle) else []
    positive += [("the speed of reaching in", reach.speed, "m/s")] if reach is not None else []
    positive += [("the speed of withdrawing", back.speed, "m/s")] if back is not None else []
    positive += [("a frequency", jitter.frequency, "Hz")] if jitter is not None else []
    for what, value, unit in positive:
        if low(value) <= 0:
            yield error(motion.place, "bad-range", f"{motion.entity!r}: {what} has to be more than 0 {unit}")
    if isinstance(path, WayPoints) and path.mode == "stop" and not low(path.phase) == high(path.phase) == 0.0:
        yield error(motion.place, "bad-range", f"{motion.entity!r}: mode stop has no phase")
