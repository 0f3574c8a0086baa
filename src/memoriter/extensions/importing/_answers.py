"""Every field of the JSON about imports and exports, in the form of `memoriter.answers.TABLES`."""

from __future__ import annotations

TABLES = """
ImportReport: What `import` did, or with `--dry-run` would do.
format | text | the format of the export
id | text | names the import for `--undo`; empty if it added and changed nothing, or restored an export of memoriter
workspace | text | the folder of notes
dryRun | boolean | whether nothing was written
notes | integer | notes that were added
records | integer | texts that were added: pages, and entries of the notes of a day
updated | integer | texts that changed since the last import
updatedOf | list of text | the earlier imports that added the changed notes
present | integer | texts that were there already
kept | list of text | notes that you edited and that differ from the export; they stay as they are
leftOut | integer | number of all that was not imported
notRestored | integer | of those, exported notes that could not be put back
reasons | list of [LeftOut] | the first 20 of them
samples | list of [Sample] | up to 5 of the notes

LeftOut: Something that was not imported.
name | text | what it is
reason | text | the cause

Sample: A note of an import.
path | text | the note
text | text | its beginning

Imports: The result of `import --list`.
imports | list of [PastImport] | the imports that can be undone

PastImport: One import.
id | text | names the import for `--undo`
format | text | the format of the export
notes | integer | notes of the import
records | integer | texts in these notes
edited | integer | notes that you edited since
changed | integer | notes of earlier imports that it changed, and that undoing it restores

ImportUndone: The result of `import --undo`.
id | text | the import
dryRun | boolean | whether nothing was removed
removed | list of text | the notes that were removed, or with `--dry-run` would be
restored | list of text | the notes of earlier imports that were restored, or with `--dry-run` would be
kept | list of text | notes that you edited since; they stay

Exported: The result of `export`.
file | text | the archive
notes | integer | notes in it
bytes | integer | size of these notes together
leftOut | list of text | notes that are outside of the folder, or changed or vanished meanwhile
"""
