"""Irregular English forms, which no stemmer brings together: `chosen` asks for `choose`.

Verbs that stand for anything (make, take, go) are left out: bringing their forms together would only add chance.
"""

from __future__ import annotations

_FORMS = """
bent:bend bet:bet bit bitten:bite blew blown:blow broke broken:break built:build burnt:burn bought:buy
caught:catch chose chosen:choose dealt:deal dug:dig drew drawn:draw drank drunk:drink drove driven:drive ate
eaten:eat fell fallen:fall fed:feed fought:fight flew flown:fly forgot forgotten:forget forgave
forgiven:forgive froze frozen:freeze grew grown:grow hid hidden:hide leant:lean learnt:learn lent:lend
lost:lose met:meet rode ridden:ride rang rung:ring rose risen:rise sought:seek sold:sell sent:send
shook shaken:shake shone:shine shot:shoot shrank shrunk:shrink sang sung:sing sank sunk:sink slept:sleep
slid:slide spoke spoken:speak spent:spend spun:spin stole stolen:steal stuck:stick struck:strike swore
sworn:swear swept:sweep swam swum:swim taught:teach tore torn:tear threw thrown:throw woke woken:wake wore
worn:wear won:win withdrew withdrawn:withdraw wrote written:write children:child people:person men:man
women:woman feet:foot teeth:tooth mice:mouse
"""


def _parse_forms() -> dict[str, str]:
    found: dict[str, str] = {}
    waiting: list[str] = []
    for form in _FORMS.split():
        name, _, lemma = form.partition(":")
        waiting.append(name)
        if lemma:
            found |= dict.fromkeys(waiting, lemma)
            waiting = []
    return found


LEMMAS: dict[str, str] = _parse_forms()
