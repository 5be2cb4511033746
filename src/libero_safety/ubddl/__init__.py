"""The scenario language."""
