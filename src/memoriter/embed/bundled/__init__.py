"""The model that comes with memoriter."""
