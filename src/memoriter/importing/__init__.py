"""Import the exports of other programs as notes, and export all notes.

An export is read as a stream of records, by one file of `formats` for each program. `_run` writes them as notes, and
every note says which record of which import it has: an import can be repeated and resumed without another record.
`_history` keeps what a later import replaced, so that it can be undone alone.
"""

from memoriter.importing._export import Exported, export_notes
from memoriter.importing._files import Files, open_files
from memoriter.importing._history import RECORDS
from memoriter.importing._notes import IMPORTED
from memoriter.importing._records import Entry, Format, IgnoreFile, LeftOut, NotesLayout, Original, Page, Record
from memoriter.importing._run import ImportReport, Sample, run_import
from memoriter.importing._undo import PastImport, UndoPlan, forget_versions, past_imports, plan_undo, undo
from memoriter.importing.formats import FORMATS

__all__ = [
    "FORMATS",
    "IMPORTED",
    "RECORDS",
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
    "forget_versions",
    "open_files",
    "past_imports",
    "plan_undo",
    "run_import",
    "undo",
]
