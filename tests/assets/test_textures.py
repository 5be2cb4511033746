"""Pictures of materials: what a recipe promises, and names that mean different looks."""

import time
from pathlib import Path

import numpy as np
import pytest

from libero_safety.assets.lighting import LIGHTINGS, find_lighting
from libero_safety.assets.looks import (
    FAMILIES,
    PARTS,
    SHORT,
    UnknownLookError,
    find_look,
    look_names,
    surfaces,
)
from libero_safety.assets.noise import SIZE
from libero_safety.assets.patterns import KINDS
from libero_safety.assets.textures import Texture, TextureError, draw
from libero_safety.registry import UnknownNameError

COLOURS = ((0.7, 0.6, 0.5), (0.4, 0.3, 0.2), (0.2, 0.3, 0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_a_pure_function_of_its_recipe(kind: str) -> None:
    first = draw(Texture(kind, COLOURS, 1))
    draw.cache_clear()
    again, other = draw(Texture(kind, COLOURS, 1)), draw(Texture(kind, COLOURS, 2))
    assert first.shape == (SIZE, SIZE, 3)
    assert first.dtype == np.uint8
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not first.flags.writeable


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_go_on_without_a_seam(kind: str) -> None:
    # Across the edge neighbours differ no more than across the roughest line inside; a cut noise would stand out.
    image = draw(Texture(kind, COLOURS, 3)).astype(float)
    for axis in (0, 1):
        steps = np.abs(image - np.roll(image, 1, axis)).mean(axis=(1 - axis, 2))
        assert steps[0] <= 1.3 * steps[1:].max()


@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_those_asked_for(kind: str) -> None:
    image = draw(Texture(kind, COLOURS, 4)) / 255.0
    needed = np.array(COLOURS[: max(len(KINDS[kind].colours), 1)])
    mean = image.mean(axis=(0, 1))
    assert np.all(mean > needed.min(axis=0) - 0.06)
    assert np.all(mean < needed.max(axis=0) + 0.06)


@pytest.mark.parametrize(
    ("kind", "name", "end"),
    [(k, name, end) for k, v in KINDS.items() for name in v.parameters for end in "lh"],
)
def test_every_parameter_may_be_at_either_end_and_changes_the_picture(kind: str, name: str, end: str) -> None:
    parameter = KINDS[kind].parameters[name]
    value = parameter.low if end == "l" else parameter.high
    assert parameter.low <= parameter.default <= parameter.high
    # What boards and bands are like shows only where there are some.
    needs = tuple((n, 4.0) for n in ("boards", "bands") if n in KINDS[kind].parameters and n != name)
    moved = draw(Texture(kind, COLOURS, 5, (*needs, (name, value))))
    if value != parameter.default:
        assert not np.array_equal(moved, draw(Texture(kind, COLOURS, 5, needs)))


@pytest.mark.parametrize(
    ("texture", "error", "message"),
    [
        (Texture("wod", COLOURS), UnknownNameError, "did you mean 'wood'"),
        (Texture("marble", COLOURS[:1]), TextureError, r"needs 2 colours \(ground, vein\), found 1"),
        (Texture("wood", COLOURS, 0, (("ring", 3.0),)), TextureError, "did you mean 'rings'"),
        (Texture("wood", COLOURS, 0, (("rings", 99.0),)), TextureError, "99 is not within 1 and 24"),
    ],
)
def test_a_bad_recipe_is_an_error(texture: Texture, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        draw(texture)


def test_a_checkerboard_has_the_colours_where_they_belong() -> None:
    values = (("pairs", 1.0), ("variation", 0.0), ("roughness", 0.0))
    image = draw(Texture("checkers", COLOURS, 0, values))
    quarter, past = SIZE // 4, 3 * SIZE // 4
    light, dark = (np.round(np.array(COLOURS[i]) * 255) for i in (0, 2))
    for row, column, colour in ((quarter, quarter, light), (quarter, past, dark), (past, past, light)):
        assert image[row, column] == pytest.approx(colour, abs=1)
    assert image[0, quarter] == pytest.approx(np.array(COLOURS[1]) * 255, abs=1)


def test_pictures_are_drawn_in_no_time() -> None:
    def cost(kind: str) -> float:
        begin = time.process_time()
        draw(Texture(kind, COLOURS, 100))
        draw.cache_clear()
        return time.process_time() - begin

    assert max(min(cost(kind) for _ in range(3)) for kind in KINDS) < 0.06


def test_there_are_two_hundred_looks_and_no_two_show_the_same_picture() -> None:
    assert len(surfaces()) >= 200
    seen = {draw(surface.texture).tobytes() for surface in surfaces().values()}
    assert len(seen) == len(surfaces())


def test_no_colours_are_in_both_splits() -> None:
    colours: dict[str, set[object]] = {"train": set(), "test": set()}
    for surface in surfaces().values():
        colours[surface.split].add(surface.texture.colours)
    assert not colours["train"] & colours["test"]
    for family in FAMILIES:
        assert family.held_out & set(family.palettes)
        assert set(family.palettes) - family.held_out


@pytest.mark.parametrize("part", PARTS)
def test_both_splits_are_there_for_every_part(part: str) -> None:
    train, test = look_names(part, "train"), look_names(part, "test")
    assert len(train) > 3 * len(test) / 2 > 20
    assert sorted(train + test) == sorted(look_names(part))
    assert {find_look(part, word).split for word in SHORT[part]} == {"train"}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("table", ("oak", "walnut", "marble", "slate", "white", "linen", "oak_03", "marble_white_02")),
        ("floor", ("tiles", "parquet", "concrete", "carpet", "herringbone_oak_01")),
        ("wall", ("plaster", "sand", "sage", "sky", "brick", "concrete_pale_01")),
    ],
)
def test_words_that_scenarios_use(part: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert part in find_look(part, word).parts


@pytest.mark.parametrize(
    ("part", "word", "message"),
    [
        ("table", "marbel", r"'marbel' of the table, did you mean 'marble'.*oak, walnut.*124 numbered"),
        ("wall", "oak_01", "'oak_01' of the wall.*It is a look of: table"),
        ("floor", "", "unknown look ''"),
    ],
)
def test_unknown_looks_are_errors(part: str, word: str, message: str) -> None:
    with pytest.raises(UnknownLookError, match=message):
        find_look(part, word)


def test_unknown_lightings_are_errors() -> None:
    assert {lighting.split for lighting in LIGHTINGS.values()} == {"train", "test"}
    with pytest.raises(UnknownLookError, match="'evning', did you mean 'evening'"):
        find_lighting("evning")


def test_the_page_lists_the_families_as_they_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "looks.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:2] == "| "
    ]
    families = {cells[0]: cells[1:] for cells in rows if len(cells) == 5}
    for family in FAMILIES:
        label = f"`{family.prefix}`" if family.prefix else "wood (no family in the name)"
        parts, train, test, numbers = next(cells for key, cells in families.items() if label in key)
        assert parts == ", ".join(family.parts)
        assert train.split(", ") == [p for p in family.palettes if p not in family.held_out]
        assert test.split(", ") == [p for p in family.palettes if p in family.held_out]
        assert int(numbers.partition(":")[0]) == len(family.variants)
    lightings = {row[0]: row[1] for row in rows if len(row) == 2}
    for name, lighting in LIGHTINGS.items():
        assert f"`{name}`" in lightings[lighting.split]
    assert f"There are\n{len(surfaces())};" in text
