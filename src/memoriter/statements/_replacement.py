"""Decide whether a statement replaces an older one: the same subject, and another value (pure functions).

Statements are compared by their words. The rules favour precision, because a statement that is kept by mistake costs
less than one that is taken for outdated.
"""
# ruff: noqa: E501 - tables of patterns and names, each in the words of its language

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memoriter.search import query_terms
from memoriter.statements._cues import PACKS, cues, own_words
from memoriter.values import dataclass

LONGEST = 2_000
"""Characters at the beginning of a statement that are compared, so that the time is bounded."""
_ATTRIBUTES = {
    "residence": r"\b(?:i|we) (?:\w+ )?(?:live|moved|relocated)\b|\blive (?:in|near)\b|\bwohne\b|\bgezogen\b|\bvivo\b|\bvivimos\b|\bme mud[éo]|\bmudei|\bmoro\b"
    r"|\bj'habite|\bdéménagé|\bbydlím|\bpřestěhoval|살(?:고|아)|이사|거주|住在|搬(?:到|家|去)|住ん|引っ越|引越",
    "occupation": r"\b(?:i|we) (?:\w+ )?work as\b|\barbeite (?:\w+ )?als\b|\btrabajo (?:de|como)\b|\btrabalho como\b|\bje travaille comme\b|\bpracuj[iu] jako\b|(?<!에)(?<!회사)로 일|として働",
    "employer": r"\b(?:i|we) (?:\w+ )?work (?:at|for)\b|\barbeite (?:\w+ )?(?:bei|an)\b|\btrabajo (?:en|para)\b|\btrabalho (?:na|no|em|para)\b"
    r"|\bje travaille (?!comme)|\bpracuj[iu] (?!jako)|에서 (?:일|근무)|다니|工作|上班|(?<!として)働|勤め",
    "workplace": r"\b(?:i|we) (?:\w+ )?work in\b|\barbeite (?:\w+ )?in\b",
    "favourite": r"favou?rite|lieblings|favorit|preferid|préféré|oblíben|(?:제일|가장) 좋|最喜欢|最喜歡|最爱|最愛|一番好き",
    "preference": r"prefer|bevorzug|prefier|prefir|préfère|preferuj|선호|더 좋|更喜欢|更喜歡|更爱|ほうが好き|方が好き|lieber|rather",
    "order": r"\b(?:always|never|from now on)\b.*\b(?:answer|reply|write|use|call)|(?:antworte|schreib|nenn|nutze).*(?:immer|nie|jetzt|sofort)|responde|respóndeme|réponds|responda|odpovídej"
    r"|(?:항상|앞으로).*(?:답|써|불러)|(?:一律|以后|以後).*(?:回答|用|写)|(?:これから|必ず|今後).*(?:返事|答え|書い)",
    "decision": r"decid|decision|agreed|settled|going with|chose|entschied|beschloss|nehmen|setzen auf|decidi|acord|vamos a usar|eleg|décid|choisi|rozhodl|budeme|기로|정했|결정|확정"
    r"|决定|決定|改用|选|選|定(?:了|为)|決め|決ま|延期",
}
_SETTLED = frozenset({"residence", "employer", "occupation", "workplace"})
"""What a person has only one of at a time."""
_SHARED = frozenset({"favourite", "preference", "order", "decision"})
"""What replaces an older one if both are about the same thing."""
_PAST = (
    r"\b(?:as a (?:child|kid|student|teenager)|when i was|used to|back then|als kind|früher|damals|de (?:niñ[oa]|pequeñ[oa]|joven)|antes|quando era|enfant|autrefois|jako dítě|dřív)\b"
    r"|어릴|어렸을|예전|옛날|小时候|小時候|以前|从前|子供の(?:頃|とき)|昔"
)
"""What was so in the past; nothing that is so today replaces it, and it replaces nothing."""
_SWITCH = r"\b(?:switched|moved|migrated|changed) from\b|\breplaced\b|\binstead of\b|\bstatt\b|\ben (?:vez|lugar) de\b|\bau lieu d|\bem vez de\b|\bmísto\b|대신|에서 .*(?:바꿨|옮겼|갈아탔)|从.*(?:换|改|转|迁)|から.*(?:乗り換え|切り替え|移行|変え)"
_USE = r"\b(?:use|uses|using|run on|work with|rely on|nutzen|nutzt|nutze|verwenden?|benutzen?|usamos|uso|utilizamos|utilizo|utilisons|utilise|používáme|používám|usa)\b|(?:써|쓰|사용)|用|使"
_GROUPS = r"\b(?:team|company|equipo|empresa|équipe|entreprise|equipe|firma|firmě|tým|týmu|im|unserem|in our|notre|nosso|nossa)\b|팀|회사|公司|团队|團隊|チーム|会社|うち"
"""Who uses something, which makes no difference to what is used."""
_NEGATIVE = (
    r"\b(?:not|don't|do not|doesn't|never|no longer|hate|dislike|can't stand|avoid|stopped|quit|nicht|kein\w*|nie|hasse|no|nunca|odio|detesto|ne|pas|plus|déteste|não|nechci|nesnáším)\b"
    r"|(?:^|\s)(?:안|못)\s|지\s?않|싫|끊|不(?!错|同)|讨厌|討厭|戒|嫌|苦手|ない|ません|やめ"
)
_ADDITIVE = r"\b(?:also|too|as well|another|additionally|auch|außerdem|también|además|aussi|également|também|taky|také)\b|(?:에|엔|가|나|저|기)도\s|도 (?:있|좋|싫)|또한|也|还有|還有|また、|(?:に|が|は)?も(?:あり|好き|いる|います)"
_FILLERS = (
    r"\b(?:now|instead|actually|after all|again|any ?more|any longer|currently|from now on|jetzt|nun|doch|inzwischen|mittlerweile|künftig|ab sofort|ahora|actualmente|ya|désormais|maintenant|agora|teď|nyní)\b"
    r"|(?:^|\s)(?:이제는?|지금은?|요즘은?|다시|앞으로는?)(?=\s)|现在|現在|目前|如今|以后|以後|今後は?|今は|最近は"
)
_COPULAS = r"is|are|was|ist|sind|war|es|son|est|sont|é|são|je|jsou"
_VERBS = (
    r"runs?|moves?|meets?|starts?|ends?|expires?|closes?|opens?|lives?|works?|uses?|deploys?|stands?|costs?|has|have|steht|stehen|liegt|liegen|läuft|trifft|beginnt|endet|schließt|öffnet"
    r"|heißt|heißen|wohnt|wohnen|arbeitet|arbeiten|lebt|leben|nutzt|hat|está|están|tiene|vive|viven|trabaja|trabajan|caduca|cierra|abre|empieza|usa|habite|habitent|vivent|travaille|ferme|ouvre|fica|mora|moram|vivem|fecha|bydlí|zavírá|se llama|s'appelle|se chama|lautet"
)
_MANY_VALUES = frozenset({"uses", "has", "have", "nutzt", "hat", "tiene", "usa"})
"""Verbs of which a thing may have several values at a time, unless the newer statement says that it changed."""
_PREDICATE = re.compile(rf"\b(?:(?P<copula>{_COPULAS})|(?P<verb>{_VERBS}))\b")
_NOT_A_SUBJECT = {
    "English": "i we my our the a an of in for it that this there",
    "German": "ich wir mein meine meiner unser unsere der die das dem bei im für",
    "Spanish": "yo mi mis nuestro nuestra el la los las de del para",
    "French": "je nous mon ma mes notre le les",
    "Portuguese": "eu nós meu minha nosso nossa o os as",
    "Czech": "já my můj moje má naše náš",
}
_WITHOUT_SUBJECT = frozenset(word for words in _NOT_A_SUBJECT.values() for word in words.split())
_TOPIC_KO = re.compile(r"^(?P<topic>.{1,24}?)(?:은|는|이|가)\s")
_TOPIC_JA = re.compile(r"^(?P<topic>[^、。]{1,20}?)(?:は|が)(?=.)")
_TOPIC_ZH = re.compile(r"^(?P<topic>[^,,。]{1,14}?)(?:是|叫|在|改(?!用)|定在|定为|:)")
_SCRIPTS = {"ko": r"[가-힣]", "ja": r"[\u3040-\u30ff]", "zh": r"[\u4e00-\u9fff]"}
"""Letters of the scripts in the order in which they decide, since Japanese has Chinese characters, too."""
_PERSON = re.compile(r"^(?:나|난|내|저|전|제|우리|저희|私|わたし|僕|俺|自分|うち|私たち|我|我们|我們|咱们|本人)$")
_OWN = re.compile(r"^(?:우리|저희|제|내|うちの|私の|弊社の|僕の|我的|我们的|我们|我家的?|我)\s?")
_CUT = re.compile(
    r"我们|我們|咱们|我的|我|更|最|喜欢|喜歡|讨厌|討厭|决定|決定|改用|改到|不再|用|的|了|在|是|把|不|为|对|也|有|都|搬家|住|叫|[、。,.!?！？\s]"
    r"|は|が|を|に|で|の|と|へ|も|から|です|ます|ました|まし|た|て|い|こと|使う|決め|決ま|なり|好き|嫌い|苦手|私|今"
)
_ENDINGS_KO = re.compile(r"(?:을|를|은|는|이|가|에서|에게|에|으로|로|보다|의|도|와|과|만)$")
_VERBAL_KO = re.compile(
    r"(?:해|해요|했어|합니다|했습니다|어|어요|아요|습니다|야|이야|예요|이에요|있|고|서)$|^(?:나|난|저|전|안|못|더|우리|저희|기억)$|선호|좋아|싫어|살고|있어|정했|쓰기로"
)
_PREDICATES_OF = {
    "English": "prefer love like hate enjoy dislik favourit favorit use drink eat decid decis agre choos chose settl final"
    " alway never answer want need go move live work near",
    "German": "bevorzug mag lieb hass lieber ausstehen leiden nicht nehmen entschieden beschlossen immer ich wir bin"
    " haben hab",
    "Spanish": "gusta encanta odio prefiero siempre nunca vivo mude soy tengo",
    "French": "aime deteste prefere toujours jamais",
    "Portuguese": "gosto adoro prefiro sempre",
}
"""Stems that say what somebody does with a thing, and not what the thing is."""
_PREDICATES = frozenset(stem for stems in _PREDICATES_OF.values() for stem in stems.split())

_KINDS = {
    "package manager": "npm pnpm yarn bun",
    "Python package manager": "pip poetry pipenv uv conda hatch pdm rye",
    "build": "maven gradle bazel make cmake meson ninja ant sbt",
    "bundler": "webpack vite rollup parcel esbuild turbopack rspack",
    "linter": "eslint biome tslint oxlint flake8 ruff pylint",
    "formatter": "prettier black yapf dprint",
    "test": "jest vitest mocha jasmine ava pytest nose unittest",
    "browser test": "cypress playwright selenium puppeteer webdriverio",
    "database": "mysql mariadb postgresql postgres sqlite oracle mssql sqlserver mongodb couchdb dynamodb cassandra cockroachdb db2 duckdb",
    "cache": "redis memcached valkey dragonfly",
    "queue": "kafka rabbitmq pulsar nats sqs activemq",
    "search": "elasticsearch opensearch solr meilisearch typesense algolia",
    "language": "python java kotlin go golang rust ruby php typescript javascript c# c++ scala elixir perl swift",
    "web framework": "django flask fastapi rails laravel symfony spring express nestjs koa phoenix",
    "user interface": "react vue angular svelte solid preact ember jquery",
    "editor": "vim neovim emacs vscode sublime intellij pycharm webstorm zed cursor nano atom helix",
    "version control": "git svn subversion mercurial perforce",
    "code host": "github gitlab bitbucket gitea codeberg forgejo",
    "continuous integration": "jenkins circleci travis buildkite teamcity drone",
    "cloud": "aws azure gcp hetzner digitalocean linode ovh",
    "containers": "docker podman",
    "orchestration": "kubernetes k8s nomad swarm",
    "infrastructure": "terraform pulumi opentofu cloudformation",
    "web server": "nginx apache caddy traefik haproxy",
    "chat": "slack teams discord mattermost zulip rocketchat",
    "messenger": "whatsapp signal telegram threema line kakaotalk wechat",
    "meeting": "zoom meet webex jitsi",
    "issue tracker": "jira linear trello asana clickup redmine youtrack",
    "notes": "notion confluence obsidian evernote onenote logseq",
    "design": "figma sketch penpot",
    "operating system": "windows macos linux ubuntu debian fedora arch",
    "shell": "bash zsh fish powershell",
    "browser": "chrome firefox safari edge brave opera vivaldi",
    "mail": "gmail outlook protonmail thunderbird fastmail",
    "metrics": "prometheus datadog newrelic grafana zabbix nagios",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_NAME = re.compile(r"(?<![\w.-])[a-z][a-z0-9]*(?:\+\+|#)?(?![a-z0-9-])")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the comparison of a statement with others needs."""

    plain: str
    words: str
    """Its words, without those that say that something is so now."""
    attributes: frozenset[str]
    topic: frozenset[str]
    """Words of the thing that the statement is about; none if it is about its author."""
    verb: str
    """The predicate after the topic, if it says more than "is"."""
    objects: frozenset[str]
    """Words for the things in the statement."""
    negative: bool
    numeric: bool
    changed: bool
    """Whether the statement says that something is so now."""
    past: bool
    """Whether it was so at an earlier time."""
    additive: bool
    """Whether it says that something else is so, too."""
    languages: frozenset[str]
    """Languages that the words for the author may be in, and the script."""


def replaces(old: str, new: str) -> bool:
    """Return whether the newer of two statements of the same category replaces the older one."""
    before = reading_of(old)
    after = reading_of(new)
    if before.words == after.words or after.additive:
        return False
    if before.past or after.past or not before.languages & after.languages:
        # A statement in another language may be a translation, which the words cannot show.
        return False
    shared = before.attributes & after.attributes
    if before.topic != after.topic:
        return False
    if _switches(before, after):
        return True
    if after.topic:
        return _same_kind(before, after) or (bool(before.objects & after.objects) and before.negative != after.negative)
    if shared & _SETTLED:
        return True
    common = before.objects & after.objects
    if common and re.search(_USE, _plain(old)) and re.search(_SWITCH, _plain(new)):
        return True
    return bool(common) and (bool(shared & _SHARED) or before.negative != after.negative)


def switches(old: str, new: str) -> bool:
    """Return whether the newer statement replaces the older one because it names what is used now in its place.

    Such statements may have different categories: what is used is a fact, and to change it a decision.
    """
    return replaces(old, new) and _switches(reading_of(old), reading_of(new))


def _switches(before: Reading, after: Reading) -> bool:
    """Return whether somebody uses now what takes the place of what they used, for the same purpose."""
    if before.negative or after.negative or before.words == after.words:
        return False
    uses = re.search(_USE, before.plain) or cues("switch").search(before.plain)
    if not uses or not cues("switch").search(after.plain):
        return False
    old = tools_in(before.plain)
    new = tools_in(after.plain)
    # Of two tools in one statement, nothing says which of them is meant.
    if len(old) != 1 or len(new) != 1 or old.keys() == new.keys() or set(old.values()) != set(new.values()):
        return False
    return _purpose(before.plain) == _purpose(after.plain)


def _purpose(plain: str) -> frozenset[str]:
    """Return words for what something is used for, beside who uses it."""
    bare = own_words().sub(" ", cues("switch").sub(" ", plain))
    for pattern in (_USE, _FILLERS, _GROUPS):
        bare = re.sub(pattern, " ", bare)
    return _objects(without_tools(bare))


def _same_kind(before: Reading, after: Reading) -> bool:
    """Return whether two statements about the same thing give values of one kind."""
    if len(before.topic) > 1 or before.attributes & after.attributes & (_SETTLED | _SHARED):
        return before.numeric == after.numeric or before.verb == after.verb
    same_verb = bool(before.verb) and before.verb == after.verb
    many = before.verb in _MANY_VALUES or re.search(_SCRIPTS["ko"], before.verb)
    return (same_verb and (after.changed or not many)) or (before.numeric and after.numeric)


def says_now(text: str) -> bool:
    """Return whether a statement says that something is so now, or is used from now on."""
    plain = _plain(text)
    return re.search(_FILLERS, plain) is not None or cues("switch").search(plain) is not None


def subjects(text: str) -> tuple[str, ...]:
    """Return keys of which two statements share one if the newer may replace the older: to find such pairs quickly.

    They are its first words, and the kinds of the tools that it names.
    """
    plain = " ".join(re.sub(_FILLERS, " ", _plain(text)).split())
    words = re.findall(r"\w+", plain)
    if re.search(_SCRIPTS["ja"], plain) or re.search(_SCRIPTS["zh"], plain):
        beginning = "".join(words)[:2]
    else:
        beginning = " ".join(words[: 1 if re.search(_SCRIPTS["ko"], plain) else 2])
    return (beginning, *sorted({f"a {kind}" for kind in tools_in(plain).values()}))


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFC", text[:LONGEST]).replace("’", "'").lower()
    return " ".join(plain.split())


@lru_cache(maxsize=8_192)
def reading_of(text: str) -> Reading:
    """Return what a statement is about, and what it says of that."""
    plain = _plain(text)
    stripped = " ".join(re.sub(_FILLERS, " ", plain).split()).strip(" ,")
    attributes = frozenset(name for name, pattern in _ATTRIBUTES.items() if re.search(pattern, plain))
    topic, verb = _topic(stripped)
    return Reading(
        plain=plain,
        words=" ".join(re.findall(r"\w+", stripped)),
        attributes=attributes,
        topic=topic,
        verb=verb,
        objects=_objects(stripped),
        negative=re.search(_NEGATIVE, plain) is not None,
        numeric=re.search(r"\d", plain) is not None,
        changed=re.search(_FILLERS, plain) is not None,
        past=re.search(_PAST, plain) is not None,
        additive=re.search(_ADDITIVE, plain) is not None,
        languages=_languages(plain),
    )


def _languages(plain: str) -> frozenset[str]:
    """Return the script of a text, and for Latin letters the languages of its words for the author, or all languages."""
    for script, letters in _SCRIPTS.items():
        if re.search(letters, plain):
            return frozenset({script})
    latin = [pack for pack in PACKS if pack.language not in _SCRIPTS]
    return frozenset(pack.language for pack in latin if re.search(pack.own, plain)) or frozenset(
        pack.language for pack in latin
    )


def _topic(plain: str) -> tuple[frozenset[str], str]:
    """Return the words of the thing that a statement is about, and its predicate."""
    plain = plain.rpartition(": ")[2] if re.match(r"[\w ]{1,20}: ", plain) else plain
    if re.search(r"[가-힣]", plain):
        return _eastern_topic(_TOPIC_KO.match(plain)), plain.rstrip(" .!").rpartition(" ")[2]
    if re.search(r"[\u3040-\u30ff]", plain):
        return _eastern_topic(_TOPIC_JA.match(plain)), ""
    if re.search(r"[\u4e00-\u9fff]", plain):
        return _eastern_topic(_TOPIC_ZH.match(re.sub(r"^(?:我们|我們|我|咱们)?(?:决定|決定)", "", plain))), ""
    matches = list(_PREDICATE.finditer(plain))
    # "My work number is …": the first word of several may be a noun, and the copula after it is the predicate.
    match = next((each for each in matches if each["copula"]), matches[0] if matches else None)
    if match is None:
        return frozenset(), ""
    words = re.findall(r"\w+", plain[: match.start()].replace("'s ", " "))
    if re.match(r"(?:i|we|ich|wir|yo|je|nous|on (?:est|a|utilise|va)|eu|nós|já)\b", plain) or len(words) > 6:
        return frozenset(), ""
    return frozenset(words) - _WITHOUT_SUBJECT, match["verb"] or ""


def _eastern_topic(match: re.Match[str] | None) -> frozenset[str]:
    if match is None:
        return frozenset()
    topic = match["topic"].strip()
    if _PERSON.match(topic):
        return frozenset()
    topic = _OWN.sub("", topic).strip()
    return frozenset(topic.split() if " " in topic else _bigrams(topic))


def _bigrams(word: str) -> set[str]:
    return {word[at : at + 2] for at in range(len(word) - 1)} or ({word} if word else set())


def _objects(plain: str) -> frozenset[str]:
    latin = " ".join(re.findall(r"[a-zà-ÿěščřžýůťďňœß0-9@.+\-']+", plain))
    objects = {term for term in query_terms(latin) if len(term) > 2 and term not in _PREDICATES}
    for word in re.findall(r"[가-힣]+", plain):
        if len(word) > 1 and not _VERBAL_KO.search(word):
            stem = _ENDINGS_KO.sub("", word)
            objects |= {stem} if len(stem) > 1 else set()
    for run in re.findall(r"[\u3040-\u30ff\u4e00-\u9fff、。]+", plain):
        for piece in _CUT.split(run):
            if piece and len(piece) > 1:
                objects |= _bigrams(piece)
    return frozenset(objects)


def tools_in(plain: str) -> dict[str, str]:
    """Return the kinds of the tools that a text in lower case names, by their names."""
    return {name: _KIND_OF[name] for name in _NAME.findall(plain) if name in _KIND_OF}


def without_tools(plain: str) -> str:
    """Return a text in lower case without the names of tools."""
    return _NAME.sub(lambda found: " " if found[0] in _KIND_OF else found[0], plain)
