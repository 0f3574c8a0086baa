"""The operations on long-term memories."""

from __future__ import annotations

from memoriter.answers import objects_of, schemas_of
from memoriter.extensions.longterm._json import TABLES
from memoriter.extensions.longterm.web import _acts as acts
from memoriter.web import OperationSet

SCHEMAS = schemas_of(objects_of(TABLES))
OPERATIONS = OperationSet(
    operations=(
        acts.list_memories,
        acts.search_memories,
        acts.store_memory,
        acts.forget_memory,
        acts.stats,
        acts.rebuild,
        acts.approve,
        acts.withdraw,
        acts.withheld,
        acts.inbox,
        acts.accept,
        acts.reject,
        acts.edit,
        acts.restore,
    ),
    schemas=SCHEMAS,
    of_day=acts.of_day,
    day_schema=SCHEMAS["Day"],
)
