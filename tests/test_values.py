"""Dataclasses that are generated on first use behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from memoriter import values


def declared() -> type:
    """A class before it is decorated."""

    class Declared:
        """A class."""

        kind: ClassVar[str] = "shared"
        name: str
        count: int = 1
        tags: list[str] = field(default_factory=list[str])
        note: str = field(default="", repr=False, compare=False)

        @property
        def shout(self) -> str:
            return self.name.upper()

    return Declared


@values.dataclass(frozen=True, slots=True)
class Frozen:
    """A value."""

    name: str
    parts: tuple[str, ...] = ()


def outcome(act: Any) -> object:
    """What a call returns, or which error it raises."""
    try:
        return act()
    except (AttributeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"kw_only": True}, {"eq": False}, {"frozen": True, "kw_only": True}], ids=str
)
def test_a_class_behaves_as_that_of_the_standard_library(options: dict[str, bool]) -> None:
    def behaviour(kind: Any) -> list[object]:
        one, other, silent = (kind(name=name, note=note) for name, note in (("a", ""), ("b", ""), ("a", "more")))
        return [
            repr(one),
            (one == other, one == silent, one == "a", one == kind(name="a")),
            (one.name, one.count, one.tags, one.note, one.kind, one.shout),
            one.tags is other.tags,
            outcome(lambda: kind("a", 2).count),
            outcome(kind),
            outcome(lambda: kind(name="a", size=1)),
            outcome(lambda: setattr(one, "name", "c") or one.name),
            outcome(lambda: hash(kind(name="a", tags=())) == hash(kind(name="a", tags=(), note="x"))),
            dataclasses.asdict(other),
            repr(dataclasses.replace(other, count=7)),
            [(item.name, item.type, item.kw_only, item.default) for item in dataclasses.fields(kind)],
            kind.__match_args__,
            repr(copy.deepcopy(other)),
            kind.__doc__,
        ]

    ours = values.dataclass(slots=True, **options)(declared())
    assert behaviour(ours) == behaviour(dataclasses.dataclass(slots=True, **options)(declared()))


def test_a_value_survives_pickling() -> None:
    value = Frozen("a", parts=("b",))
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_method_written_in_the_class_wins() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Own:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __post_init__(self) -> None:
            object.__setattr__(self, "name", self.name.strip())

    assert repr(Own(" a ")) == "<a>"


def test_nothing_is_compiled_before_the_first_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr("builtins.exec", lambda *given: compiled.append(given))

    @values.dataclass(frozen=True, slots=True)
    class Unused:
        name: str

    assert compiled == []
    assert isinstance(Unused, type)


def test_a_class_without_slots_is_left_to_the_standard_library() -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        values.dataclass(slots=False)
