"""Evaluation of retrieval quality: metrics, sets of questions, runs through the real engine, and reports."""

from memoriter.evals._datasets import Dataset, dataset_files, load_dataset
from memoriter.evals._eval_file import EVAL_FILE, LAST_LINE, append_question, locate, read_eval_file
from memoriter.evals._pool import VectorStore
from memoriter.evals._question_report import QuestionsReport, ask
from memoriter.evals._questions import AnswerLines, EvalQuestion, load_questions
from memoriter.evals._run import DatasetResult, EvalRun, Table, kinds_table, system_table, values
from memoriter.evals._setting_effect import SettingEffect, setting_effect

__all__ = [
    "EVAL_FILE",
    "LAST_LINE",
    "AnswerLines",
    "Dataset",
    "DatasetResult",
    "EvalQuestion",
    "EvalRun",
    "QuestionsReport",
    "SettingEffect",
    "Table",
    "VectorStore",
    "append_question",
    "ask",
    "dataset_files",
    "kinds_table",
    "load_dataset",
    "load_questions",
    "locate",
    "read_eval_file",
    "setting_effect",
    "system_table",
    "values",
]
