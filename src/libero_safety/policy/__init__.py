"""The policy layer."""
