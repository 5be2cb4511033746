"""The assets layer."""
