"""The eval layer."""
