"""Names to assets and arenas.

A type name is the name of a recipe, or of a variant of one (see `splits`): `bottle_of_beer__7` is a `bottle_of_beer` of
another size and colour; `NAME_with_hand` is a person's hand that holds NAME, `NAME_with_hand__2` another (see `pairs`).
"""

from dataclasses import replace
from functools import cached_property, lru_cache

from libero_safety.assets.arenas import ARENAS, Arena
from libero_safety.assets.asset import Asset
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import footprint, rotate
from libero_safety.assets.lighting import LIGHTINGS
from libero_safety.assets.looks import PARTS, SHORT, look_names
from libero_safety.assets.objects.food import FOODS
from libero_safety.assets.objects.hand import HANDS, hand_variant
from libero_safety.assets.objects.shapes import Recipe
from libero_safety.assets.pairs import WITH_HAND, PairName, pair_asset, stored_pairs
from libero_safety.assets.sources import BUILT_IN, Source, SourceError, built_in_recipes, source
from libero_safety.assets.splits import TEST_NUMBERS, TRAIN_NUMBERS, Numbered, variant
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import Footprint, Zone
from libero_safety.ubddl.spec import Split


class UnknownAssetError(LiberoSafetyError):
    """A type or arena name that the catalog cannot make."""


class Catalog:
    """Everything that scenes can be built from. Assets are made when first asked for, then kept."""

    def __init__(self, *sources: Source) -> None:
        """Use the recipes of `sources`, by default the built-in ones; of one name the first source's holds.

        Raises:
            SourceError: one source twice.
        """
        self.sources = tuple(s.name for s in sources) or (BUILT_IN,)
        if len(set(self.sources)) < len(self.sources):
            raise SourceError(f"an asset source is named twice: {', '.join(self.sources)}")
        self._recipes: dict[str, Recipe] = {}
        for each in reversed(sources or (source(BUILT_IN),)):
            self._recipes |= each.recipes
        self._assets: dict[str, Asset] = {}
        self._footprints: dict[str, Footprint] = {}

    def names(self) -> list[str]:
        """Return the names of all recipes, sorted; variants and `_with_hand` names are formed from them."""
        return sorted(self._recipes)

    def arenas(self) -> list[str]:
        """Return the names of all arenas."""
        return sorted(self._arenas)

    def is_fixture(self, type_name: str) -> bool:
        """Return whether a type is furniture or an appliance that stays where it is."""
        return type_name in FIXTURES or len(self.asset(type_name).links) > 1

    def asset(self, type_name: str) -> Asset:
        """Return the asset of a type.

        Raises:
            UnknownAssetError: no recipe or variant has this name; the message has near names.
        """
        if type_name not in self._assets:
            self._assets[type_name] = self._make(type_name)
        return self._assets[type_name]

    def arena(self, name: str) -> Arena:
        """Return an arena.

        Raises:
            UnknownAssetError: no arena has this name.
        """
        if name not in self._arenas:
            raise UnknownAssetError(
                f"unknown arena {name!r}{near_match(name, self._arenas)}. Known: {', '.join(self.arenas())}"
            )
        return self._arenas[name]

    def footprint(self, type_name: str) -> Footprint:
        """Return the room that a type takes."""
        if type_name not in self._footprints:
            self._footprints[type_name] = footprint(self.asset(type_name))
        return self._footprints[type_name]

    def zone(self, type_name: str, zone: str) -> Zone | None:
        """Return a named zone of a type in its root frame with all joints at zero, or None."""
        asset = self.asset(type_name)
        found = asset.zone(zone)
        if found is None or not found.link:
            return found
        link = next(k for k in asset.links if k.name == found.link)
        x, y, z = rotate(link.quat, found.pos)
        return replace(found, pos=(x + link.pos[0], y + link.pos[1], z + link.pos[2]))

    def variants(self, type_name: str, split: Split) -> tuple[str, ...]:
        """Return the types of a split that can stand for `type_name`; empty if there are none.

        A variant that is in the split stands for itself; any other type for all variants of its base, in the train
        split with the base itself. Fixtures have no variants. `NAME_with_hand` stands for all stored pairs of NAME and
        its variants in the split, or if there are none for those variants, each in a hand.

        Raises:
            UnknownAssetError: no recipe or variant has this name.
        """
        pair = self._pair(type_name)
        if pair is None:
            return self._variants(type_name, split, type_name)
        things = self._variants(pair.thing, split, type_name)
        if things == (pair.thing,):
            return (type_name,)
        stored = stored_pairs(self._base(pair.thing), split) if self._is_built_in(pair.thing) else ()
        return stored or tuple(str(PairName(thing, None)) for thing in things)

    def split(self, type_name: str) -> Split:
        """Return the split that a type belongs to.

        Raises:
            UnknownAssetError: no recipe or variant has this name.
        """
        if self._recipe_name(type_name) is not None:
            return "train"
        pair = self._pair(type_name)
        numbered = self._numbered(pair.thing if pair else type_name, type_name)
        return "train" if numbered is None else numbered.split

    def workspace_type(self, arena: str) -> str:
        """Return the fixture type that means the arena's own surface."""
        return self.arena(arena).workspace_types[0]

    def looks(self, arena: str) -> dict[str, tuple[str, ...]]:
        """Return what of an arena has a look (`table`, `floor`, `wall`, `lighting`), and all words for it."""
        words = {part: (*SHORT[part], *look_names(part)) for part in PARTS} | {"lighting": tuple(LIGHTINGS)}
        return {part: words[part] for part, _ in self.arena(arena).looks}

    @cached_property
    def _arenas(self) -> dict[str, Arena]:
        return {name: make() for name, make in ARENAS.items()}

    def _make(self, name: str) -> Asset:
        known = self._recipe_name(name)
        if known is not None:
            return self._recipes[known](name)
        pair = self._pair(name)
        if pair is not None:
            held = self._part_of(pair.thing, name)
            return pair_asset(name, pair, held, stored=self._is_built_in(pair.thing))
        numbered = self._numbered(name, name)
        assert numbered is not None
        if self._recipes[numbered.base] is HANDS.get(numbered.base):
            return hand_variant(name, numbered)
        recolour = numbered.base not in FOODS
        return variant(self._recipes[numbered.base], name, numbered, recolour=recolour)

    def _recipe_name(self, name: str) -> str | None:
        """Return the recipe that a name means: its own, or one that is called by the same number in another form."""
        if name in self._recipes:
            return name
        held = name.removesuffix(WITH_HAND)
        numbered = Numbered.parse(held)
        other = f"{numbered}{name.removeprefix(held)}"
        return other if numbered is not None and other in self._recipes else None

    def _pair(self, name: str) -> PairName | None:
        """Return which pair a name means, None if it is no pair or a recipe's own name."""
        return None if self._recipe_name(name) is not None else PairName.parse(name)

    def _base(self, name: str) -> str:
        numbered = self._numbered(name, name)
        return name if numbered is None else numbered.base

    def _is_built_in(self, name: str) -> bool:
        """Return whether a type is the built-in one of its name, so that stored grasps fit it."""
        base = self._base(name)
        return self._recipes[base] == built_in_recipes().get(base)

    def _variants(self, name: str, split: Split, asked: str) -> tuple[str, ...]:
        """Return the variants that stand for a type without a hand; `asked` is the name for errors."""
        numbered = self._numbered(name, asked)
        if numbered is not None and numbered.split == split:
            return (name,)
        base = self._base(name)
        if self.is_fixture(base):
            return (base,) if split == "train" else ()
        names = [str(Numbered(base, n)) for n in (TRAIN_NUMBERS if split == "train" else TEST_NUMBERS)]
        return (base, *names) if split == "train" else tuple(names)

    def _numbered(self, name: str, asked: str) -> Numbered | None:
        """Return which variant a name means, None for a recipe's own name; `asked` is the name for errors."""
        if self._recipe_name(name) is not None:
            return None
        numbered = Numbered.parse(name)
        if numbered is None or numbered.base not in self._recipes:
            raise self._unknown(asked)
        return numbered

    def _part_of(self, held: str, name: str) -> Asset:
        try:
            return self._make(held)
        except UnknownAssetError:
            raise self._unknown(name) from None

    def _unknown(self, name: str) -> UnknownAssetError:
        kin = [n for n in self._recipes if n.split("_")[-1] == name.split("_")[-1]][:8]
        near = near_match(name, self._recipes)
        hint = f". Similar: {', '.join(sorted(kin))}" if kin else ""
        return UnknownAssetError(
            f"unknown asset type {name!r}{near}{hint}. {len(self._recipes)} types are known "
            f"({', '.join(self.sources)}); numbered variants (NAME__7) and NAME_with_hand are made from them"
        )


@lru_cache(maxsize=8)
def catalog_of(sources: tuple[str, ...] = (BUILT_IN,)) -> Catalog:
    """Return the catalog of some sources, in this order; the same object for the same words.

    Args:
        sources: `built-in`, `libero` or folders of MJCF files; a name means the asset of the first that has it.

    Raises:
        SourceError: there is no such source, it holds nothing, or none is given.
    """
    return Catalog(*(source(word) for word in sources))


def default_catalog() -> Catalog:
    """Return the catalog of the built-in assets, the same object every time."""
    return catalog_of()
