"""Foreign dialects."""

from libero_safety.ubddl.reader import Node, UbddlError
from libero_safety.ubddl.template import Template


def parse_foreign(root: Node) -> Template:
    """Read a file of another benchmark."""
    raise UbddlError(root.place, "no (:ubddl 1) section")
