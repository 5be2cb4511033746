"""The safety layer."""
