"""Language packs: the cues of one language in each file. `PACKS` lists them."""

from memoriter.longterm.rules.packs._chinese import CHINESE
from memoriter.longterm.rules.packs._czech import CZECH
from memoriter.longterm.rules.packs._english import ENGLISH
from memoriter.longterm.rules.packs._french import FRENCH
from memoriter.longterm.rules.packs._german import GERMAN
from memoriter.longterm.rules.packs._japanese import JAPANESE
from memoriter.longterm.rules.packs._korean import KOREAN
from memoriter.longterm.rules.packs._pack import LanguagePack
from memoriter.longterm.rules.packs._portuguese import PORTUGUESE
from memoriter.longterm.rules.packs._spanish import SPANISH

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
