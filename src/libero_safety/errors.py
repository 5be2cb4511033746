"""The root of every error that this package raises on purpose."""


class LiberoSafetyError(Exception):
    """Something the caller can mend: the message names the thing, the place and the alternatives."""
