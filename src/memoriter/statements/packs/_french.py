"""Cues of French."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import LanguagePack

_OUR = r"\b(?:mon|ma|mes|notre|nos)\b"
_OF_THE_MOMENT = r"(?! (?:\w+ )?(?:question|problème|erreur|code|test|script|fonction|requête|écran|fichier|boucle|doute|idée|impression|texte|phrase)\b)"
_NEW_TOOL = r"(?!(?:les?|la|une?|des?|cet?|cette|mon|ma|ton|ta|notre|votre|autre|main|master|version|option|côté)\b|l')"

FRENCH = LanguagePack(
    language="fr",
    name="French",
    own=r"\b(?:je|j'|moi|me|mon|ma|mes|nous|notre|nos)\b|\bj'",
    remember=(
        r"\bpour plus tard\b",
        r"\b(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|retiens|retenez|mémorise|mémorisez|note bien|note que|notez que|garde (?:ça|cela|bien)? ?(?:en tête|à l'esprit)|gardez (?:cela )?à l'esprit)\b",
        r"\bn'oublie(?:z)? pas\b|^(?:pour info|pour information|à noter|note :|note:|au fait,)",
    ),
    preference=(
        r"\bdans (?:tous |toutes )?(?:mes|nos) [^.]{2,30}\b(?:toujours|jamais)\b|\bdans (?:tes|vos) réponses\b|\barrête (?:de|d'|avec)\b|\bne \w+ plus (?:de|d'|jamais)\b",
        r"\b(?:vouvoie|vouvoyez|tutoie|tutoyez)-(?:moi|nous)\b|\bne me (?:tutoie|tutoyez|vouvoie|vouvoyez) (?:pas|plus)\b|^(?:s'il te plaît,? |merci de )?plus (?:de |d')\w+ (?:dans|s'il|,|en)\b|\b(?:plus jamais|fini) (?:de |d')\w+",
        r"\bje (?:préfère|déteste|hais|n'aime pas|n'aime|évite|ne supporte pas|ne bois|ne mange|ne lis|n'utilise|adore)\b(?! (?:ça|cela|ce|cette|quand tu)\b)|\bj'(?:aime|adore|apprécie|évite|ai horreur|ai une préférence)\b(?! (?:ça|cela|bien ça)\b)(?!rais)",
        r"\b(?:mon|ma|mes)(?: \w+){0,3}? (?:préférée?s?|favori(?:te)?s?)\b|\bje suis (?:plutôt |très |pas très )?(?:fan|adepte|amateur|du matin|du soir)\b|\bnous préférons\b",
        r"\b(?:désormais|dorénavant|à partir de maintenant|à l'avenir|à chaque fois que tu)\b|\b(?:réponds|répondez|écris|utilise|utilisez)\b.*\bpar défaut\b|\b(?:réponds|répondez|écris|utilise|utilisez|appelle|tutoie|vouvoie|mets)\b.*\b(?:toujours|jamais)\b|\bje (?:ne )?\w+ (?:toujours|jamais|que|uniquement|seulement)\b(?=.*\b(?:du|de|des|en|le|la|les|au|sur|avec|sans)\b)",
    ),
    decision=(
        r"\b(?:après|suite à) (?:de |une |avoir )?(?:longues?|long|bien|mûre|discussion|réflexion)\b.*\b(?:on|nous|je)\b|\bla conclusion est qu",
        r"\b(?:on a|nous avons|j'ai|l'équipe a) (?:finalement |enfin |donc )?(?:décidé|choisi|opté|convenu|retenu|tranché|adopté)\b|\b(?:c'est décidé|décision (?:finale|prise)|décision :)|\b(?:on part|nous partons|on passe|nous passons|on reste|nous restons) (?:sur|à|avec|chez|finalement)\b|\b(?:on va|nous allons|je vais) (?:utiliser|passer à|migrer vers|rester sur|adopter)\b",
    ),
    switch=(
        rf"\b(?:nous sommes|on est|je suis) (?:\w+ )??passée?s? (?:à|sur) {_NEW_TOOL}(?=\w)|\b(?:nous avons|on a|j'ai) (?:\w+ )??(?:migré|basculé) (?:vers|sur|à) {_NEW_TOOL}(?=\w)",
        rf"\b(?:nous utilisons|on utilise|j'utilise) (?:désormais|maintenant|dorénavant) {_NEW_TOOL}(?=\w)|\b(?:désormais|maintenant),? (?:nous utilisons|on utilise|j'utilise) {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        r"\bje m'appelle\b|\bmon (?:prénom|nom) est\b|\bappelle-moi\b|\bappelez-moi\b|\b(?:mon|ma|mes|notre|nos)(?! (?:fonction|méthode|variable|classe|composant|api)\b)(?: [\w-]+){1,4}? s'appelle(?:nt)?\b|\b(?:mon|ma|notre)(?: [\w-]+){0,2}? (?:adresse|numéro|e-?mail|courriel|téléphone|pseudo|identifiant)(?: [\w-]+){0,3}? est\b",
    ),
    fact=(
        r"\b(?:je ne peux pas|je ne dois pas|on ne peut pas|nous ne pouvons pas) (?:manger|boire) (?:de |d'|du )\w+|\b(?:mon|ma|mes) \w+ ne (?:supporte|supportent|digère|tolère|peut pas manger)\b",
        r"\b(?:j'habite|j'étudie|j'enseigne|je travaille|je vis|je suis né|je suis née|je viens de|je dirige|je parle|nous habitons|nous vivons|nous travaillons|j'ai (?:déménagé|grandi|étudié))\b(?! (?:sur (?:ce|cette|un)))",
        r"\bje suis (?:\w+ment )?(?:allergique|végétarien\w*|végane?|diabétique|marié\w*|divorcé\w*|retraité\w*|gaucher|gauchère|daltonien\w*|responsable|intolérant\w*|enceinte|\w+(?:eur|euse|ien|ienne|iste|ier|ière|logue)|médecin|avocate?|professeure?|prof|chef)\b",
        r"\b(?:j'ai|nous avons|on a) (?:deux|trois|quatre|cinq|un|une|\d+) (?:\w+ )?(?:fils|filles?|enfants?|frères?|sœurs?|chiens?|chats?|jumeaux|maison|ans|allergie)\b",
        rf"{_OUR}{_OF_THE_MOMENT}(?: [\w'-]+){{1,4}}? (?:est|sont|a|ont|habite|habitent|travaille|expire|ferme|ouvre|commence|se trouve|se réunit|tourne|parle|utilise|coûte|s'occupe|s'occupent)\b|\b(?:nous|on) (?:\w+ ){{1,5}}(?:chaque|tous les|toutes les) (?:\w+)",
    ),
    question=(
        r"^(?:et |mais )?(?:qui|que|quoi|quel\w*|comment|quand|où|pourquoi|combien|est-ce|qu'est-ce|as-tu|peux-tu|pourrais-tu|sais-tu|es-tu|veux-tu|avez-vous|pouvez-vous)\b|\bje me demande\b",
    ),
    request=(r"\b(?:peux-tu|pourrais-tu|pouvez-vous) (?:\w+ )?(?:retenir|noter|mémoriser|te souvenir)\b",),
    supposition=(
        r"\b(?:imagine|imaginons|imaginez|suppose|supposons|supposez|admettons|mettons que|disons que|fais comme si|comme si|hypothétiquement)\b|\bsi (?:je|j'|nous|on|mon|ma) ?\w*(?:ais|ait|ions|aient)\b|\btu (?:joues|es) (?:un|une|le|la)\b|\bjeu de rôle\b",
    ),
    forget=(
        r"\bne (?:le |la |l')?(?:retiens|retenez|note|notez|mémorise|garde|gardez|enregistre|sauvegarde)\w* (?:pas|rien)\b|\bpas (?:la peine|besoin) de (?:\w+ )?(?:retenir|noter|mémoriser|t'en souvenir)\b|(?<!n')\boublie(?:z)? (?:ça|cela|ce que|tout)\b|\bentre nous\b|\bje plaisante\b",
    ),
    report=(
        r"^(?:et |mais )?(?:ils?|elles?)\b.*\b(?:que|mon|ma|mes|nos|notre)\b",
        r"^(?:(?!\b(?:je|nous|on|moi)\b|\bj').)*\b(?!(?:est|parce|puisque|pour|ce|alors|chaque|fois|dès|tandis|bien|plus|moins)\b)[\w-]+ (?:que (?:je|nous|mon|ma|mes|notre|nos)\b|que j'|qu'on\b)",
        r"\b(?:selon|d'après|il paraît|apparemment|paraît-il|on dit que|j'ai entendu|j'ai lu que|certains|certaines|beaucoup de|la plupart|les gens|tout le monde)\b",
    ),
    passing=(
        r"\b(?:échoue|échouent|plante|ne (?:marche|compile|fonctionne|démarre) (?:pas|plus)|sais pas pourquoi|dans cette? \w+|je reviens)\b",
        r"\b(?:mon|ma|mes|notre|nos) (?:\w+ )?(?:pr|branche|build|pipeline|serveur|service|site|page|ordinateur|déploiement|changements?) (?:est|sont) (?:\w+ ){0,2}?(?:rouge|vert\w*|en panne|lent\w*|ouvert\w*|prêt\w*|en retard|cassé\w*|à jour|tombé\w*)\b",
        r"\b(?:option|variante|version|proposition|maquette) (?:[a-d]|\d|un|deux|trois)\b|\b(?:première|deuxième|seconde|troisième|dernière|ta) (?:option|variante|version|proposition|maquette|solution)\b",
        r"\bje (?:veux|voudrais|souhaite) que (?:le|la|les|l'|ce|cette|mon|ma) ?\w+ (?:soit|soient|ait|aient|reste|affiche)\b",
        r"\b(?:aujourd'hui|ce soir|là maintenant|en ce moment|pour l'instant|cette fois|ce(?:tte)? (?:fonction|diapo|image|page|ligne|fichier|phrase|mail|tâche))\b|\bj'ai (?:faim|soif|sommeil|une question)\b|\bje suis (?:\w+ )?(?:fatigué\w*|crevé\w*|perdu\w*|occupé\w*|désolé\w*)\b|\bj'adore[ !.]*$|\bmerci\b",
    ),
    text_work=(
        r"\b(?:corrige|traduis|réécris|résume|reformule|améliore|raccourcis)\w*\b.*\b(?:phrase|texte|paragraphe|grammaire|orthographe|lettre|mail|en \w+)\b|\b(?:personnage|protagoniste|roman|narrateur|scénario|poème)\b|\bécris(?:-moi)? (?:un|une) (?:\w+ )?(?:biographie|lettre|poème|histoire|discours|dialogue)\b",
    ),
    task=(
        r"(?:^|[,;:] (?:et |donc |alors |puis |s'il te plaît,? )*)(?:corrige|ajoute|mets|mettez|regarde|garde|supprime|enlève|change|modifie|crée|écris|génère|compare|cherche|trouve|vérifie|teste|lance|exécute|explique|montre|fais|aide|implémente"
        r"|refactorise|renomme|déplace|remplace|traduis|résume|optimise|actualise|utilise|passe|ouvre|ferme|trie|convertis|installe|configure|fusionne|donne|liste|nettoie|simplifie|continue|termine|relis|adapte|ajuste|efface|retire)(?:z)?\b",
        r"(?:^|[,;:] |\bet )\w+-(?:le|la|les|moi|toi|y|en)\b",
    ),
    lasting=(
        r"\b(?:désormais|dorénavant|à partir de maintenant|à l'avenir|plus jamais|chaque fois que|appelle-moi|appelez-moi|tutoie|vouvoie|tutoyez|vouvoyez)\b|\bdans (?:tes|vos|mes|nos|tous|toutes) \w+",
        r"\b(?:réponds|répondez|écris|utilise|utilisez|explique|donne|mets)\b[^,]*\b(?:toujours|jamais)\b|\bje suis (?:\w+ )?(?:allergique|végétarien|végane|diabétique|médecin|\w+(?:eur|euse|ien|ienne|iste|ier|ière))\b",
        r"\b(?:j'habite|je vis|je travaille comme|je préfère|je déteste|j'aime|je n'aime pas|j'adore|je ne supporte pas|je ne peux pas (?:manger|boire))\b|\b(?:mon|ma|mes) (?:fils|fille|femme|mari|mère|père|frère|sœur|chien|chat|enfants?|nom|prénom|patron\w*|chef\w*)\b",
        r"\b(?:décidé|choisi|convenu|opté)\b",
    ),
    workpiece=(
        r"\b(?:mon|ma|mes|notre|nos) (?:\w+ )?(?:code|script|branche|pr|build|pipeline|serveur|tests?|fichiers?|dossier|fonction|page|table|requête|brouillon|appli|changements|données)\b",
    ),
)
