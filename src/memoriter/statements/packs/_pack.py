"""A language pack: the cues of one language, as regular expressions over a sentence in lower case."""

# ruff: noqa: E501 - a pattern of words

from __future__ import annotations

from memoriter.values import dataclass

NOT_OWN_CLAUSE = (
    r"^(?!(?:(?:a partir de a(?:hora|gora)|de ahora en adelante|desde ahora|y|e|pero|mas|no|não|ya|já|yo|eu|nosotr[oa]s|nós|también|também|pues|pois) )*"
    r"(?:\w+(?:o|oy|ou|mos|é|ei|í)|(?:me|nos|te|he|hemos) \w+) que\b)(?!.*\b(?:je|nous|on|j')\b)"
    r".*\b(?!(?:es|é|era|fue|foi|lo|o|más|mais|menos|antes|tengo|tenho|tiene|tem|hay|há|para|ya|já|así|assim|mientras|enquanto|vez|desde|hasta|até|mejor|melhor|do)\b)[\w-]+"
)
"""In Spanish and Portuguese, whose verbs show the person, the beginning of a main clause about another person, up to its `que`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagePack:
    """The cues of one language. Each is an alternative of regular expressions; an empty one never matches.

    The sentence is in Unicode form NFC and lower case, with plain apostrophes and single blanks, and without the text
    between its quotation marks.
    """

    language: str
    """The code of the language, such as `en`."""
    name: str
    """Its name in English."""
    remember: tuple[str, ...]
    """The author wants something to be remembered."""
    preference: tuple[str, ...]
    """The author likes or dislikes something, has a habit by choice, or gives an order for all later turns."""
    decision: tuple[str, ...]
    """The author, or a group that they belong to, has made a choice."""
    switch: tuple[str, ...]
    """The author, or a group that they belong to, uses something now in place of something else: a choice, too."""
    entity: tuple[str, ...]
    """A name, an address or a number of the author or of somebody or something of theirs."""
    fact: tuple[str, ...]
    """Something else that lasts about the author, their people, things or work."""
    own: str
    """Words for the author and for what is theirs."""
    question: tuple[str, ...]
    """The sentence asks, even without a question mark."""
    request: tuple[str, ...] = ()
    """The sentence asks to remember, although it has the form of a question."""
    supposition: tuple[str, ...]
    """The message supposes something, or assigns roles."""
    forget: tuple[str, ...]
    """The author does not want the message to be remembered, or takes back what they said."""
    report: tuple[str, ...]
    """The sentence passes on what others say or do."""
    passing: tuple[str, ...]
    """The sentence is about this moment, this task, or nothing."""
    text_work: tuple[str, ...]
    """The message asks to correct, translate or continue a text, which may be in the same message."""
    task: tuple[str, ...]
    """A clause of the sentence is a request of the moment to the assistant, such as an imperative."""
    lasting: tuple[str, ...]
    """The sentence is worth keeping although it has a request: it is about all later turns, or about the person."""
    workpiece: tuple[str, ...]
    """The sentence is about a file, branch, server or the like that the author works on. In a message with a request,
    it describes the task."""
