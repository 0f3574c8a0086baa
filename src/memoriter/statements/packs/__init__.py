"""Language packs: the cues of one language in each file. `PACKS` lists them."""

from memoriter.statements.packs._chinese import CHINESE
from memoriter.statements.packs._czech import CZECH
from memoriter.statements.packs._english import ENGLISH
from memoriter.statements.packs._french import FRENCH
from memoriter.statements.packs._german import GERMAN
from memoriter.statements.packs._japanese import JAPANESE
from memoriter.statements.packs._korean import KOREAN
from memoriter.statements.packs._pack import LanguagePack
from memoriter.statements.packs._portuguese import PORTUGUESE
from memoriter.statements.packs._spanish import SPANISH

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
