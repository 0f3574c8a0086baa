"""How fast memoriter is, measured: `python -m benchmarks`."""
