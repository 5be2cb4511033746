"""What is stored on disk: the run log."""
