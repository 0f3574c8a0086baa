"""Cues of German."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import LanguagePack

_LIKE = r"(?:bevorzuge|mag|liebe|hasse|schätze|verabscheue|meide|favorisiere|vertrage|genieße|bevorzugen|mögen|lieben|hassen|schätzen|meiden|vertragen)"
_DO = r"(?:esse|trinke|nutze|benutze|verwende|lese|schaue|höre|beantworte|kaufe|trage|fahre|fliege|reise|schreibe|koche|spiele|arbeite|nehme|gehe|checke|schaue)"
_OUR = r"\b(?:mein|meine|unser|unsere|meinem|unserem|meiner|unserer)\b"
_JOB = (
    r"(?:\w+(?:er|erin|ist|istin|arzt|ärztin|in|ant|antin|ent|entin|eur|eurin|frau|mann|leiter|leiterin|or|orin)|arzt|koch|vater|mutter"
    r"|vegetarier|veganer|witwe|witwer|rentner)"
)
_OF_THE_MOMENT = r"(?:frage|problem|fehler|code|test|skript|funktion|abfrage|ausgabe|bildschirm|datei|schleife|anliegen|bitte|idee|eindruck|plan|satz|text)"
_NEW_TOOL = r"(?!(?:de[rnm]|die|das|dies\w*|jen\w*|ein\w*|kein\w*|mein\w*|unser\w*|dein\w*|main|master|version|option|nur|diese)\b)"

GERMAN = LanguagePack(
    language="de",
    name="German",
    own=r"\b(?:ich|mir|mich|mein\w*|wir|uns|unser\w*)\b",
    remember=(
        r"\bfür später\b",
        r"\b(?:merk|merke) (?:dir|es dir|dir das)\b|\bmerken sie sich\b|\b(?:vergiss|vergessen sie)(?: das| bitte)? (?:nicht|nie)\b|\b(?:notier|notiere|notieren sie|schreib|schreibe)(?: dir| es dir| sich)?(?: bitte)?(?: das| auf)?:",
        r"\bnotiere? dir\b|\bbehalte?(?: das| es| bitte)* (?:bitte )?im (?:kopf|hinterkopf|gedächtnis|auge)\b|\bdenk(?:e)?(?: bitte)? (?:daran|dran), dass\b|\bfür deine notizen\b"
        r"|\bspeicher(?:e)?(?: dir)? (?:das|dir)\b",
        r"^zur? (?:info|information|kenntnis)\b|\bnur damit du es weißt\b|\bdamit du bescheid weißt\b|\bfürs protokoll\b|\bnebenbei bemerkt\b|\bbehalte? (?:das|es|dir)\b",
    ),
    preference=(
        r"\bin (?:all )?(?:meinen|allen meinen|unseren|allen unseren) [\w-]+ (?:[\w-]+ ){0,2}(?:immer|nie|nur)\b|\bin (?:deinen|euren) (?:antworten|texten)\b|\blass(?:e)? (?:bitte )?\w+ (?:\w+ ){0,4}weg\b",
        rf"\b(?:ich|wir) (?:\w+ ){{0,2}}?{_LIKE}\b(?! (?:es|das|dies|dich|deine|deinen|wie|was)\b)(?<!möchte)|(?:^|, |\bund )(?:\w+ ){{0,4}}?{_LIKE} (?:ich|wir)\b(?<!das mag ich)(?<!das liebe ich)",
        r"\bnicht (?:ausstehen|leiden|riechen|vertragen)\b|\b(?:ist|sind|wären|waren) (?:mir|uns) (?:\w+ )?lieber\b|\b(?:mir|uns) (?:\w+ )?lieber\b|\b(?:mein\w*|unser\w*) lieblings|\blieblings\w+ (?:ist|sind)\b",
        r"\b(?:künftig|in zukunft|ab heute|fortan) (?:bitte )?(?:antworte|schreib|nenn|nutz|verwend|erklär|sprich|kommentier|formulier|übersetz|zitier)\w*\b",
        r"\bbitte (?:ab jetzt |künftig )?keine?n? (?:\w+ ){1,3}?mehr\b|^keine?n? (?:\w+ ){1,3}?mehr\b.*\bbitte\b|\b(?:duze?|sieze?|duzen sie|siezen sie) (?:mich|uns)\b|\bsag(?:e)? (?:bitte )?(?:du|sie) zu mir\b",
        r"\bam liebsten\b|\bkein(?:e|en)? (?:\w+ )?(?:fan|freund|freundin|anhänger)\b|\b(?:bin|war) (?:ich )?(?:\w+ )?(?:ein(?:e)? )?(?:großer |große |echter )?fan\b|\b(?:stehe|schwöre) (?:ich )?(?:\w+ )?auf\b|\bwerde ich (?:\w+ )*warm\b|\bliegt mir (?:nicht|mehr)\b",
        rf"\b(?:ich|wir) {_DO} (?:\w+ ){{0,4}}?(?:nur|nie|niemals|kein|keine|keinen|immer|grundsätzlich|ausschließlich|meistens|meist|lieber|nichts)\b|\b{_DO} (?:ich|wir) (?:\w+ ){{0,3}}?(?:nur|nie|niemals|kein|keine|keinen|immer|grundsätzlich|ausschließlich|lieber|aus prinzip|meist|nichts)\b",
        r"\b(?:ab|von) (?:jetzt|sofort|heute|nun)(?: an)?\b(?=.*\b(?:immer|nur|bitte|auf|per|mit|keine?|antworte|schreib|nutze|verwende|nenn))|\b(?:künftig|in zukunft|grundsätzlich|prinzipiell|jedes mal|aus prinzip)\b(?=.*\b(?:bitte|nur|immer|keine?|nie|auf|mit|ich|wir)\b)",
        r"\bbitte (?:\w+ ){0,3}?(?:immer|nie|niemals|stets|grundsätzlich|ausschließlich)\b|(?:^|, )(?:immer|nie|niemals) (?:\w+ ){1,6}(?:schreiben|antworten|verwenden|nutzen|benutzen|angeben|nennen)\b"
        r"|^(?:antworte|schreib|schreibe|nenn|nenne|nutze|verwende|benutze|gib|duze|sieze)\b.*\b(?:immer|nie|niemals|stets|künftig|grundsätzlich|nur noch)\b",
    ),
    decision=(
        r"\bnach (?:\w+ )?(?:langen|vielen|etlichen) \w*(?:gespräch|diskussion|überlegung|abwägung)\w*|\b(?:das )?ergebnis (?:ist|war):? |\bletztlich\b.*\b(?:wir|ich)\b|\bunterm strich\b.*\b(?:wir|ich)\b",
        r"\b(?:entschieden|beschlossen|entschluss|geeinigt|festgelegt|ausgewählt|durchgerungen)\b|\b(?:wahl|entscheidung|würfel) (?:ist|sind) (?:\w+ )?gefallen\b|\bentscheidung:|\bsteht (?:jetzt |nun )?fest\b",
        r"\b(?:nehmen|gehen|setzen|wechseln|bleiben|verwenden|steigen|ziehen|nutzen|stellen) (?:wir|ich) (?:jetzt|nun|künftig|ab|ab sofort|in zukunft|doch|endgültig)\b|\bwir (?:nehmen|gehen|setzen|wechseln|bleiben|steigen|verwenden|nutzen|stellen) (?:\w+ ){0,3}?(?:künftig|jetzt|nun|ab|auf|zu|bei|um|statt|endgültig)\b",
        r"\bvom tisch\b|\bnach lang\w+ (?:hin und her|überlegen|überlegung|diskussion)|\b(?:habe|hab|haben) (?:ich |wir )?mich? (?:\w+ )?(?:für|gegen) .*\bentschieden\b|\bwerde(?:n)? (?:ich |wir )?(?:künftig|ab jetzt|ab sofort) ",
    ),
    switch=(
        rf"\b(?:bin|sind|habe|hab|haben) (?:\w+ ){{0,4}}?(?:auf|zu|nach) {_NEW_TOOL}(?=\w)\S*(?: \w+)?? (?:umgestiegen|gewechselt|umgestellt|migriert)\b",
        rf"\b(?:ich|wir) (?:nutzen?|verwenden?|benutzen?) (?:jetzt|nun|inzwischen|mittlerweile) {_NEW_TOOL}(?=\w)|\b(?:jetzt|inzwischen|mittlerweile) (?:nutzen?|verwenden?|benutzen?) (?:ich|wir) {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        r"\bich heiße\b|\bmein name\b|\b(?:nenn|nennt|nennen sie) mich\b|\b(?:mein|meine|unser|unsere)\b(?: [\w-]+){1,4}? (?:heißt|heißen)\b(?! das\b)",
        r"\b(?:mein|meine|unser|unsere)(?: [\w-]+){0,3}? (?:name|nummer|telefonnummer|handynummer|adresse|e-?mail(?:-adresse)?|mailadresse|anschrift|benutzername|spitzname|kürzel)(?: [\w-]+){0,3}? (?:ist|lautet|sind)\b",
        r"\b(?:mein|meine|unser|unsere)\b.*\b(?:zu erreichen|erreichbar)\b|\berreichst du (?:mich|uns|mein\w*|unser\w*)\b",
    ),
    fact=(
        r"\b(?:ich|wir|mein\w* \w+|unser\w* \w+) (?:vertrage|vertragen|verträgt|darf|dürfen|kann|können) (?:\w+ )?(?:kein\w*|nichts) \w+(?: (?:essen|trinken|vertragen|mehr|zu mir nehmen))*\b(?! (?:sehen|finden|machen|öffnen))",
        r"\b(?:mein\w*|unser\w*)\b.*\b(?:an jedem|jeden|jede|zum monats\w+|monatlich|wöchentlich|täglich|zur welt gekommen)\b",
        r"\b(?:ich|wir) (?:\w+ ){0,2}?(?:wohne|wohnen|arbeite|arbeiten|lebe|leben|komme aus|kommen aus|studiere|unterrichte|leite|spreche|besitze|stamme|lerne|betreibe|betreiben|vertreibe|ziehe)\b(?! (?:gerade|an (?:der|dem|einer|diesem|dieser|einem)))",
        r"\b(?:wohne|arbeite|lebe|studiere|unterrichte|leite|komme) ich\b|\b(?:bin|sind|habe|haben) (?:ich|wir) (?:\w+ ){0,8}?(?:gezogen|geboren|aufgewachsen|geheiratet|verheiratet|umgezogen)\b|\bich (?:bin|habe) (?:\w+ ){0,6}?(?:gezogen|geboren|aufgewachsen|geheiratet|umgezogen|promoviert|studiert)\b",
        rf"\b(?:ich bin|bin ich) (?:\w+ ){{0,4}}?(?:allergisch|vegetarier\w*|veganer\w*|vegan|verheiratet|geschieden|linkshänder\w*|zuständig|verantwortlich|schwanger|rentner\w*|laktoseintolerant|farbenblind|aus \w+)\b|\bich bin (?:\w+ )?{_JOB}(?: (?:in|bei|an|am|im|von)\b|[.,]|$)",
        r"\b(?:ich|wir) (?:habe|haben) (?:\w+ )?(?:zwei|drei|vier|fünf|\d+|eine|einen|ein|diabetes|asthma|zöliakie|zwillinge) ?(?:\w+ )?(?:töchter|söhne|kinder|kind|tochter|sohn|hund|hunde|katze|katzen|schwester|bruder|haus|garten|allergie|enkel|frau|mann|unverträglichkeit)?(?=[\s,.]|$)(?!frage|problem|fehler)(?! (?:frage|problem|fehler|idee|bitte|bug))",
        rf"{_OUR}(?! (?:\w+ )?{_OF_THE_MOMENT}\b)(?: [\w-]+){{1,4}}? (?:ist|sind|hat|haben|steht|stehen|liegt|liegen|läuft|laufen|trifft|treffen|wohnt|wohnen|arbeitet|lebt|schließt|öffnet|beginnt|endet|gehört|studiert|spricht|nutzt|braucht|mag|isst|trinkt|kommt)\b",
        rf"\b(?:liegt|steht|läuft|ist|sind|laufen|hat) {_OUR}(?! {_OF_THE_MOMENT}\b) ?\w*|\bbei uns (?:gibt|ist|sind|wird|läuft)\b|\bgibt es bei uns\b|\b(?:wir|unser\w*|ich)\b.*\b(?:jeden|jede|jedes|täglich|wöchentlich|monatlich|montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags)\b",
    ),
    question=(
        r"^(?:und |aber |also )?(?:wer|was|wie|wo|wann|warum|wieso|weshalb|welche\w*|wen|wem|wessen|woher|wohin|wofür|womit|worauf)\b(?!.*\bist gefallen)|^(?:weißt|kannst|könntest|würdest|hast|bist|soll|sollte|ist|sind|hat|haben|darf|gibt|magst|möchtest|willst|muss|kann) (?:du|ich|wir|es|das|sie|er|mein\w*|der|die|man|ihr|euch)\b|\bich frage mich\b",
    ),
    request=(
        r"\b(?:kannst|könntest|würdest) du dir (?:\w+ )*merken\b|\b(?:kannst|könntest) du (?:dir )?(?:bitte )?notieren\b",
    ),
    supposition=(
        r"\b(?:stell|stelle|stellen sie) (?:dir|euch|sich) (?:mal |bitte )?vor\b|\bangenommen\b|\bnehmen wir (?:mal )?an\b|\bgesetzt den fall\b|\bhypothetisch\b|\btu(?:e)? so,? als\b|\bals ob\b|\bwas wäre,? wenn\b",
        r"\b(?:wenn|falls) (?:ich|wir|mein\w*)\b.*\b(?:würde\w*|wäre\w*|hätte\w*|bräuchte\w*|könnte\w*|müsste\w*)\b|\bdu (?:spielst|bist) (?:jetzt )?(?:ein|eine|einen)\b|\brollenspiel\b",
    ),
    forget=(
        r"\bnicht (?:zu )?merken\b|\b(?:merk|notier|speicher)\w* (?:dir )?(?:das|es|dies) (?:bitte )?nicht\b|\b(?:vergiss|vergessen sie)(?:,? was| das| es)\b(?! nicht)(?! bitte nicht)|\bnicht (?:speichern|notieren|aufschreiben)\b|\bunter uns\b|\bwar nur (?:ein )?(?:spaß|witz|scherz)\b|\bnehme ich zurück\b|\bnimm das nicht auf\b",
    ),
    report=(
        r"^(?:(?!\b(?:ich|wir|mir|mich|uns)\b).)*\b(?!(?:ist|war|so)\b)\w+,? (?:dass|daß|ob) (?:[\w-]+ ){0,3}?(?:ich|wir|mir|mich|uns|mein\w*|unser\w*)\b",
        r"^(?!(?:wenn|weil|da|falls|als|während|obwohl|seit)\b)(?!(?:[^ ,]+ ){0,9}(?:ich|wir|mir|mich|uns)\b)[^ ,]+ [^,]+, (?:ich|wir)\b|^(?:er|man)\b",
        r"\b(?:laut|angeblich|gerüchteweise|anscheinend|offenbar)\b(?! protokoll steht)|\b(?:manche|viele|einige|die meisten|andere)(?: (?:leute|menschen|kollegen|nutzer|firmen))?\b(?= \w+en\b)|\b(?:es heißt|ich habe gehört|ich habe gelesen|sie sagt|sie meint|sie schrieb)\b|\balle\b(?= (?:mögen|lieben|nutzen|sagen))|\bjeder (?:mag|sagt|weiß)\b",
    ),
    passing=(
        r"\b(?:schlägt|schlagen)\b.*\bfehl\b|\b(?:funktioniert|geht|läuft|lädt|startet|kompiliert) (?:\w+ )?nicht\b|\bnicht (?:mehr )?(?:übersetzbar|kompilierbar|lauffähig)\b|\bweiß nicht,? (?:warum|wieso)\b|\babgestürzt\b|\bin dieser \w+|\bin diesem \w+|\bkomme (?:dann|gleich|später) wieder\b|\bbin (?:kurz|gleich) ",
        r"\b(?:mein|meine|unser|unsere) (?:[\w-]+ )?(?:pr|pull request|branch|build|pipeline|server|dienst|seite|laptop|rechner|änderungen?|deployment|ticket)\b (?:ist|sind|war|hat|hängt|liegt|steht) (?:[\w-]+ ){0,3}?(?:rot|grün|kaputt|offen|fertig|down|langsam|veraltet|hinterher|ausgefallen|tot|weg|hinter)\b",
        r"\b(?:variante|option|version|vorschlag|entwurf) (?:[a-d]|\d|eins|zwei|drei)\b|\b(?:ersten|zweiten|dritten|letzten|deinen|dein|deine) (?:variante|option|version|vorschlag|entwurf)\b|\b(?:arbeite|bin) (?:ich )?gerade\b",
        r"\bheute\b(?! an\b)|\bheute abend\b|\bgerade (?:hunger|eben|keine|nicht|so|beim|dabei)\b|\bim moment\b|\bdiesmal\b|\bfür dieses? (?:eine )?\w+|\bdiese(?:s|r|n|m)? (?:funktion|folie|bild|seite|zeile|datei|satz|mail|mal|aufgabe)\b|\bdas gefällt\b|\b(?:liebe|mag) ich(?:'s)?$|\bich (?:liebe|mag) es\b|\bso müde\b|\bkeine ahnung\b|\bdanke\b",
    ),
    text_work=(
        r"\b(?:korrigier\w*|verbesser\w*|übersetz\w*|formulier\w*|kürz\w*|überarbeit\w*|prüf\w*|fass\w*)\b.*\b(?:satz|text|absatz|grammatik|rechtschreibung|brief|mail|zusammen|ins \w+)\b|\b(?:figur|roman|hauptfigur|erzähler|drehbuch|gedicht|kurzgeschichte)\b|\bschreib(?:e)? (?:mir )?(?:eine?n? )?(?:\w+ )?(?:biografie|kurzbiografie|brief|gedicht|geschichte|rede|aufsatz|dialog)\b",
    ),
    task=(
        r"(?:^|[,;:] (?:und |also |dann |bitte |jetzt )*|\bund (?:dann|bitte) |\bbitte )(?:mach|bau|schau|such|find|lösch|änder|pass|setz|merg|füg|schreib|test|prüf|korrigier|aktualisier|ersetz|entfern|nimm|zeig|hilf|erklär"
        r"|stell|räum|lass|führ|start|benenn|verschieb|sortier|erstell|implementier|refaktor|vergleich|sieh|guck|kümmer|leg|bring|gib|lies|öffne|hol|erweiter|ergänz|überarbeit|optimier|reparier|bereinig|wandle|formatier|deploy|rebase|check)(?:e|iere?|re)?\b(?! (?:ich|wir|man)\b)",
        r"(?:^|[,;:] )\w+ (?:sie|es|ihn|das|den|die) (?:\w+ )?bitte\b|\bbitte \w+(?:ieren|en)[.!]?$",
    ),
    lasting=(
        r"\bmir\b[^,]*\b(?:immer|nie|niemals|stets)\b|\b(?:im|jeden|jede|jedes|zum|am) \w*(?:monats?|woche|quartal|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|tag|abend|morgen)\w*\b",
        r"\b(?:ab|von) (?:jetzt|sofort|heute|nun)\b|\b(?:künftig|in zukunft|grundsätzlich|prinzipiell|jedes mal|nie wieder|keine?n? (?:\w+ ){1,3}?mehr|aus prinzip|duze?|sieze?|nenn\w* mich|zu mir)\b",
        r"\b(?:antworte|schreib|schreibe|nenn|nenne|nutze|verwende|benutze|gib|erkläre?|formuliere?|sprich|rede|zeig)\b[^,]*\b(?:immer|nie|niemals|stets|nur noch)\b|\bin (?:all|allen|deinen|euren|meinen|unseren) \w+",
        r"\bich bin (?:\w+ )?(?:\w+(?:er|erin|ärztin|arzt|ist|istin|frau|mann|leiter\w*)|allergisch|vegan|vegetar\w+|schwanger|farbenblind)\b|\b(?:wohne|lebe|arbeite als|vertrage|verträgt|bevorzuge|hasse|liebe|mag)\b|\blieber\b|\blieblings",
        r"\bmein\w* (?:frau|mann|sohn|tochter|kind|kinder|mutter|vater|bruder|schwester|hund|katze|name|chefin?|partner\w*)\b|\b(?:entschieden|beschlossen|geeinigt)\b",
    ),
    workpiece=(
        r"\b(?:mein|meine|unser|unsere|meinem|meiner|unserem|unserer) (?:[\w-]+ )?(?:code|skript|script|branch|pr|build|pipeline|server|tests?|datei|dateien|ordner|funktion|seite|tabelle|abfrage|entwurf|app|änderungen|daten)\b",
    ),
)
