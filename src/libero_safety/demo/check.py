"""What can be known about keyposes before any planning: names, and what is held when."""

from collections.abc import Iterator, Sequence

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog
from libero_safety.demo.keypose import VERBS
from libero_safety.demo.target import GRIPPER
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.sim.frames import FACES, GRASP
from libero_safety.types import Keypose
from libero_safety.ubddl.lint_context import Context
from libero_safety.ubddl.spec import Scenario


def check_keyposes(
    keyposes: Sequence[Keypose], scenario: Scenario, catalog: Catalog, where: str = "keyposes"
) -> list[str]:
    """Return what is wrong with keyposes in a scenario, in words, each with its place; nothing when all is well.

    A part or zone must be there on every type that the scenario can draw for its entity. Whether a pose is
    within reach and free depends on the draw: that is found out when it is planned.

    Args:
        keyposes: of one task, in order.
        scenario: the task at one level.
        catalog: where its types come from.
        where: what to call the keyposes, mostly their file.
    """
    names = _Names(Context(scenario, catalog), catalog)
    problems: list[str] = []
    held: str | None = None
    closed = False
    for index, keypose in enumerate(keyposes):
        found = [*names.check(keypose), *_check_held(keypose, held)]
        problems += [f"{where}: keypose {index} {keypose.name!r}: {problem}" for problem in found]
        if keypose.hint and (keypose.gripper > 0) != closed:
            problems.append(
                f"{where}: keypose {index} {keypose.name!r}: hint, but it opens or closes the gripper"
            )
        if keypose.gripper <= 0:
            held = None
        elif keypose.verb == "grasp":
            held = keypose.frame.partition(".")[0]
        closed = keypose.gripper > 0
    return problems


def _check_held(keypose: Keypose, held: str | None) -> Iterator[str]:
    tool = keypose.tool.partition(".")[0]
    if keypose.tool and tool != held:
        what = f"it holds {held!r}" if held else "it holds nothing"
        yield f"tool is {keypose.tool!r}, but when the gripper comes here {what}"
    if held is None and VERBS[keypose.verb].touches == "held":
        yield f"verb is {keypose.verb!r}, but the gripper holds nothing: close it at a thing before"
    if keypose.verb == "grasp" and keypose.gripper <= 0:
        yield f"verb is 'grasp', but gripper is {keypose.gripper}: it must be above 0 to close"


class _Names:
    """Looks up what keyposes name in one scenario."""

    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog

    def check(self, keypose: Keypose) -> Iterator[str]:
        if keypose.frame != GRIPPER:
            yield from self._check_frame("frame", keypose.frame)
        if keypose.tool:
            yield from self._check_frame("tool", keypose.tool)
        if keypose.hinge:
            yield from self._check_hinge(keypose.hinge)

    def _check_frame(self, key: str, name: str) -> Iterator[str]:
        owner, _, rest = name.partition(".")
        part, _, face = rest.partition(".")
        if self._context.is_workspace(owner):
            regions = self._context.regions_with_rects
            if part and f"{owner}.{part}" not in regions:
                near = near_match(name, regions)
                yield f"{key} is {name!r}, but {owner!r} has no region {part!r}{near}"
            return
        if owner not in self._context.entities:
            near = near_match(owner, [*self._context.entities, GRIPPER])
            yield f"{key} is {name!r}, but the scenario has no {owner!r}{near}"
            return
        if face and face not in FACES:
            yield f"{key} is {name!r}: {face!r} is no face{near_match(face, FACES)}. Known: {', '.join(FACES)}"
        if not part or f"{owner}.{part}" in self._context.regions_with_rects:
            return
        for asset in self._assets(owner):
            known = _inner_frames(asset)
            if part not in known and asset.zone(part) is None:
                yield (
                    f"{key} is {name!r}, but {asset.name} has no part or zone {part!r}"
                    f"{near_match(part, known)}. It has: {', '.join(known)}"
                )
                return

    def _check_hinge(self, name: str) -> Iterator[str]:
        owner, _, joint = name.partition(".")
        if owner not in self._context.entities or self._context.is_workspace(owner):
            near = near_match(owner, self._context.entities)
            yield f"hinge is {name!r}, but the scenario has no {owner!r}{near}"
            return
        for asset in self._assets(owner):
            known = [link.joint.name for link in asset.links if link.joint is not None]
            if joint not in known:
                near = f"{near_match(joint, known)}. It has: {', '.join(known) or 'none'}"
                yield f"hinge is {name!r}, but {asset.name} has no joint {joint!r}{near}"
                return

    def _assets(self, entity: str) -> Iterator[Asset]:
        """Yield every asset that the entity may be; unknown types are the scenario's own error."""
        for type_name in self._context.types(self._context.entities[entity]):
            try:
                yield self._catalog.asset(type_name)
            except LiberoSafetyError:
                continue


def _inner_frames(asset: Asset) -> list[str]:
    """Return the names of the frames inside an asset."""
    grasp = [GRASP] if asset.grasp is not None else []
    solid = {s.part for link in asset.links for s in link.shapes if s.role != "visual"}
    return [*grasp, *(zone.name for zone in asset.zones), *(part for part in asset.parts if part in solid)]
