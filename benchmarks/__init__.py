"""Benchmarks of memoriter: `python -m benchmarks`."""
