"""The owner's questions about the notes: read them, add one, and see which ones a change of settings gains or loses."""

from memoriter.questions._file import (
    EVAL_FILE,
    LAST_LINE,
    OwnQuestions,
    append_question,
    locate,
    questions_about,
    questions_in,
    read_eval_file,
)
from memoriter.questions._questions import (
    AnswerLines,
    EvalQuestion,
    Fields,
    fields_of,
    load_questions,
    read_json,
    rows_of,
)
from memoriter.questions._setting_effect import SettingEffect, setting_effect

__all__ = [
    "EVAL_FILE",
    "LAST_LINE",
    "AnswerLines",
    "EvalQuestion",
    "Fields",
    "OwnQuestions",
    "SettingEffect",
    "append_question",
    "fields_of",
    "load_questions",
    "locate",
    "questions_about",
    "questions_in",
    "read_eval_file",
    "read_json",
    "rows_of",
    "setting_effect",
]
