"""The objects layer."""
