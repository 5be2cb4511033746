"""The demo layer."""
