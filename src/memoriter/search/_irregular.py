"""Irregular English forms, which stemmers do not unite: `chosen` becomes `choose`.

Verbs with a very broad meaning (make, take, go) are left out: uniting their forms would only add chance matches.
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
    lemmas: dict[str, str] = {}
    forms: list[str] = []
    for entry in _FORMS.split():
        form, _, lemma = entry.partition(":")
        forms.append(form)
        if lemma:
            lemmas |= dict.fromkeys(forms, lemma)
            forms = []
    return lemmas


LEMMAS: dict[str, str] = _parse_forms()
