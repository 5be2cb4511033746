"""What all readers of foreign dialects share: names as those files write them, and findings."""

from dataclasses import dataclass, field
from typing import Literal

from libero_safety.registry import near_match
from libero_safety.ubddl import words
from libero_safety.ubddl.number import word
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import Finding, Place
from libero_safety.ubddl.template import Block


@dataclass
class Reading:
    """A foreign file while it is read.

    Attributes:
        dialect: `libero`, `vla_arena` or `reference`.
        keys: `target_region`, as these files write it -> `target.region`.
        dangling: the same for regions whose target is not declared.
    """

    dialect: str
    block: Block = field(default_factory=Block)
    findings: list[Finding] = field(default_factory=list[Finding])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    dangling: dict[str, str] = field(default_factory=dict[str, str])

    def note(
        self, place: Place, code: str, message: str, severity: Literal["error", "warning"] = "warning"
    ) -> None:
        """Keep a finding."""
        self.findings.append(Finding(place, code, message, severity))

    def is_workspace(self, name: str) -> bool:
        """Whether an entity is the working surface."""
        entity = self.block.entities.get(name)
        return entity is not None and entity.kind == "fixture" and entity.type in words.WORKSPACES.values()

    def find(self, item: Item) -> str | None:
        """Return the entity or `entity.region` that a word means; None if nothing is called so."""
        text = word(item, what="a name")
        return text if text in self.block.entities else self.keys.get(text)

    def name(self, item: Item) -> str:
        """As `find`, but raise an error that says what is near."""
        found = self.find(item)
        if found is not None:
            return found
        text = str(item)
        if text in self.dangling:
            owner = self.dangling[text].partition(".")[0]
            raise UbddlError(item.place, f"{text!r} is a region of {owner!r}, which is not declared")
        raise UbddlError(
            item.place, f"{text!r} is neither declared nor a region{near_match(text, self.known())}"
        )

    def known(self) -> list[str]:
        """Return every name that the file may use."""
        return [*self.block.entities, *self.keys]


def lowered(item: Node) -> Node:
    """Return a tree with every word in lower case, as these dialects read it."""
    items = tuple(
        Atom(part.text.lower(), part.source, part.start) if isinstance(part, Atom) else lowered(part)
        for part in item.items
    )
    return Node(items, item.source, item.start, item.end)


def flat_word(item: Item) -> str:
    """Return a word without the quotes that some files put around numbers."""
    return word(item).strip("\"'")


def unquoted(item: Item) -> Item:
    """Return a word as an atom without quotes; a list as it is."""
    return item if isinstance(item, Node) else Atom(flat_word(item), item.source, item.start)
