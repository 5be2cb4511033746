"""A benchmark of physical and semantic safety for vision-language-action robot policies."""

__version__ = "0.1.0"

__all__ = ["__version__"]
