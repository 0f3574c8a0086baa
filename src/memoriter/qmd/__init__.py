"""The program QMD as a sidecar: its private home, collections, searches, updates and embeddings."""

from memoriter.qmd._driver import QmdDriver, QmdPlace
from memoriter.qmd._values import (
    QmdAnswer,
    QmdCollectionState,
    QmdHit,
    QmdProbe,
    QmdState,
    QmdUpdated,
)

__all__ = [
    "QmdAnswer",
    "QmdCollectionState",
    "QmdDriver",
    "QmdHit",
    "QmdPlace",
    "QmdProbe",
    "QmdState",
    "QmdUpdated",
]
