"""`memoriter eval`, which measures the quality of answers; `api` has the functions for programs."""
