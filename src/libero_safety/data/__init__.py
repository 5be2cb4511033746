"""The data layer."""
