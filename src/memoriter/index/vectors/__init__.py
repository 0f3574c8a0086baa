"""Vectors of the chunks: how they are stored, and the engines that find the nearest."""

from memoriter.index.vectors._engines import ENGINES, EngineName

__all__ = ["ENGINES", "EngineName"]
