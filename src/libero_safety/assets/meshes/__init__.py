"""Surfaces that things are seen by: built from profiles and sections, closed, light, smoothly shaded."""
