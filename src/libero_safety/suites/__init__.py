"""The suites layer."""
