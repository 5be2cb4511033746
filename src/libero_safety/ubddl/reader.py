"""Text to nested nodes that remember where they stand. Knows parentheses and comments, nothing else."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from libero_safety.errors import LiberoSafetyError
from libero_safety.ubddl.spec import Place

MAX_DEPTH = 200
"""Deepest nesting of parentheses that a file may have."""

_TOKEN = re.compile(r"[()]|;[^\n]*|[^\s();]+")


class UbddlError(LiberoSafetyError):
    """A scenario file that cannot be meant; `place` says where."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message


@dataclass(frozen=True)
class Source:
    """The text of one file."""

    file: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def place(self, offset: int) -> Place:
        """Return line and column of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)


class Atom(NamedTuple):
    """A word: anything without blanks, parentheses or `;`. Case is kept."""

    text: str
    source: Source
    start: int

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.source.place(self.start)

    def __str__(self) -> str:
        return self.text


class Node(NamedTuple):
    """A parenthesised list. `start` and `end` are the offsets of its parentheses."""

    items: tuple["Item", ...]
    source: Source
    start: int
    end: int

    @property
    def place(self) -> Place:
        """Where its opening parenthesis stands."""
        return self.source.place(self.start)

    @property
    def head(self) -> str:
        """The first word; "" when the list is empty or begins with a list."""
        return self.items[0].text if self.items and isinstance(self.items[0], Atom) else ""

    @property
    def rest(self) -> tuple["Item", ...]:
        """Everything after the first item."""
        return self.items[1:]

    def raw_rest(self) -> str:
        """Return the text after the first word exactly as written, without comments and outer blanks."""
        head = self.items[0]
        begin = head.start + len(head.text) if isinstance(head, Atom) else head.end + 1
        return re.sub(r";[^\n]*", "", self.source.text[begin : self.end]).strip()

    def __str__(self) -> str:
        return short(self)


Item: TypeAlias = Atom | Node


def read(text: str, file: str = "<text>") -> Node:
    """Return the one form that `text` consists of.

    Raises:
        UbddlError: empty text, a NUL character, an unmatched parenthesis, nesting deeper than `MAX_DEPTH`,
            or anything before or after the form.
    """
    source = Source(file, text.removeprefix("\ufeff"))
    nul = source.text.find("\0")
    if nul >= 0:
        raise UbddlError(source.place(nul), "NUL character: this is not a text file")
    forms = _forms(source)
    if not forms:
        raise UbddlError(Place(file, 1, 1), "the file holds no scenario: expected '(define ...)'")
    first = forms[0]
    if isinstance(first, Atom):
        raise UbddlError(first.place, f"expected '(' at the start, found {first.text!r}")
    if len(forms) > 1:
        raise UbddlError(
            forms[1].place,
            f"text after the end: the form that opened at {_spot(first.place)} was closed at "
            f"{_spot(source.place(first.end))}; is there a ')' too many before?",
        )
    return first


def read_file(path: str | Path) -> Node:
    """Return the one form of a UTF-8 file.

    Raises:
        UbddlError: as `read`, or the file is missing, unreadable or not UTF-8.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UbddlError(Place(name, 1, 1), f"cannot read the file: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", errors="replace")) + 1
        place = Place(name, before.count(b"\n") + 1, column)
        raise UbddlError(place, f"byte 0x{data[error.start]:02x} is not UTF-8") from error
    return read(text, name)


def _spot(place: Place) -> str:
    return f"{place.line}:{place.column}"


def _forms(source: Source) -> list[Item]:
    """Split the whole text into top-level items, without recursion."""
    stack: list[tuple[int, list[Item]]] = []
    items: list[Item] = []
    for match in _TOKEN.finditer(source.text):
        token, start = match.group(), match.start()
        if token == "(":
            if len(stack) == MAX_DEPTH:
                raise UbddlError(source.place(start), f"parentheses nested deeper than {MAX_DEPTH}")
            stack.append((start, items))
            items = []
        elif token == ")":
            if not stack:
                raise _unmatched_close(source, start, items)
            begin, outer = stack.pop()
            outer.append(Node(tuple(items), source, begin, start))
            items = outer
        elif token[0] != ";":
            items.append(Atom(token, source, start))
    if stack:
        raise _unclosed(source, [begin for begin, _ in stack])
    return items


def _unmatched_close(source: Source, start: int, forms: list[Item]) -> UbddlError:
    hint = ""
    whole = next((form for form in forms if isinstance(form, Node)), None)
    if whole is not None:
        opened, closed = _spot(whole.place), _spot(source.place(whole.end))
        hint = f"; the '(' at {opened} was already closed at {closed}"
    return UbddlError(source.place(start), f"unmatched ')'{hint}")


def _unclosed(source: Source, begins: list[int]) -> UbddlError:
    still_open: list[str] = []
    for begin in reversed(begins[-5:]):
        word = _TOKEN.match(source.text, begin + 1)
        label = word.group() if word and word.group() not in "()" else ""
        still_open.append(f"'({label}' at {_spot(source.place(begin))}")
    end = _spot(source.place(len(source.text)))
    return UbddlError(
        source.place(begins[-1]),
        f"unmatched '(': the file ends at {end} with {len(begins)} open: {', '.join(still_open)}",
    )


def short(item: Item, most: int = 60) -> str:
    """Return an item as it reads in a file, cut to a length that fits a message."""
    parts: list[str] = []
    stack: list[Item | str] = [item]
    length = 0
    while stack and length <= most:
        part = stack.pop()
        if isinstance(part, Node):
            stack.append(")")
            stack.extend(reversed(part.items[: most + 1]))
            part = "("
        parts.append(str(part))
        length += len(parts[-1]) + 1
    text = " ".join(parts).replace("( ", "(").replace(" )", ")")
    return text if not stack and len(text) <= most else text[: most - 3] + "..."
