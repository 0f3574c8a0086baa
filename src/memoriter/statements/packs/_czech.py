"""Cues of Czech."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import LanguagePack

_OUR = r"\b(?:můj|moje|má|mého|mé|moji|náš|naše|naši|našeho|svůj|svoje)\b"
_OF_THE_MOMENT = (
    r"(?! (?:\w+ )?(?:otázka|problém|chyba|kód|test|skript|funkce|dotaz|obrazovka|soubor|nápad|věta|text)\b)"
)
_NEW_TOOL = r"(?!(?:tu|ten|to|tuhle|tento|tuto|jin\w+|nov\w+|můj|moji|naši|main|master|verzi|variantu|větev|jen)\b)"

CZECH = LanguagePack(
    language="cs",
    name="Czech",
    own=r"\b(?:já|mě|mně|mi|mne|můj|moje|má|my|nás|nám|náš|naše)\b",
    remember=(
        r"\b(?:na|pro) později\b",
        r"\b(?:zapamatuj(?:te)? si|pamatuj(?:te)?(?: si)?|zapiš(?:te)? si|poznamenej(?:te)? si|měj(?:te)? na paměti|nezapomeň(?:te)?)\b|^(?:pro informaci|mimochodem,|poznámka:)",
    ),
    preference=(
        r"\bve? (?:všech )?(?:mých|našich) [^.]{2,30}\b(?:vždy|vždycky|nikdy)\b|\bv odpovědích\b|\bpřestaň\b|\buž (?:ne\w+) ",
        r"\b(?:preferuji|preferuju|preferujeme|nesnáším|nenávidím|miluji|miluju|upřednostňuji|vyhýbám se)\b|\b(?:mám|máme) (?:\w+ )?(?:rád|ráda|rádi|nejradši|nejraději|radši|raději)\b(?! (?:to|tě|vás)\b)|\bnemám (?:rád|ráda)\b|\b(?:radši|raději) (?:než|bych|mám|používám|pracuji)\b",
        r"\b(?:můj|moje|má|naše|náš)(?: \w+)?? (?:oblíben\w+|nejoblíbenější|nejmilejší)\b|\b(?:vždy|vždycky|nikdy|nikdy ne|zásadně|obvykle|většinou) (?:\w+ )?(?:používám|piji|piju|jím|čtu|píšu|pracuji|pracuju|cestuji|nejím|nepiji|nepoužívám|nečtu)\b|\b(?:nejím|nepiji|nepiju) \w+",
        r"\b(?:od teď|odteď|od nynějška|do budoucna|příště|pokaždé|ve výchozím stavu)\b|\b(?:odpovídej|odpovídejte|piš|pište|používej|používejte|oslovuj|uváděj|tykej|vykej)\b.*|\bnechci(?! (?:po|abys|abyste|vědět|jít|aby)\b)",
    ),
    decision=(
        r"\bpo (?:dlouh\w+|delší) (?:úvaze|debatě|diskusi|rozhovor\w+|jednání)\b|\b(?:výsledek|závěr) (?:je|byl)[:,]? ",
        r"\b(?:rozhodl|rozhodla|rozhodli|rozhodly|vybral|vybrala|vybrali|zvolil|zvolila|zvolili|dohodli|usnesli) (?:jsme|jsem|se)?|\b(?:jsme se|jsem se) (?:\w+ )?(?:rozhodl[ai]?|dohodli|shodli)\b|\b(?:budeme|budu) (?:používat|nasazovat|přecházet|pokračovat)\b|\b(?:přecházíme|přejdeme|zůstáváme|zůstaneme) (?:na|u|k)\b|\b(?:konečné )?rozhodnutí(?: je)?:|\bje rozhodnuto\b",
    ),
    switch=(
        rf"\b(?:přešel|přešla|přešli|přešly|přesedlal[ai]?|migroval[ai]?) (?:jsme|jsem) (?:\w+ )??na {_NEW_TOOL}(?=\w)|\b(?:jsme|jsem) (?:\w+ ){{0,2}}?(?:přešel|přešla|přešli|přešly|přesedlal[ai]?|migroval[ai]?) na {_NEW_TOOL}(?=\w)",
        rf"\b(?:teď|nyní|nově) (?:už )?(?:používáme|používám) {_NEW_TOOL}(?=\w)|\b(?:používáme|používám) (?:teď|nyní|nově) {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        rf"\bjmenuji se\b|\bjmenuju se\b|\b(?:říkej|říkejte) mi\b|{_OUR}(?: [\w-]+){{1,4}}? (?:se jmenuje|se jmenují|jmenuje se)\b|{_OUR}(?: [\w-]+){{0,2}}? (?:jméno|číslo|adresa|e-?mail|telefon|přezdívka)(?: [\w-]+){{0,3}}? je\b",
    ),
    fact=(
        r"\b(?:nemůžu|nemohu|nesmím|nemůžeme|nesmíme) (?:jíst|pít) \w+|\b(?:můj|moje|má|náš|naše) \w+ (?:nesnáší|nesmí jíst|nemůže jíst|nesmí)\b",
        r"\b(?:bydlím|bydlíme|žiji|žiju|žijeme|pracuji jako|pracuju jako|pracuji v|pracuju v|studuji|studuju|učím|pocházím|vedu|mluvím|narodil jsem se|narodila jsem se|přestěhoval[ai]? (?:jsem|jsme) se|odstěhoval[ai]?|vdala jsem se|oženil jsem se)\b",
        r"\bjsem (?:\w+ ){0,3}?(?:alergick[ýá]|vegetarián\w*|vegan\w*|diabeti\w+|ženatý|vdaná|rozveden[ýá]|levák|levačka|zodpovědn[ýá]|v důchodu|těhotná|lékař\w*|učitel\w*|programátor\w*|inženýr\w*|právní\w+|\w+(?:ista|istka|log|ložka))\b|\bmám (?:alergii|cukrovku|astma|celiakii)\b",
        r"\b(?:mám|máme) (?:dva|dvě|tři|čtyři|pět|jednoho|jednu|\d+) (?:\w+ )?(?:syn\w*|dcer\w*|dět\w*|bratr\w*|sest\w*|ps\w*|kočk\w*|koček|vnou\w*|let)\b",
        rf"{_OUR}{_OF_THE_MOMENT}(?: [\w-]+){{1,4}}? (?:je|jsou|má|mají|bydlí|pracuje|vyprší|končí|začíná|zavírá|otevírá|běží|stojí|leží|se schází|používá|mluví)\b",
    ),
    question=(
        r"^(?:a |ale )?(?:kdo|co|jak|kdy|kde|kam|proč|který|která|které|kolik|pamatuješ|víš|můžeš|můžete|mohl bys|máš|jsi|je to|zda)\b|\bzajímalo by mě\b",
    ),
    request=(r"\b(?:můžeš|mohl bys|mohla bys|můžete) si (?:\w+ )?(?:zapamatovat|poznamenat|zapsat)\b",),
    supposition=(
        r"\b(?:představ(?:te)? si|předpokládejme|dejme tomu|řekněme|hypoteticky|kdybych|kdybychom|kdyby|jako bys|hraj roli|předstírej|co kdyby)\b",
    ),
    forget=(
        r"\b(?:nepamatuj|nezapisuj|neukládej|nezaznamenávej|nemusíš si (?:to )?pamatovat)\b|(?<!ne)\bzapomeň(?:te)? (?:na|co|to|všechno)\b|\bto byl (?:jen )?(?:vtip|žert)\b|\bmezi námi\b",
    ),
    report=(
        r"^(?:a |ale )?(?:ona|oni)\b.*, že\b",
        r"^(?:(?!\b(?:já|my|jsem|jsme|mi|mě|nám|nás)\b|(?:ím|ám|eme|íme|áme|uji|uju|\btak|\bje)\b).)*?, že\b",
        r"\b(?:podle|prý|údajně|říká se|slyšel jsem|slyšela jsem|četl jsem|četla jsem|někteří|mnozí|většina lidí|lidé|lidi|všichni)\b",
    ),
    passing=(
        r"\b(?:selhává|selhaly|selhal|padá|spadl\w*|nefunguje|nekompiluje|nejde|neběží|nevím,? proč|v této \w+|v tomto \w+|hned se vrátím)\b",
        r"\b(?:můj|moje|má|náš|naše) (?:\w+ )?(?:pr|větev|build|pipeline|server|služba|web|stránka|notebook|počítač|změny) (?:je|jsou) (?:\w+ ){0,2}?(?:červen\w+|zelen\w+|dole|pomal\w+|otevřen\w+|hotov\w+|pozadu|rozbit\w+|mimo provoz)\b",
        r"\b(?:variant\w|možnost\w?|verz\w|návrh\w?) (?:[a-d]|\d)\b|\b(?:první|druh\w+|třetí|tv\w+) (?:variant\w|možnost|verz\w|návrh)\b",
        r"\b(?:dnes|dneska|dnes večer|právě teď|zrovna|zatím|tentokrát|t(?:ato|uto|ento|oto) (?:funkc\w|snímek|obrázek|stránk\w|řád\w+|soubor|vět\w|úkol))\b|\b(?:mám|jsem) (?:hlad|žízeň|unaven[ýá]|ospal[ýá]|ztracen[ýá]|otázku|dotaz)\b|\bděkuji\b|\bdíky\b",
    ),
    text_work=(
        r"\b(?:oprav|přelož|přepiš|shrň|zkrať|vylepši)\w*\b.*\b(?:větu|text|odstavec|gramatik\w|pravopis|dopis|mail|do \w+)\b|\b(?:postava|román|vypravěč|scénář|báseň|hrdina)\b|\bnapiš (?:mi )?(?:\w+ )?(?:životopis|dopis|báseň|příběh|projev|povídku|dialog)\b",
    ),
    task=(
        r"(?:^|[,;:] (?:a |tak |takže |prosím,? )*|\ba |\bprosím,? )(?:oprav|přidej|uprav|smaž|odstraň|změň|přesuň|přejmenuj|zrefaktoruj|refaktoruj|naimplementuj|implementuj|porovnej|slouč|spusť|otestuj|zkontroluj|najdi|hledej|podívej|koukni|mrkni|napiš|vytvoř|udělej|vygeneruj"
        r"|přelož|shrň|vysvětli|ukaž|pomoz|aktualizuj|nahraď|seřaď|převeď|nastav|nainstaluj|rozděl|spoj|vyčisti|zjednoduš|dokonči|pokračuj|vypiš|zavři|otevři|dej|použij|zajisti|projdi|sluč)(?:te)?\b",
    ),
    lasting=(
        r"\b(?:od teď|odteď|od nynějška|do budoucna|příště|pokaždé|už nikdy|tykej|vykej|oslovuj|říkej mi|v odpovědích|ve všech)\b|\b(?:odpovídej|piš|používej|uváděj|vysvětluj|dávej)(?:te)?\b",
        r"\bjsem (?:\w+ ){0,2}?(?:alergick|vegetarián|vegan|diabeti|lékař|učitel|zubař|programátor)\w*\b|\b(?:bydlím|žiju|žiji|pracuju jako|pracuji jako|preferuji|preferuju|nesnáším|miluju|mám rád|nemůžu (?:jíst|pít)|nesmím)\w*\b|\b(?:můj|moje|má|mého) (?:syn|dcer|manžel|žen|mám|mat|otec|táta|bratr|sestr|pes|kočk|jmén|šéf)\w*\b",
        r"\b(?:rozhodli|rozhodl|rozhodla|dohodli|vybrali)\b",
    ),
    workpiece=(
        r"\b(?:můj|moje|má|mé|náš|naše|naši) (?:\w+ )?(?:kód|skript|větev|pr|build|pipeline|server|testy?|soubory?|složka|funkce|stránka|tabulka|dotaz|návrh|aplikace|změny|data)\b",
    ),
)
