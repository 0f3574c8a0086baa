"""Evaluation of retrieval quality: metrics, sets of questions, runs through the real engine, and reports."""

from memoriter.evals._datasets import Dataset
from memoriter.evals._eval_file import (
    EVAL_FILE,
    LAST_LINE,
    OwnQuestions,
    append_question,
    locate,
    questions_about,
    read_eval_file,
)
from memoriter.evals._formats import FORMATS, NotesSet, load_set, with_foreign
from memoriter.evals._pool import VectorStore
from memoriter.evals._question_report import QuestionsReport, ask
from memoriter.evals._questions import AnswerLines, EvalQuestion, load_questions
from memoriter.evals._run import (
    DatasetResult,
    EvalRun,
    documents_summary,
    interval_table,
    kinds_table,
    system_table,
    values,
)
from memoriter.evals._set_files import LoadedSets, load_sets, set_files
from memoriter.evals._setting_effect import SettingEffect, setting_effect
from memoriter.evals._table import Table
from memoriter.evals._tune import TuneCase, Tuned, tune
from memoriter.evals._workspace_run import WorkspaceResult, measure_workspace, notes_summary, notes_workspace, pooled
from memoriter.evals._written_report import write_report

__all__ = [
    "EVAL_FILE",
    "FORMATS",
    "LAST_LINE",
    "AnswerLines",
    "Dataset",
    "DatasetResult",
    "EvalQuestion",
    "EvalRun",
    "LoadedSets",
    "NotesSet",
    "OwnQuestions",
    "QuestionsReport",
    "SettingEffect",
    "Table",
    "TuneCase",
    "Tuned",
    "VectorStore",
    "WorkspaceResult",
    "append_question",
    "ask",
    "documents_summary",
    "interval_table",
    "kinds_table",
    "load_questions",
    "load_set",
    "load_sets",
    "locate",
    "measure_workspace",
    "notes_summary",
    "notes_workspace",
    "pooled",
    "questions_about",
    "read_eval_file",
    "set_files",
    "setting_effect",
    "system_table",
    "tune",
    "values",
    "with_foreign",
    "write_report",
]
