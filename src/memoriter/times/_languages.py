r"""The words for times in each language, as data: regular expressions with names in braces for numbers and names.

Where `{n} {unit}` stands, `\s` is optional in Chinese, Japanese and Korean. A form of `with_preposition` counts only
after (in Korean, Chinese and Japanese: before) a word of `at`, `since`, `after`, `before` or `until`, because "May",
"2024" and "Monday" alone may mean something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

Unit = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """How one language names times."""

    hints: str
    """Parts of words, separated by spaces. A text without any of them names no time in this language."""
    periods: Mapping[str, tuple[Unit, int]]
    """Words for a day, week, month or year, with its distance from today's."""
    units: Mapping[Unit, str]
    numbers: str
    """Numbers as words, from 1; like weekdays and months, with spaces between them."""
    ago: tuple[str, ...]
    """Forms with `{n}` and `{unit}` for the day, week, month or year that is so many of them back."""
    past: tuple[str, ...]
    """Forms with `{n}` and `{unit}` for the time from then until today."""
    weekdays: str
    """From Monday."""
    months: str
    alone: tuple[str, ...]
    """Forms with `{weekday}`, `{day}`, `{month}` and `{year}` that name a time wherever they stand."""
    with_preposition: tuple[str, ...] = ()
    of_week: Mapping[str, int] = field(default_factory=dict[str, int])
    """Forms with `{weekday}` for the day of a week, with the distance of that week from today's."""
    at: str = ""
    since: str = ""
    after: str = ""
    before: str = ""
    until: str = ""
    unless: str = ""
    """What follows words that do not name a time after all: "the last week of the project"."""
    distance: str = ""
    """What stands before a word of `after` or `before` that counts from a time: "two weeks before 3 May"."""
    not_after: str = ""
    """The characters before which such words are a part of another word, in a language without spaces."""
    future: str = ""
    """Words of the future. With them, a weekday or a month without a year is not the last one."""
    fillers: str = ""
    """What is left of a question that asks for everything of a time, separated by spaces."""
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words that another language has too, with what must be in the text besides."""
    spaced: bool = True
    """Whether words are separated by spaces."""


ENGLISH = Language(
    hints="day week month year jan feb mar apr may jun jul aug sep oct nov dec 19 20",
    periods={
        r"today(?!['’]\w)": ("day", 0),
        r"yesterday": ("day", -1),
        r"(?:the )?day before yesterday": ("day", -2),
        r"this week": ("week", 0),
        r"(?:the )?(?:last|previous|past) week": ("week", -1),
        r"(?:the )?week before last": ("week", -2),
        r"this month": ("month", 0),
        r"(?:the )?(?:last|previous|past) month": ("month", -1),
        r"(?:the )?month before last": ("month", -2),
        r"this year": ("year", 0),
        r"(?:the )?(?:last|previous|past) year": ("year", -1),
        r"(?:the )?year before last": ("year", -2),
    },
    units={"day": "days?", "week": "weeks?", "month": "months?", "year": "years?"},
    numbers="an?|one two three four five six seven eight nine ten eleven twelve",
    ago=(r"{n} {unit} ago",),
    past=(r"(?:(?:in|over|during|within|for) )?(?:the )?(?:last|past) {n} {unit}",),
    weekdays="monday tuesday wednesday thursday friday saturday sunday",
    months=r"january|jan\.? february|feb\.? march|mar\.? april|apr\.? may june|jun\.? july|jul\.? august|aug\.? "
    r"september|sept?\.? october|oct\.? november|nov\.? december|dec\.?",
    alone=(
        r"(?:the )?{day}(?:st|nd|rd|th)?(?: of)? {month},? {year}",
        r"{month} (?:the )?{day}(?:st|nd|rd|th)?,? {year}",
        r"{month}(?: of|,)? {year}",
        r"(?:this past|last|past) {weekday}",
        r"last {month}",
    ),
    with_preposition=(
        r"(?:early |mid[- ]|late |the (?:start|beginning|middle|end) of )?{month}",
        r"(?:the )?{day}(?:st|nd|rd|th)?(?: of)? {month}",
        r"{month} (?:the )?{day}(?:st|nd|rd|th)?",
        r"(?:early |mid[- ]|late |the (?:year|start of|beginning of|middle of|end of) )?{year}",
        r"{weekday}(?: (?:morning|afternoon|evening|night))?",
    ),
    of_week={r"(?:on )?{weekday} (?:of )?last week": -1, r"last week(?:['’]s)? (?:on )?{weekday}": -1},
    at="in|on|during|from|of(?= last )",
    since="since",
    after="after",
    before="before",
    until="until|till|up to",
    unless=r"\s+(?:of|in the|before last)\b",
    distance="days?|weeks?|weekend|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    future="will|shall|tomorrow|next|upcoming|due|deadline|going to|planned|scheduled|should|must|remind",
    fillers="what which who whom did do does i we you they my our us me have has had was were is are it there the a "
    "an and or of on in at to up all any anything everything something else happen happened happens going went go "
    "done been made make note notes noted daily diary journal log logs entry entries write wrote written record "
    "recorded records show list tell give summarize summarise summary recap work worked working so far new news "
    "about for from since after before until till during please",
)
GERMAN = Language(
    hints="heu gester tag woche monat jahr mittw sonnab jan jän feb mär maer apr mai jun jul aug sep okt nov dez 19 20",
    periods={
        r"heute": ("day", 0),
        r"gestern": ("day", -1),
        r"vorgestern": ("day", -2),
        r"diese[r]? woche": ("week", 0),
        r"(?:die |der )?(?:letzte|vergangene|vorige)[rn]? woche": ("week", -1),
        r"(?:die |der )?vorletzte[rn]? woche": ("week", -2),
        r"diese[nmrs]{1,2} monat": ("month", 0),
        r"(?:den |dem )?(?:letzt|vergangen|vorig)e[nmr] monat": ("month", -1),
        r"(?:den |dem )?vorletzten monat": ("month", -2),
        r"(?:diese[sm]{1,2} jahr|heuer)": ("year", 0),
        r"(?:das |dem )?(?:letzt|vergangen|vorig)e[sn] jahr": ("year", -1),
        r"(?:das |dem )?vorletzte[sn] jahr": ("year", -2),
    },
    units={"day": "tag(?:en?)?", "week": "wochen?", "month": "monat(?:en?)?", "year": "jahr(?:en?)?"},
    numbers="eine[mr] zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    ago=(r"vor {n} {unit}",),
    past=(r"(?:in |während )?(?:den |die |der )?(?:letzten|vergangenen) {n} {unit}",),
    weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
    months="januar|jänner februar|feber märz|maerz april mai juni juli august september oktober november dezember",
    alone=(
        r"{day}\. ?{month},? {year}",
        r"{month} {year}",
        r"(?:letzte[nr]?|vergangene[nr]?|vorige[nr]?) {weekday}",
        r"letzten {month}",
    ),
    with_preposition=(
        r"(?:anfang |mitte |ende )?{month}",
        r"{day}\. ?{month}",
        r"(?:jahre? )?{year}",
        r"{weekday}(?:abend|morgen|nachmittag|vormittag| abend| morgen)?",
    ),
    at="im|am|in|vom|von",
    since="seit(?: dem)?",
    after="nach(?: dem)?",
    before="vor(?: dem)?",
    until="bis(?: zum)?",
    unless=r"\s+(?:des|der|vom|von|im|in der|vor)\b",
    distance=r"tage?n?|woche[n]?|wochenende|monate?n?|jahre?n?|\w+tag",
    future="wird|werden|werde|wirst|morgen|nächste[nrsm]?|kommende[nrsm]?|fällig|geplant|soll(?:en|te)?|muss|erinnere",
    fillers="was wer habe hab hat haben hatte hatten ich wir du sie ist war waren wurde gab es alles mir uns gemacht "
    "getan passiert passierte geschehen geschah los gearbeitet notiert notizen notiz geschrieben aufgeschrieben "
    "einträge eintrag tagebuch zeig zeige mein meine meinen an und so in im am der die das den dem",
)
FRENCH = Language(
    hints="hui hier semaine mois an jour di janv evr évr mars avr mai jui ao sept oct nov déc dec 19 20",
    periods={
        r"aujourd['’]hui": ("day", 0),
        r"hier": ("day", -1),
        r"avant[- ]hier": ("day", -2),
        r"cette semaine": ("week", 0),
        r"(?:la )?semaine (?:dernière|derniere|passée|passee)": ("week", -1),
        r"ce mois(?:-ci)?": ("month", 0),
        r"(?:le )?mois (?:dernier|passé)": ("month", -1),
        r"cette année": ("year", 0),
        r"(?:l['’])?(?:an(?:née)?) (?:dernière?|passée?)": ("year", -1),
    },
    units={"day": "jours?", "week": "semaines?", "month": "mois", "year": "ans?|années?"},
    numbers="une? deux trois quatre cinq six sept huit neuf dix onze douze",
    ago=(r"il y a {n} {unit}",),
    past=(
        r"(?:(?:ces|les|des|dans les|au cours des) )?{n} derni(?:er|ère)s {unit}",
        r"(?:(?:ces|les|des|dans les|au cours des) )?derni(?:er|ère)s {n} {unit}",
    ),
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    months="janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre",
    alone=(r"(?:le )?{day}(?:er)? {month} {year}", r"{month} {year}", r"{weekday} (?:dernier|passé)"),
    with_preposition=(r"(?:début |mi-|fin )?{month}", r"{day}(?:er)? {month}", r"(?:l['’]année )?{year}"),
    at="en|au|le|du|de|pendant",
    since="depuis(?: le)?",
    after="après(?: le)?",
    before="avant(?: le)?",
    until="jusqu['’](?:en|au|à)",
    unless=r"\s+(?:du|des)\b",
    distance="jours?|semaines?|week-end|mois|ans?|années?",
    future="demain|prochaine?|prévue?s?|vais|va|allons|dois|devons|faut",
    fillers="qu ai je j on nous tu a as est ce que c qui quoi fait avons avez ont s il y passé passe était noté écrit "
    "notes note journal tout mes mon ma les la le en au l montre montre-moi travaillé sur et de d du",
    evidence={
        "hier": r"(?i)\b(?:je|j['’]\w+|qu['’]\w+|nous|vous|quoi|quel(?:le)?|avons|avez|est|fait|avec|dans|sur)\b"
    },
)
SPANISH = Language(
    hints="hoy ayer antier seman mes año pasad ltim hace nes nero ebre marz abri mayo juni juli gost tiembr ctubr "
    "viembr ciembr 19 20",
    periods={
        r"hoy": ("day", 0),
        r"ayer": ("day", -1),
        r"(?:anteayer|antier|antes de ayer)": ("day", -2),
        r"esta semana": ("week", 0),
        r"(?:la )?(?:semana (?:pasada|anterior)|pasada semana)": ("week", -1),
        r"este mes": ("month", 0),
        r"(?:el )?(?:mes (?:pasado|anterior)|pasado mes)": ("month", -1),
        r"este año": ("year", 0),
        r"(?:el )?(?:año (?:pasado|anterior)|pasado año)": ("year", -1),
    },
    units={"day": "días?|dias?", "week": "semanas?", "month": "mes(?:es)?", "year": "años?"},
    numbers="una? dos tres cuatro cinco seis siete ocho nueve diez once doce",
    ago=(r"hace {n} {unit}",),
    past=(r"(?:en |durante )?(?:los |las )?últim[oa]s {n} {unit}",),
    weekdays="lunes martes mi[eé]rcoles jueves viernes s[aá]bado domingo",
    months="enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
    alone=(
        r"(?:el )?{day} de {month} (?:de|del) {year}",
        r"{month} (?:de |del )?{year}",
        r"(?:el )?{weekday} pasado",
        r"(?:el )?pasado {weekday}",
        r"el {day} de {month}",
    ),
    with_preposition=(r"{month}", r"{day} de {month}", r"(?:el año )?{year}"),
    at="en|durante",
    since="desde(?: el)?",
    after="después de(?:l)?",
    before="antes de(?:l)?",
    until="hasta(?: el)?",
    unless=r"\s+(?:de|del)\b",
    distance="días?|semanas?|mes(?:es)?|años?",
    future="mañana|próxim[oa]|voy a|vamos a|debo|debemos|previst[oa]|tengo que",
    fillers="qué que hice hicimos hizo he hemos ha pasó paso ocurrió sucedió hay hubo había yo nosotros lo el la los "
    "las en de y mi mis notas nota diario anoté escribí todo trabajé trabajamos muestra muéstrame dime apunté cosas",
)
PORTUGUESE = Language(
    hints="hoje ontem seman mês mes ano passad ltim há atrás janei fever março abri maio junh julh agost setem outub "
    "novem dezem 19 20",
    periods={
        r"hoje": ("day", 0),
        r"ontem": ("day", -1),
        r"(?:anteontem|antes de ontem)": ("day", -2),
        r"(?:esta|nesta|desta|essa|nessa) semana": ("week", 0),
        r"(?:a |na |da )?semana (?:passada|anterior)": ("week", -1),
        r"(?:este|neste|deste|esse|nesse) mês": ("month", 0),
        r"(?:o |no |do )?m[êe]s (?:passado|anterior)": ("month", -1),
        r"(?:este|neste|deste|esse|nesse) ano": ("year", 0),
        r"(?:o |no |do )?ano (?:passado|anterior)": ("year", -1),
    },
    units={"day": "dias?", "week": "semanas?", "month": "m[êe]s(?:es)?", "year": "anos?"},
    numbers="uma? dois|duas três quatro cinco seis sete oito nove dez onze doze",
    ago=(r"há {n} {unit}(?: atrás)?", r"{n} {unit} atrás"),
    past=(r"(?:(?:n|d)?[oa]s )?últim[oa]s {n} {unit}",),
    weekdays="segunda(?:-feira)? terça(?:-feira)? quarta(?:-feira)? quinta(?:-feira)? sexta(?:-feira)? sábado domingo",
    months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    alone=(
        r"(?:(?:o|no|em) )?(?:dia )?{day}º? de {month} de {year}",
        r"{month} (?:de )?{year}",
        r"{weekday} passad[oa]",
        r"no dia {day} de {month}",
    ),
    with_preposition=(r"{month}", r"{day} de {month}", r"{year}"),
    at="em|durante",
    since="desde",
    after="depois de|após",
    before="antes de",
    until="até",
    unless=r"\s+(?:de|do|da)\b",
    distance="dias?|semanas?|m[êe]s(?:es)?|anos?",
    future="amanhã|próxim[oa]|vou|vamos|devo|devemos|previst[oa]|preciso",
    fillers="o que a os as eu nós fiz fizemos fez foi feito aconteceu houve há em no na de e minhas minha meu notas "
    "nota diário anotei escrevi tudo trabalhei trabalhamos mostre mostra me diga coisas",
)
RUSSIAN = Language(
    hints="сегодня вчера недел месяц год лет дн ден назад понед вторн сред четв пятн субб воскр январ феврал март "
    "апрел ма июн июл авгус сентяб октяб нояб декаб",
    periods={
        r"сегодня": ("day", 0),
        r"вчера": ("day", -1),
        r"позавчера": ("day", -2),
        r"(?:на )?этой недел[еи]": ("week", 0),
        r"(?:на )?прошлой недел[еи]": ("week", -1),
        r"(?:на )?позапрошлой недел[еи]": ("week", -2),
        r"в этом месяце": ("month", 0),
        r"в прошлом месяце": ("month", -1),
        r"в позапрошлом месяце": ("month", -2),
        r"в этом году": ("year", 0),
        r"в прошлом году": ("year", -1),
        r"в позапрошлом году": ("year", -2),
    },
    units={"day": "день|дня|дней", "week": "недел[юиь]", "month": "месяца?|месяцев", "year": "год|года|лет"},
    numbers="один|одну два|две три четыре пять шесть семь восемь девять десять",
    ago=(r"{n} {unit} назад", r"{unit} назад"),
    past=(r"(?:за|в) последни[ехй]{1,2} {n} {unit}",),
    weekdays="понедельник вторник сред[ау] четверг пятниц[ау] суббот[ау] воскресенье",
    months="январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]? сентябр[ьяе] "
    "октябр[ьяе] ноябр[ьяе] декабр[ьяе]",
    alone=(
        r"{day}(?:-го)? {month} {year}(?: года?| г\.)?",
        r"{month} {year}(?: года?| г\.)?",
        r"в прошл(?:ый|ую|ое) {weekday}",
        r"{day} {month}",
    ),
    with_preposition=(r"{month}", r"{year} год[уа]", r"{weekday}"),
    at="в|за",
    since="с",
    after="после",
    before="до",
    until="по",
    distance="день|дня|дней|недел[яюьи]|месяца?|месяцев|год|года|лет",
    future="завтра|следующ\\w+|будет|будем|буду|должн\\w+|нужно|планиру\\w+|запланирован\\w+",
    fillers="что я мы делал делала делали сделал сделала сделали было были произошло случилось происходило какие у "
    "меня нас мои заметки записи записал записала дневник всё все покажи над чем работал работала и в на за",
)
KOREAN = Language(
    hints="오늘 어제 그저께 그제 주 달 월 년 해 일 전",
    periods={
        r"오늘": ("day", 0),
        r"어제": ("day", -1),
        r"(?:그저께|그제)": ("day", -2),
        r"(?:이번 ?주|금주)": ("week", 0),
        r"(?:지난 ?주|저번 ?주|전주)": ("week", -1),
        r"(?:지지난 ?주|저저번 ?주)": ("week", -2),
        r"(?:이번 ?달|이달|금월)": ("month", 0),
        r"(?:지난 ?달|저번 ?달|전월)": ("month", -1),
        r"(?:지지난 ?달|저저번 ?달)": ("month", -2),
        r"(?:올해|금년)": ("year", 0),
        r"(?:작년|지난 ?해)": ("year", -1),
        r"(?:재작년)": ("year", -2),
    },
    units={"day": "일", "week": "주일?", "month": "(?:개월|달)", "year": "(?:년|해)"},
    numbers="한|일 두|이 세|석|삼 네|넉 다섯 여섯 일곱 여덟 아홉 열",
    ago=(r"{n} ?{unit} ?전",),
    past=(r"(?:지난|최근) ?{n} ?{unit}(?: ?(?:동안|간))?",),
    weekdays="월요일 화요일 수요일 목요일 금요일 토요일 일요일",
    months=" ".join(rf"0?{number}\s?월" for number in range(1, 13)),
    alone=(
        r"{year} ?년 ?{month} ?{day} ?일",
        r"{year} ?년 ?{month}",
        r"{month} ?{day} ?일",
        r"{month}",
        r"{year} ?년",
        r"지난 {weekday}",
        r"{weekday}(?=에)",
    ),
    of_week={r"(?:지난|저번) ?주 {weekday}": -1, r"이번 ?주 {weekday}": 0},
    at="에는|에도|에|의|은|는|도|중에|중",
    since="부터|이래|이래로",
    after="이후에|이후로|이후|후에|후",
    before="이전에|이전|전에|전",
    until="까지",
    future="내일|다음|예정|계획|할 ?일|해야|마감|까지 ?해",
    fillers="에는 에도 에서 에 의 은 는 이 가 을 를 도 나는 내가 제가 저는 우리가 우리는 우리 나 뭐를 뭐 뭘 무엇을 "
    "무엇이 무엇 무슨 어떤 일이 일을 일들 일 했었지 했지 했더라 했나요 했나 했어요 했어 했는지 했던 한 하고 있었지 "
    "있었어 있었나 있었던 있었 알려줘 보여줘 정리해줘 요약해줘 정리 요약 모두 전부 메모 노트 기록 일기 적었지 적은 "
    "썼지 쓴 것들 것 거 작성한 좀",
    spaced=False,
)
CHINESE = Language(
    hints="今 昨 前 周 週 星期 礼拜 禮拜 月 年 过去 過去 最近",
    periods={
        r"今[天日]": ("day", 0),
        r"昨[天日]": ("day", -1),
        r"(?<!大)前[天日]": ("day", -2),
        r"大前天": ("day", -3),
        r"(?:这|這|(?<![日基根原版样樣书書脚腳课課资資成])本)(?:一)?(?:个|個)?(?:周|週|星期|礼拜|禮拜)": ("week", 0),
        r"(?<!上)上(?:一)?(?:个|個)?(?:周|週|星期|礼拜|禮拜)": ("week", -1),
        r"上上(?:个|個)?(?:周|週|星期|礼拜|禮拜)": ("week", -2),
        r"(?:这|這|(?<![日基根原版样樣书書脚腳课課资資成])本)(?:个|個)?月": ("month", 0),
        r"(?<!上)上(?:个|個)?月": ("month", -1),
        r"上上(?:个|個)?月": ("month", -2),
        r"今年": ("year", 0),
        r"去年": ("year", -1),
        r"(?<!大)前年": ("year", -2),
    },
    units={"day": "天|日", "week": "周|週|(?:个|個)?(?:星期|礼拜|禮拜)", "month": "(?:个|個)月", "year": "年"},
    numbers="一 两|兩|二 三 四 五 六 七 八 九 十 十一 十二",
    ago=(r"{n} ?{unit}(?:之|以)?前",),
    past=(r"(?:最近|过去|過去)(?:的)? ?{n} ?{unit}",),
    weekdays="WD一 WD二 WD三 WD四 WD五 WD六 WD[日天]".replace("WD", "(?:周|週|星期|礼拜|禮拜)"),
    months="(?:0?1|一)月 (?:0?2|二)月 (?:0?3|三)月 (?:0?4|四)月 (?:0?5|五)月 (?:0?6|六)月 (?:0?7|七)月 (?:0?8|八)月 "
    "(?:0?9|九)月 (?:10|十)月 (?:11|十一)月 (?:12|十二)月",
    alone=(
        r"{year} ?年 ?{month} ?{day} ?(?:日|号|號)",
        r"{year} ?年 ?{month}(?:份)?",
        r"{month} ?{day} ?(?:日|号|號)",
        r"{month}(?:份)?",
        r"{year} ?年",
    ),
    of_week={
        r"(?<!上)上(?:个|個)?{weekday}": -1,
        r"上上(?:个|個)?{weekday}": -2,
        r"(?:这|這|本)(?:个|個)?{weekday}": 0,
    },
    since="以来|以來|开始|開始|起",
    after="以后|以後|之后|之後",
    before="以前|之前",
    until="为止|為止",
    unless="[末刊号度底代初式版期边邊围圍身岁歲转轉到龙龍革雨晴分]|天(?![气氣])|年[级級]|往|[0-9]",
    not_after="哪几幾多晚早马馬路网網线線以每下",
    future="明天|后天|後天|下周|下週|下个|下個|下星期|计划|計劃|打算|将|將|要做|待办|待辦|安排",
    fillers="我们 我們 我 咱们 你 做过 做過 做 干 幹 了 过 過 什么 什麼 啥 事情 事 哪些 有 发生 發生 写 寫 记录 記錄 "
    "记 記 的 吗 嗎 呢 都 在 工作 笔记 筆記 日记 日記 总结 總結 一下 所有 内容 內容 些 里 裡 请 請 列出",
    spaced=False,
)
JAPANESE = Language(
    hints="今 昨 本日 きょう きのう おととい おととし 週 月 年 曜 火曜 水曜 日 去年 直近 過去",
    periods={
        r"(?:今日|本日|きょう)": ("day", 0),
        r"(?:(?<!一)昨日|きのう)": ("day", -1),
        r"(?:一昨日|おととい)": ("day", -2),
        r"今週": ("week", 0),
        r"(?<!先)先週": ("week", -1),
        r"先々週": ("week", -2),
        r"今月": ("month", 0),
        r"先月": ("month", -1),
        r"先々月": ("month", -2),
        r"今年": ("year", 0),
        r"(?:去年|(?<!一)昨年)": ("year", -1),
        r"(?:一昨年|おととし)": ("year", -2),
    },
    units={"day": "日", "week": "週間?", "month": "(?:か|ヶ|カ|ケ|ヵ|箇)月", "year": "年"},
    numbers="一 二 三 四 五 六 七 八 九 十",
    ago=(r"{n} ?{unit}前",),
    past=(r"(?:この|過去|直近|ここ)(?:の)? ?{n} ?{unit}間?",),
    weekdays="月曜日? 火曜日? 水曜日? 木曜日? 金曜日? 土曜日? 日曜日?",
    months=" ".join(f"0?{number}月" for number in range(1, 13)),
    alone=(
        r"{year} ?年 ?{month} ?{day} ?日",
        r"{year} ?年 ?{month}",
        r"{month} ?{day} ?日",
        r"{month}",
        r"{year} ?年",
        r"(?:この)?前の{weekday}",
        r"{weekday}(?=に)",
    ),
    of_week={r"(?<!先)先週の?{weekday}": -1, r"今週の?{weekday}": 0},
    at="には|にも|に|は|の|も|中に|中",
    since="以来|から",
    after="以降|以後|の後|後",
    before="以前|の前|より前|前",
    until="まで",
    unless="[末号度代初式版底雨晴分]|年生",
    not_after="来翌毎再哪几幾何",
    future="明日|来週|来月|来年|次の|予定|つもり|すべき|締め切り|締切",
    fillers="に は が を の も で と へ 私 僕 俺 我々 何を 何が 何 なに どんな こと 事 し た まし か ました しました "
    "した やった やりました やって いた いました あった あり ありました 起きた 起こった 書いた 書きました 記録 メモ "
    "ノート 日記 まとめて 教えて 見せて ください 全部 すべて 仕事 作業 について",
    spaced=False,
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, RUSSIAN, KOREAN, CHINESE, JAPANESE)
