"""A plain file is read whole or not at all, and nothing else is read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.plain_file import open_plain, read_plain
from odd_files import KINDS, LINKS, SECRET, link_to_a_secret, longer_than_memory, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable


@given(st.binary(max_size=40), st.integers(0, 40))
def test_a_file_is_given_whole_if_it_is_within_the_limit(content: bytes, limit: int) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(content)
        if len(content) <= limit:
            assert read_plain(file, limit) == content
        else:
            with pytest.raises(OSError, match="longer than"):
                read_plain(file, limit)


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("follow", [False, True])
def test_nothing_else_is_read(tmp_path: Path, make: Callable[[Path], None], *, follow: bool) -> None:
    make(tmp_path / "f")
    if follow and make is link_to_a_secret:
        assert read_plain(tmp_path / "f", 100, follow=True) == SECRET.encode()
        return
    with pytest.raises(OSError) as caught:
        read_plain(tmp_path / "f", 100, follow=follow)
    assert caught.value.strerror
    assert str(caught.value.filename) == str(tmp_path / "f")


@posix_only
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not longer_than_memory])
def test_what_takes_the_place_of_a_file_that_was_looked_at_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "f")
    (tmp_path / "plain").touch()
    seen = (tmp_path / "plain").lstat()
    monkeypatch.setattr(Path, "lstat", lambda _: seen)
    with pytest.raises(OSError):
        open_plain(tmp_path / "f")


@posix_only
@pytest.mark.parametrize("make", LINKS)
def test_a_link_is_named_as_one(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "f")
    with pytest.raises(OSError, match="symbolic link"):
        open_plain(tmp_path / "f")
