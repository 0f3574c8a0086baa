"""Long-term memories: store, search, forget and list. The note is the truth; the database makes it searchable."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.backends import ForgetRequest
from memoriter.errors import EmbeddingError, IndexUnavailable, MemoriterError, UsageError, WriteConflict, sentence
from memoriter.extensions.longterm._note import PATH, TRIES, NoteFile, NoteRules, clean_text
from memoriter.extensions.longterm._parts import key_of
from memoriter.extensions.longterm._records import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    LongTermMemory,
    after_forgetting,
    check_replaceable,
    check_statement,
    is_memory_id,
    memories_at,
    memory_named,
    moment_of,
    replacements,
    same_words,
)
from memoriter.extensions.longterm._results import (
    Found,
    LongTermAnswer,
    LongTermForgotten,
    LongTermHit,
    Stored,
    answer_of,
    answering,
    best,
    coverage,
    is_current,
    not_in_database,
    not_searchable,
    saying,
    words_only,
)
from memoriter.ids import fingerprint
from memoriter.masking import mask
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.environment import Deadline
    from memoriter.extensions.longterm._note import NoteEntry
    from memoriter.extensions.longterm._parts import LongTermParts
    from memoriter.extensions.longterm._records import AsOf, Category, Origin, Span
    from memoriter.extensions.longterm._results import LongTermStore, Vector
    from memoriter.types import ModelSpec

DUPLICATE = 0.95
"""Similarity from which a new memory counts as the same as one that is there, as in OpenClaw."""
FORGET_FLOOR = 0.7
FORGET_AT_ONCE = 0.9
"""Similarity from which a memory may be meant by a query to forget, and from which a single one is deleted at once."""
FORGET_CANDIDATES = 5


class LongTermMemories:
    """The long-term memories of a folder of notes. Safe to share between threads."""

    def __init__(self, parts: LongTermParts) -> None:
        self.parts = parts
        self._stores: dict[str, LongTermStore] = {}
        self._lock = threading.RLock()
        self.file = NoteFile(parts.workspace, self.rules)

    def rules(self) -> NoteRules:
        """Return what is true of the memories in the note as far as it does not say otherwise."""
        parts = self.parts
        origin: Origin = "owner" if parts.owned else "import"
        return NoteRules(
            parts.principal,
            parts.note,
            parts.new_id,
            round(parts.wall(), 3),
            origin,
            parts.own.read(),
            parts.trusted,
        )

    def store(
        self,
        text: str,
        *,
        origin: Origin,
        importance: float = DEFAULT_IMPORTANCE,
        category: Category = DEFAULT_CATEGORY,
        session: str = "",
        span: Span | None = None,
        supersedes: str = "",
    ) -> Stored:
        """Store a memory, unless it is there already: first in the note, then in the database.

        The text is stored verbatim, with `***` for secrets in it. The caller knows its origin, and not the text. The
        importance is 0..1. `supersedes` is the id of an older memory, which is kept and marked. If the owner says what
        somebody else has stored in the same words, that memory is approved.

        Raises:
            UsageError: the text is empty or too long, the importance is out of range, or there is no such older memory,
                or another one has replaced it.
            WriteError: nothing was stored.
        """
        cleaned = clean_text(text)
        kept = mask(cleaned)
        check_statement(kept, importance)
        vector = None
        reasons = list[Diagnostic]()
        try:
            vector = self.embed([kept])[0]
        except EmbeddingError as error:
            reasons.append(not_searchable(error))
        older = self._replaceable(supersedes, origin) if supersedes else None
        supersedes = older.id if older else ""
        if same := self._same(kept, vector, by_owner=origin == "owner", without=supersedes):
            if origin == "owner" and not same.memory.trusted:  # the same words, which are the owner's own now
                return Stored(self.approve(same.memory.id), existing=True, similarity=same.score)
            return Stored(same.memory, existing=True, similarity=same.score)
        memory = LongTermMemory(
            id=self.parts.new_id(),
            text=kept,
            importance=importance,
            category=category,
            created_at=round(self.parts.wall(), 3),
            origin=origin,
            principal=self.parts.principal,
            session=session,
            span=span,
            supersedes=supersedes,
            author_trusted=origin in self.parts.trusted,
            note=self.parts.note,
        )
        self.add([memory])
        if older is not None:
            self.change(replace(older, status="superseded"))
        reasons += self._indexed(memory, vector)
        return Stored(memory, masked=kept != cleaned, reasons=tuple(reasons))

    def search(
        self,
        query: str,
        *,
        limit: int,
        floor: float,
        trusted: bool = False,
        words: bool = True,
        as_of: AsOf = None,
        deadline: Deadline | None = None,
    ) -> LongTermAnswer:
        """Return the memories that fit a query, best first.

        Args:
            query: a question or a statement.
            limit: maximum number of memories.
            floor: lowest score, 0..1.
            trusted: whether to return only current memories that the owner wrote or approved.
            words: whether shared words raise a score, too, and not only the vectors.
            as_of: a time or a day, to see the memories as they were then; None: now.
            deadline: when a service has to have answered.

        Raises:
            UsageError: the query is empty, or `as_of` is no day.
            IndexUnavailable: the database cannot be read.
        """
        at = moment_of(as_of, self.parts.wall())
        if not query.strip():
            raise UsageError("There is nothing to search for: the query is empty.", remedy="Give a question or a word.")
        known = self.noted()
        if not known and not self.parts.shared:
            return LongTermAnswer()
        try:
            vector = self.parts.embedding.query_vector(mask(query), deadline)
        except EmbeddingError as error:
            memories = memories_at([*known.values()], at, known.values())
            memories = [memory for memory in memories if not trusted or is_current(memory)]
            hits = [LongTermHit(memory, coverage(query, memory.text), None) for memory in memories]
            replaced = replacements(known.values(), at)
            return replace(answer_of(hits, limit, floor), reasons=(words_only(error),), replaced=replaced)
        most = max(limit, 4) * 4 if at is None else max(len(known), limit) + limit * 4  # later ones are left out
        found = self.found(vector, query if words else "", limit=most, trusted=trusted and at is None)
        linked = {**known, **{each.memory.id: each.memory for each in found}}.values()
        memories = memories_at([each.memory for each in found], at, linked)
        similarities = {each.memory.id: each.similarity for each in found}
        background = self.spec().background
        hits = [
            answering(memory, similarities[memory.id], query if words else "", background)
            for memory in memories
            if not trusted or is_current(memory)
        ]
        replaced = replacements(linked, at)
        return replace(answer_of(hits, limit, floor), reasons=self.missing(), replaced=replaced)

    def keep_vectors(self, memories: Sequence[LongTermMemory], vectors: Sequence[Vector]) -> None:
        """Add the vectors of memories to their copy. If that fails, the copy is made again when it is needed."""
        rows = {row.id: (key_of(row.text), vector) for row, vector in zip(memories, vectors, strict=True)}
        with suppress(OSError):
            self.parts.vectors.add(fingerprint(self.spec()), rows)

    def forget_id(self, identifier: str) -> LongTermForgotten:
        """Forget the memory with an id, or with the beginning of one.

        Raises:
            UsageError: the text is no id, or there is no such memory.
            WriteError: nothing was forgotten.
        """
        return self._forget(self._beyond_note(identifier) or self.named(identifier))

    def named(self, identifier: str) -> LongTermMemory:
        """Return the memory of the note with an id, or with its first 8 characters or more.

        Raises:
            UsageError: there is none, or several; or it is in the note of another folder.
        """
        if self.parts.shared and (elsewhere := self._beyond_note(identifier)):
            message = f"The memory {elsewhere.id} is in the note of another folder."
            raise UsageError(message, remedy="Change it in that folder; here you can only forget it.")
        return memory_named(identifier, self.noted().values())

    def _replaceable(self, identifier: str, origin: Origin) -> LongTermMemory:
        """Return the memory that a new one of this origin replaces. Raises UsageError if there is none."""
        older = self.named(identifier)
        check_replaceable(older, self.noted().values())
        if older.trusted and origin not in {"owner", *self.parts.trusted}:
            message = "The memory was not stored: what came with a token replaces no memory that you trust."
            raise UsageError(message, remedy="Store it without `supersedes`, and let the owner decide.")
        return older

    def _beyond_note(self, identifier: str) -> LongTermMemory | None:
        """Return the memory with an id that is in the database, and not in the note."""
        wanted = identifier.strip().lower()
        if not is_memory_id(wanted) or wanted in self.noted():
            return None
        return next(iter(self.opened().get([wanted], principal=self.parts.principal)), None)

    def forget(self, query: str) -> LongTermForgotten:
        """Forget the memory that a query certainly means; else return the memories among which to choose.

        Raises:
            UsageError: the query is empty.
            EmbeddingError: memories cannot be compared now.
            IndexUnavailable: none fits, and the database cannot be read or lacks memories of the note.
            WriteError: nothing was forgotten.
        """
        cleaned = clean_text(query)
        check_statement(cleaned, DEFAULT_IMPORTANCE)
        exact = [memory for memory in self.noted().values() if memory.text == cleaned]
        if len(exact) == 1:
            return self._forget(exact[0])
        try:
            vector = self.embed([cleaned])[0]
        except EmbeddingError as error:
            remedy = "Give the id of the memory: see `memoriter ltm list`."
            raise EmbeddingError(not_searchable(error).message, remedy=remedy) from error
        found = self.found(vector, "", limit=FORGET_CANDIDATES, trusted=False)
        hits = best([saying(each, self.spec()) for each in found], FORGET_CANDIDATES, FORGET_FLOOR)
        if len(hits) == 1 and hits[0].score > FORGET_AT_ONCE:
            return self._forget(hits[0].memory)
        if not hits and (missing := self.missing()):
            remedy = f"{missing[0].remedy} Or give the id of the memory: see `memoriter ltm list`."
            raise IndexUnavailable(missing[0].message, remedy=remedy)
        return LongTermForgotten(candidates=hits)

    def erase_removed(self) -> tuple[Diagnostic, ...]:
        """Erase from the database what the note does not have any more. Return a diagnostic if that fails."""
        known = self.noted()
        try:
            store = self.opened()
            principal = self.parts.principal
            rows = [each for each in store.memories(principal=principal) if each.note == self.parts.note]
            if gone := [each.id for each in rows if each.id not in known]:
                self.parts.vectors.remove(gone)
                store.delete(gone, principal=principal)
                store.maintain(erase=True)
        except (MemoriterError, OSError) as error:
            message = (
                f"The database of long-term memories, {self.parts.database!r}, may still hold it: {sentence(error)}"
            )
            return (Diagnostic("copies", message, "Run `memoriter ltm rebuild` once it can be written."),)
        return ()

    def memories(self, *, as_of: AsOf = None) -> list[LongTermMemory]:
        """Return all memories in the order of their creation: those of the note, and of others that share them.

        With `as_of`, they are as they were then. Raises UsageError if that is no day.
        """
        at = moment_of(as_of, self.parts.wall())
        own = [*self.noted().values()]
        if self.parts.shared:
            rows = self.opened().memories(principal=self.parts.principal)
            own += [memory for memory in rows if memory.note != self.parts.note]
        return memories_at(sorted(own, key=lambda memory: (memory.created_at, memory.id)), at, own)

    def replaced(self, *, as_of: AsOf = None) -> dict[str, str]:
        """Return the id of what replaced each superseded memory, by the id of the older one. Raises UsageError."""
        return replacements(self.memories(), moment_of(as_of, self.parts.wall()))

    def approve(self, identifier: str) -> LongTermMemory:
        """Let a memory that the owner did not write be recalled automatically. Raises UsageError, WriteError."""
        approved = replace(self.named(identifier), approved=True)
        self.parts.own.add([approved])
        self.change(approved)
        return approved

    def add(self, memories: Sequence[LongTermMemory]) -> None:
        """Append memories to the note, with their origins as they are. Raises WriteError: nothing was written."""
        recorded = [each for each in memories if each.approved or not self.parts.owned]
        self.parts.own.add(recorded)
        self.file.add(*memories)

    def add_all(self, memories: Sequence[LongTermMemory]) -> None:
        """Add memories with their vectors, and with their origins as they are: all of them, or none.

        Raises:
            EmbeddingError: there are no vectors; nothing was added.
            WriteError: the note could not be written; nothing was added.
            IndexUnavailable: the database cannot be written; the note has the memories.
        """
        if not memories:
            return
        vectors = self.embed([memory.text for memory in memories])
        self.add(memories)
        self.opened().store(memories, vectors)
        self.keep_vectors(memories, vectors)

    def change(self, memory: LongTermMemory) -> None:
        """Write a changed status or approval into the note, and into the database if that can be written.

        Raises:
            WriteError: the note could not be written.
        """
        self.file.change({memory.id: memory})
        try:
            self.opened().change(memory)
        except MemoriterError:
            return  # searches follow the note

    def entries(self) -> list[NoteEntry]:
        """Return the memories of the note, with their lines."""
        return self.file.parsed()[1]

    def noted(self) -> dict[str, LongTermMemory]:
        """Return the memories of the note by their ids, in its order."""
        return {entry.memory.id: entry.memory for entry in self.entries()}

    def opened(self) -> LongTermStore:
        """Return the store for vectors of the current model.

        Raises:
            EmbeddingError: the model is not known, because the provider cannot be used.
        """
        spec = self.spec()
        name = fingerprint(spec)
        with self._lock:
            if name not in self._stores:
                self._stores[name] = self.parts.open_store(name, spec.dimensions)
            return self._stores[name]

    def spec(self) -> ModelSpec:
        """Return the embedding model of the settings. Raises EmbeddingError if it is not known."""
        return self.parts.embedding.slot().spec or self.parts.embedding.open().spec

    def close(self) -> None:
        """Release the database."""
        with self._lock:
            for store in self._stores.values():
                store.close()
            self._stores.clear()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts as documents, in batches of the provider. Raises EmbeddingError."""
        provider = self.parts.embedding.open()
        vectors: list[Vector] = []
        for start in range(0, len(texts), 32):
            vectors += list(provider.embed(texts[start : start + 32], role="document"))
        return vectors

    def found(self, vector: Vector, words: str, *, limit: int, trusted: bool) -> list[Found]:
        """Return what the database finds, as far as the note still has it, in the words of the note."""
        known = self.noted()
        principal = self.parts.principal
        kept = list[Found]()
        for each in self.opened().search(vector, principal=principal, limit=limit, words=words, trusted=trusted):
            if each.memory.note == self.parts.note:
                memory = known.get(each.memory.id)
                if memory is not None and (not trusted or is_current(memory)):
                    kept.append(replace(each, memory=memory))
            elif self.parts.shared:
                kept.append(each)
        return kept

    def missing(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic if the database has fewer memories than the note. Raises IndexUnavailable."""
        noted = len(self.entries())
        missing = noted - self.opened().count(principal=self.parts.principal)
        return (not_in_database(missing, noted),) if missing > 0 else ()

    def _same(self, text: str, vector: Vector | None, *, by_owner: bool, without: str) -> LongTermHit | None:
        """Return the current memory that says the same, or None. For the owner, similar words of others are not."""
        for memory in self.noted().values():
            if memory.status == "active" and memory.id != without and same_words(memory.text, text):
                return LongTermHit(memory, 1.0, 1.0)
        if vector is None:
            return None
        try:
            found = self.found(vector, "", limit=3, trusted=False)
        except MemoriterError:
            return None
        current = [each for each in found if is_current(each.memory) or not (by_owner or each.memory.trusted)]
        hits = [saying(each, self.spec()) for each in current if each.memory.status == "active"]
        return next((hit for hit in hits if hit.score >= DUPLICATE and hit.memory.id != without), None)

    def _indexed(self, memory: LongTermMemory, vector: Vector | None) -> list[Diagnostic]:
        """Write a memory of the note into the database, and return why that failed."""
        if vector is not None:
            try:
                self.opened().store([memory], [vector])
                self.keep_vectors([memory], [vector])
            except MemoriterError as error:
                return [not_searchable(error)]
        return []

    def _forget(self, memory: LongTermMemory) -> LongTermForgotten:
        """Delete a memory everywhere: in the note, in the index of the notes, and in every version of the database.

        What it had replaced is current again, unless another memory replaces it. Raises WriteError: nothing is deleted.
        """
        parts = self.parts
        parts.own.remove(memory)
        lines, left = self._erase_lines(memory)
        if memory.note != parts.note:
            message = (
                "Its line is in the note of another folder, and a rebuild there adds the memory to the database again."
            )
            left.append(Diagnostic("elsewhere", message, "Run `memoriter ltm forget` in that folder, too."))
        try:
            parts.vectors.remove([memory.id])
        except OSError as error:
            message = f"A copy of its vector is left: {sentence(error.strerror or error)}"
            left.append(Diagnostic("write", message, "Delete that file."))
        rows = 0
        try:
            store = self.opened()
            rows = store.delete([memory.id], principal=parts.principal)
            if rows:
                store.maintain(erase=True)
        except MemoriterError as error:
            message = f"The memory may still be in the database {parts.database!r}: {error.message}"
            left.append(Diagnostic(error.code, message, f"{error.remedy} Then run `memoriter ltm rebuild`."))
        restored = self._mend_chain(memory, left)
        return LongTermForgotten((memory,), lines=lines, rows=rows, restored=restored, left=tuple(left))

    def _mend_chain(self, memory: LongTermMemory, left: list[Diagnostic]) -> tuple[LongTermMemory, ...]:
        """Write what forgetting a memory changes in its chain, and return the memories that are current again."""
        changed = after_forgetting(memory, self.noted().values())
        try:
            for each in changed:
                self.change(each)
        except MemoriterError as error:
            message = f"{PATH} still has links to the forgotten memory: {error.message}"
            remedy = "Delete the word `superseded` from the comment of the older memory, if it is to be current again."
            left.append(Diagnostic(error.code, message, remedy))
            return ()
        return tuple(each for each in changed if each.id == memory.supersedes)

    def _erase_lines(self, memory: LongTermMemory) -> tuple[int, list[Diagnostic]]:
        """Delete an item from the note and its passages from the index of notes; return the number of its lines."""
        backend = self.parts.backend
        for number in range(TRIES):
            found = next((entry for entry in self.entries() if entry.memory.id == memory.id), None)
            if found is None:
                return 0, []
            if self.parts.apart:  # no index has this note
                return (found.end - found.start) * self.file.change({memory.id: None}), []
            try:
                plan = backend.plan_forget(ForgetRequest.of(f"{PATH}#L{found.start + 1}-L{found.end}", None, None))
                planned = [passage.text for removal in plan.notes for passage in removal.passages]
                if not any(memory.id in text or memory.text.split("\n")[0] in text for text in planned):
                    continue  # the note has changed in between
                return found.end - found.start, list(backend.forget(plan).left)
            except WriteConflict:
                if number == TRIES - 1:
                    raise
        message = f"{PATH!r} keeps changing, so the memory was not deleted."
        raise WriteConflict(message, remedy="Run the command again.")
