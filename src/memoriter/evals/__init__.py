"""Evaluation of retrieval quality: metrics, sets of questions, runs through the real engine, and reports."""

from memoriter.evals._datasets import Dataset, dataset_files, load_dataset
from memoriter.evals._pool import VectorStore
from memoriter.evals._questions import EvalQuestion, QuestionsReport, ask, load_questions
from memoriter.evals._run import DatasetResult, EvalRun, Table, kinds_table, system_table, values

__all__ = [
    "Dataset",
    "DatasetResult",
    "EvalQuestion",
    "EvalRun",
    "QuestionsReport",
    "Table",
    "VectorStore",
    "ask",
    "dataset_files",
    "kinds_table",
    "load_dataset",
    "load_questions",
    "system_table",
    "values",
]
