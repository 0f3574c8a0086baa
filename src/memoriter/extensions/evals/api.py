"""Evaluation of retrieval quality: metrics, sets of questions, runs through the real engine, and reports."""

from memoriter.extensions.evals._baselines import OtherPrograms, ProgramFigures, ProgramResult, ProgramsOf
from memoriter.extensions.evals._datasets import (
    FORMATS,
    Dataset,
    LoadedSets,
    NotesSet,
    load_set,
    load_sets,
    set_files,
    with_foreign,
)
from memoriter.extensions.evals._metrics import Table
from memoriter.extensions.evals._question_report import QuestionsReport, ask
from memoriter.extensions.evals._run import (
    DatasetResult,
    EvalRun,
    VectorStore,
    documents_summary,
    interval_table,
    kinds_table,
    system_table,
    values,
)
from memoriter.extensions.evals._tune import TuneCase, Tuned, tune
from memoriter.extensions.evals._workspace_run import (
    OpenMemory,
    WorkspaceResult,
    measure_workspace,
    notes_summary,
    notes_workspace,
    pooled,
)
from memoriter.extensions.evals._written_report import write_report

__all__ = [
    "FORMATS",
    "Dataset",
    "DatasetResult",
    "EvalRun",
    "LoadedSets",
    "NotesSet",
    "OpenMemory",
    "OtherPrograms",
    "ProgramFigures",
    "ProgramResult",
    "ProgramsOf",
    "QuestionsReport",
    "Table",
    "TuneCase",
    "Tuned",
    "VectorStore",
    "WorkspaceResult",
    "ask",
    "documents_summary",
    "interval_table",
    "kinds_table",
    "load_set",
    "load_sets",
    "measure_workspace",
    "notes_summary",
    "notes_workspace",
    "pooled",
    "set_files",
    "system_table",
    "tune",
    "values",
    "with_foreign",
    "write_report",
]
