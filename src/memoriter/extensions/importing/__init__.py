"""`memoriter import` and `memoriter export`; `api` has the functions for programs."""
