"""Language packs: the cues of one language in each file. `PACKS` lists them."""

from memoriter.extensions.longterm.rules.packs._chinese import CHINESE
from memoriter.extensions.longterm.rules.packs._czech import CZECH
from memoriter.extensions.longterm.rules.packs._english import ENGLISH
from memoriter.extensions.longterm.rules.packs._french import FRENCH
from memoriter.extensions.longterm.rules.packs._german import GERMAN
from memoriter.extensions.longterm.rules.packs._japanese import JAPANESE
from memoriter.extensions.longterm.rules.packs._korean import KOREAN
from memoriter.extensions.longterm.rules.packs._pack import LanguagePack
from memoriter.extensions.longterm.rules.packs._portuguese import PORTUGUESE
from memoriter.extensions.longterm.rules.packs._spanish import SPANISH

__all__ = [
    "CHINESE",
    "CZECH",
    "ENGLISH",
    "FRENCH",
    "GERMAN",
    "JAPANESE",
    "KOREAN",
    "PORTUGUESE",
    "SPANISH",
    "LanguagePack",
]
