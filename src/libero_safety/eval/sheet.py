"""Many small pictures on one page, each with its label."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from libero_safety.errors import LiberoSafetyError
from libero_safety.types import ImageArray

LINE_PX, GAP_PX = 13, 4
_PAPER, _INK = (255, 255, 255), (40, 40, 40)


class SheetError(LiberoSafetyError):
    """A page with nothing on it, or one that cannot be written."""


def refuse_unwritable(out: Path) -> None:
    """Raise SheetError, before anything is drawn, if `out` names no kind of picture or a folder that is not there."""
    if out.suffix.lower() not in Image.registered_extensions():
        raise SheetError(f"{out} is no name of a picture: it must end in .png or .jpg")
    if not out.parent.is_dir():
        raise SheetError(f"{out} cannot be written: {out.parent} is no folder")


def contact_sheet(pictures: Iterable[tuple[ImageArray, str]], columns: int = 12) -> ImageArray:
    """Return a page of pictures of one size in rows of `columns`, each above its label.

    Labels that are wider than their picture lose their middle.

    Raises:
        SheetError: there are no pictures.
    """
    cells = list(pictures)
    if not cells:
        raise SheetError("no pictures to put on a sheet")
    height, width, _ = cells[0][0].shape
    columns = min(columns, len(cells))
    step_x, step_y = width + GAP_PX, height + LINE_PX + GAP_PX
    rows = -(-len(cells) // columns)
    page = Image.new("RGB", (columns * step_x + GAP_PX, rows * step_y + GAP_PX), _PAPER)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(size=LINE_PX - 3)
    for index, (picture, label) in enumerate(cells):
        x = GAP_PX + index % columns * step_x
        y = GAP_PX + index // columns * step_y
        page.paste(Image.fromarray(picture), (x, y))
        draw.text((x, y + height), _fitting(label, width, draw, font), fill=_INK, font=font)
    return np.asarray(page).copy()


def _fitting(
    label: str, width: int, draw: ImageDraw.ImageDraw, font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> str:
    kept, cut = len(label), label
    while draw.textlength(cut, font=font) > width and kept > 4:
        kept -= 1
        cut = f"{label[: kept - kept // 2]}…{label[len(label) - kept // 2 :]}"
    return cut
