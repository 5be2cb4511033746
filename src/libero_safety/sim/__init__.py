"""The sim layer."""
