"""Import the exports of other programs as notes, and export all notes.

An export is read as a stream of records, by one file of `formats` for each program. `_run` writes them as notes, and
every note says which record of which import it has: an import can be repeated and resumed without another record.
`memoriter.import_history` keeps what a later import replaced, so that it can be undone alone.
"""

from memoriter.extensions.importing._export import Exported, export_notes, write_export
from memoriter.extensions.importing._files import Files, open_files
from memoriter.extensions.importing._notes import IMPORTED
from memoriter.extensions.importing._records import (
    Entry,
    Format,
    IgnoreFile,
    LeftOut,
    NotesLayout,
    Original,
    Page,
    Record,
)
from memoriter.extensions.importing._run import ImportReport, Sample, recognise, run_import
from memoriter.extensions.importing._undo import PastImport, UndoPlan, past_imports, plan_undo, undo
from memoriter.extensions.importing.formats import FORMATS

__all__ = [
    "FORMATS",
    "IMPORTED",
    "Entry",
    "Exported",
    "Files",
    "Format",
    "IgnoreFile",
    "ImportReport",
    "LeftOut",
    "NotesLayout",
    "Original",
    "Page",
    "PastImport",
    "Record",
    "Sample",
    "UndoPlan",
    "export_notes",
    "open_files",
    "past_imports",
    "plan_undo",
    "recognise",
    "run_import",
    "undo",
    "write_export",
]
