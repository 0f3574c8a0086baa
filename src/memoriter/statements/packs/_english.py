"""Cues of English."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import LanguagePack

_WE = r"\b(?:i|we)(?: (?:\w+ly|also|just|still|always|never|often|much|far|both|all|do|tend to|too|now))*"
_BE = r"\b(?:i'?m|i am|we'?re|we are|i was|i have been|i'?ve been|we'?ve been)(?: (?:\w+ly|also|both|all|still|now))*"
_OF_THE_MOMENT = (
    r"(?! (?:(?:current|latest|last|first|next|new|other|only|main|function|branch|hook|component|pipeline|method|variable|page|app|loop|terminal|question|problem|issue|point|guess|idea|plan|bug|error|code"
    r"|test|tests|script|function|query|output|screen|program|terminal|build|file|loop|class|change|request|answer|turn|bad"
    r"|fault|mistake|understanding|example|input|concern)\b))"
)
_DAY = r"(?:day|week|month|year|morning|evening|night|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday|quarter)"
_STEP = (
    r"(?:use|answer|reply|respond|write|call|address|give|show|send|commit|push|add|include|put|format|run|ask|start|end|keep|speak"
    r"|sign|cite|explain|suggest|mention|recommend|translate|name|talk|assume|deploy|log|store|book|schedule|make|quote|spell)"
)
_I = r"\b(?:i|we)(?:'(?:m|ve|d|ll|re))?\b(?!-)"
_BEFORE = (
    r"(?:after|as|at|before|besides|beyond|by|despite|during|each|even|ever|every|for|from|in|last|most|next|of|on|once|only|outside|per"
    r"|since|some|starting|through|to|unlike|until|when|whenever|where|wherever|while|with|within|without)\b"
)
"""The beginning of an adverbial, after which the subject comes."""
_LINK = (
    r"(?:\w+ly|also|although|and|as|because|been|before|but|can|could|did|do|here|how|however|if|nor|now|once|only|or|otherwise|plus|should|since|so|than|that|then|there|though|till"
    r"|today|too|unless|until|what|whatever|when|whenever|where|wherever|whether|which|while|who|why|will|would|yet|have|am|are)"
)
"""A word after which a clause with a subject of its own begins."""
_NEW_TOOL = r"(?!(?:the|this|that|these|those|it|them|your|my|our|its|another|an?|some|main|master|dev|develop|root|branch|tab|plan|option|version|dark|light|full|only|something|both)\b)"

ENGLISH = LanguagePack(
    language="en",
    name="English",
    own=r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|we'll|us|our|ours)\b",
    remember=(
        r"\bfor later(?: use)?:|\bone (?:more )?thing (?:to know|for later|you should know)\b",
        r"(?<!\byou )(?<!\bi )(?<!\bwe )(?<!n't )(?<!\bcan )\bremember\b(?! (?:to|when|how|what|which|who|where|why|correctly|me)\b)",
        r"\bplease remember\b|\b(?:do not|don't|never) forget\b(?! to\b)|\bkeep (?:that|this|it)? ?in mind\b|\bbear (?:that |this )?in mind\b",
        r"\b(?:make|take) a? ?note\b|\bnote (?:that|down|for later)\b|^note:|\bnote to self\b|\bfor the record\b|\bfyi\b",
        r"\bfor your (?:information|reference)\b|\bfor (?:future|later) reference\b|\bjust so (?:you|that you) know\b",
        r"\b(?:save|store|memori[sz]e|record) (?:this|that|it|the following)\b(?! (?:as|to|in|file|under)\b)|\byou should know\b",
    ),
    preference=(
        r"\b(?:in|for|across) (?:all|every one|each) (?:of )?(?:my|our) \w+|\b(?:don't|do not|stop|no more) (?:\w+ ){1,5}(?:again|any ?more|ever|in your (?:answers|replies|responses|messages))\b|, always[,.]",
        rf"{_WE}(?:'d| would)?(?: (?:much|far|really|always))* (?:prefer|like|love|hate|dislike|adore|enjoy|loathe|detest|favou?r"
        r"|can't stand|cannot stand|can't bear|don't like|do not like|don't enjoy|avoid|swear by|can't tolerate|don't care for)\b"
        r"(?! (?:you|to (?:know|see|ask|thank)|it|this|that|these|those|the (?:idea|way|look|sound)|how|your|what|where|when|everything|all of)\b)(?<!would like)(?<!'d like)",
        r"(?:\bi|\bwe)(?:'d| would) (?:much |far |always )*rather\b",
        rf"{_BE}(?: not| never)? (?:a (?:\w+ )?(?:fan|lover) of|fond of|keen on|into|crazy about|partial to|an? \w+ person\b)",
        r"\b(?:my|our) (?:\w+ |all-time )?(?:favou?rites?|preferred|preference|go-to|pet peeve)\b",
        r"\b(?:suits me|works best for me|isn't for me|not my (?:thing|cup of tea)|drives me (?:mad|crazy|nuts))\b",
        r"\b(?:i|we) (?:only|never|always|usually|rarely|hardly ever|mostly|don't|do not|no longer|generally|exclusively) (?:ever )?"
        r"(?:eat|drink|use|read|watch|work|take|answer|travel|drive|fly|wear|buy|write|code|listen|cook|play|shop|go|do|accept|check)\b",
        r"\b(?:from now on|going forward|as a rule|at all times|unless i say otherwise)\b",
        r"\b(?:every|each) time you\b|\bby default,? (?:answer|reply|write|use|give|show|assume|explain)\b|\b(?:answer|reply|respond|write|assume|explain|speak)\b.*\bby default\b",
        r"^(?:please,? )?no more (?:\w+ ){1,4}(?:in|from)\b|^(?:please,? )?(?:no more|stop \w+ing) (?!the (?:server|job|process|build|loop)|it\b|this\b)",
        rf"(?:^|[,;:.] |\bplease |\band |\bto )(?:always|never) {_STEP}\b|\b{_STEP} (?:\w+ ){{0,4}}always\b(?=[.!]?$)",
        r"\bwhen(?:ever)? you (?:write|answer|reply|suggest|explain|translate|recommend|commit|review|give|show)\b",
        r"\bno more (?:\w+ ){1,3}(?:please|for me)\b|\bstick (?:with|to) \w+ in (?:my|our|all)\b",
    ),
    decision=(
        r"\b(?:outcome|upshot|conclusion|verdict|bottom line|result) (?:is|was) (?:that )?(?:i|we)\b|\bended up (?:choosing|going with|picking|deciding)\b",
        r"\b(?:i|we|i've|we've|i have|we have|the team|our team|the board|management|they and i)(?: (?:\w+ly|all|both|just|now|have|has))*"
        r" (?:decided|chose|chosen|agreed|settled on|opted|committed to|picked|selected|resolved|voted|concluded)\b",
        r"\b(?:we're|i'm|we are|i am|we'll be|i'll be) (?:\w+ )?(?:going (?:with|for|ahead with)|moving to|switching to|migrating to|sticking with"
        r"|dropping|ditching|replacing|adopting|abandoning)\b",
        r"\b(?:final )?decision(?: is| was)?:|\bthe decision (?:is|was|stands)\b|\bit'?s (?:been )?(?:decided|settled|final)\b",
        r"\bmade up (?:my|our) minds?\b|\bthe plan is (?:now )?to\b",
        r"\b(?:we'll|we will|i'll|i will) (?:use|go with|stick with|keep using|adopt|move to|switch to|drop)\b",
    ),
    switch=(
        rf"\b(?:i|we|i've|we've|i have|we have|our (?:team|company)|the team)(?: (?:\w+ly|all|both|just|now|have|has))* (?:switched|migrated|changed over|moved over|converted) (?:\w+ly )?(?:over )?to {_NEW_TOOL}(?=\w)",
        rf"\b(?:i|we) now (?:use|run on|work with|rely on) {_NEW_TOOL}(?=\w)|(?:^|, )now,? (?:i|we) (?:use|run on|work with|rely on) {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        r"\b(?:my|our)(?: [\w'-]+){0,4}? (?:names?|e-?mail(?: address)?|number|phone(?: number)?|address|handle|user ?name|nickname|initials)"
        r"(?: at \w+)? (?:is|are)\b",
        r"\bmy name'?s\b|\b(?:people |everyone |friends |just |please |you can )?call me [\w']+|\bi'?m called\b|\bi go by\b",
        r"(?:\bmy|\bour)(?! (?:\w+ )?(?:function|method|variable|class|hook|handler|callback|component|endpoint|api)\b)(?: [\w\'-]+){1,5}? (?:is|are|was) (?:called|named)\b|\b(?:reach|contact|email|write to) (?:me|us|my|our)\b(?=.*(?:@|\+\d))",
    ),
    fact=(
        r"\b(?:i|we|my \w+) (?:can't|cannot|can not|mustn't|must not|am not allowed to|is not allowed to) (?:eat|drink|have|tolerate|digest) (?!a |the |it|this|that|to|any (?:idea|clue))\w+",
        r"\bwe(?:'re| are) an? (?:[\w-]+ ){0,3}(?:startup|start-up|company|team|agency|charity|school|family|bakery|studio|firm|shop|couple)\b",
        r"\b(?:i've|i have|i|we've|we) (?:just )?(?:become|became|adopted|welcomed|got) (?:an? |our |my )?(?:dad|mum|mom|father|mother|parents?|puppy|kitten|baby|\w+ child)\b",
        rf"{_WE} (?:live|work|teach|study|studied|own|speak|were born|was born|grew up|moved|come from|commute|volunteer|graduated|got married"
        r"|have been (?:\w+ing|married|vegan|vegetarian)|have (?:two|three|four|five|six|\d+|diabetes|asthma|celiac|children|kids|twins"
        r"|an? (?:\w+ )?(?:son|daughter|wife|husband|brother|sister|dog|cat|child|baby|allergy|phd|degree|house|flat|car|garden|team of)))\b",
        rf"{_WE} (?:run|manage|lead|head|maintain|host|deploy|release|ship|meet|use|keep|store) (?:a |an |the |our |my |on |every |all |at |two |three |\w+ for )",
        rf"{_BE} (?:not )?(?:allergic|vegetarian|vegan|diabetic|lactose|coeliac|celiac|married|divorced|retired|left-handed|colou?r-?blind|based|from"
        r"|originally|responsible for|in charge|born|pregnant|deaf|partly|afraid of"
        r"|(?:an?|the) (?!bit|little|fan|lot|few|fool|idiot|big|huge|mess|wreck)(?:[\w-]+ ){0,3}?(?:\w+(?:er|or|ist|ian|ant|ent|eer|man|woman|person)"
        r"|nurse|vet|midwife|clerk|guide|coach|surgeon|mechanic|chef|cook|pilot|judge|owner|head|lead|chief|founder|parent|mother|father|native|citizen|twin)\b)",
        rf"(?:\bmy|\bour){_OF_THE_MOMENT}(?: [\w'-]+){{1,5}}? (?:is|are|has|have|runs?|lives?|works?|expires?|starts?|ends?|closes?|opens?|sits?|stands?"
        r"|uses?|goes|moved|meets?|was born|died|takes place|belongs?|turns|teaches|studies|speaks|suffers|needs)\b",
        rf"\b(?:every|each|on) (?:other )?{_DAY}s?\b(?=.*\b(?:we|our|my|i|deploys?|meets?|runs?|goes?|is|are)\b)"
        rf"|\b(?:we|our|my|i|deploys?|releases?|meeting|standup)\b.*\bevery (?:other )?{_DAY}\b",
    ),
    question=(
        r"^(?:and |so |but |ok,? |hey,? )?(?:do|does|did|is|are|was|were|can|could|would|should|will|have|has|shall|may|am|aren't|isn't|don't you) "
        r"(?:i|you|we|they|he|she|it|this|that|these|those|there|my|our|the|your|someone|anyone)\b",
        r"^(?:and |so |but )?(?:what|which|who|whose|whom|where|when|why|how)\b(?!ever)(?!.*,.*\b(?:i|we|my|our)\b)|\bi (?:wonder|am wondering|was wondering)\b",
    ),
    request=(r"\b(?:can|could|would|will) you (?:please )?(?:remember|note|keep in mind|make a note|save)\b",),
    supposition=(
        r"\b(?:imagine|suppose|supposing|assume|assuming|pretend|hypothetically|let's (?:say|assume|imagine|pretend)|what if|say (?:that )?i|for the sake of)\b",
        r"\bif (?:i|we|my|our) (?:were|was|had|lived|used|could|would|moved|wanted|liked|loved|hated|worked|ever|decided|chose|switched|needed)\b",
        r"\b(?:role-?play|act as|play the (?:role|part)|you(?:'re| are) (?:an? )?\w+ (?:agent|customer|interviewer))\b|\bi (?:would|might|could) (?:probably|then)\b",
    ),
    forget=(
        r"\b(?:do not|don't|no need to|needn't|please don't|never) (?:\w+ )?(?:remember|save|store|record|memori[sz]e|note|keep)\b(?! \w+ (?:without|unless|before))",
        r"\bforget (?:what|that|it|this|about|everything|the last|my last)\b(?<!don't forget that)(?<!not forget that)(?<!don't forget what)"
        r"(?<!don't forget it)(?<!don't forget this)(?<!never forget that)",
        r"\b(?:off the record|scratch that|never mind|just kidding|i was joking|only joking|between you and me)\b|\bnot to be (?:saved|stored|remembered)\b",
    ),
    report=(
        rf"^(?:(?!{_I}).)*\b(?!(?:is|was|so|now|given|provided|except|important|sure)\b)[\w']+ that (?:{_I}|my\b|our\b)|^(?:and |but |so )?(?:he|she|they)\b.*(?:{_I}|\bmy\b|\bour\b)",
        rf"^(?!{_I}|{_BEFORE}|(?:and|but|so|if)\b)(?:(?!{_I})[\w'-]+ )+(?!{_I})[\w'-]+, {_I}",
        rf"(?:^|[,;:.!?] )(?!(?:{_BEFORE})(?: [\w'-]+){{0,3}} {_I})(?:(?!{_I})[\w'-]+ )+?(?!(?:{_LINK})\b)[\w'-]+ {_I}",
        r"\b(?:according to|apparently|allegedly|supposedly|rumou?r has it|i(?:'ve)? (?:heard|read) that|they say|people say|it is said|(?:me|us) to (?:always|never))\b",
        r"\b(?:some|most|many|other|few|lots of|plenty of) (?:people|users|folks|developers|companies)\b|\beveryone\b|\bnobody\b",
    ),
    passing=(
        r"\b(?:fail(?:s|ed|ing)|crash(?:es|ed|ing)?|broken|(?:doesn't|does not|don't|won't|isn't|not) (?:work|compile|build|run|working|compiling|building|running|loading)|no idea why|(?:don't|do not) (?:know|understand) why|undefined|(?:in|on|for) this \w+|be right back|talk later)\b",
        r"\b(?:today|tonight|right now|at the moment|for now|just now|this (?:time|once|morning|afternoon|evening|slide|function|line|image|one|paragraph"
        r"|sentence|email|draft|version|task|meal))\b|\bjust this\b",
        r"^oh,? (?:great|wonderful|fantastic|perfect|lovely|joy)\b|\b(?:love|adore) it when\b",
        r"\b(?:my|our) (?:[\w-]+ )?(?:pr|pull request|merge request|branch|build|pipeline|server|service|site|deploy(?:ment)?|job|laptop|computer|changes?|commit|ticket|ci) (?:is|are|was) (?:\w+ ){0,2}?"
        r"(?:open|ready|red|green|down|up again|slow|stuck|behind|ahead|stale|merged|running|hanging|out of date|done|offline)\b",
        r"\bprefer the (?:first|second|third|last|other|new|old) (?:one|option|version|variant|draft)\b|\bi have (?:\w+ ){1,3}open\b|\b(?:i|we) (?:just )?(?:moved|renamed|deleted|copied|changed) the (?:\w+ )?(?:files?|folder|function|class|code|script|tests?|config|button|module|component|variable|imports?|column|table)\b",
        r"\b(?:i'll|i will|we'll|we will|let's|i|we) (?:use|take|go with|choose|pick) (?:your|option|variant|version|the (?:\w+ )?(?:option|variant|version|design|draft|proposal|suggestion|one|approach))\b",
        r"\b(?:use|have|need|want) (?:a|the|only the) (?:\w+ )?(?:loop|column|row|field|button|page|form|header|list|dates?|table|menu|line) ?(?:here|to|,)|\bonly use the \w+ (?:column|row|field|line)\b|\bi (?:want|need) the \w+ to be\b|\bafter the update\b|\bwhat can i do\b",
        r"\bi(?:'m| am) (?:so |really |a bit |very |too )?(?:tired|hungry|bored|sleepy|sick|confused|stuck|lost|busy|late|done|back|here|sorry|glad|happy|sure|afraid i|curious|trying|looking|getting|seeing|going to)\b",
    ),
    text_work=(
        r"\b(?:fix|correct|check|proofread|translate|rewrite|rephrase|paraphrase|summari[sz]e|shorten|polish|edit|continue|complete|improve)\b.*"
        r"\b(?:grammar|spelling|sentence|paragraph|text|poem|story|translation|letter|following|into \w+)\b",
        r"\bwrite (?:me )?(?:a|an|the|my) (?:\w+ ){0,2}(?:story|poem|bio|biography|letter|speech|song|dialogue|essay|monologue|scene|post|tweet|novel)\b",
        r"\b(?:character|protagonist|narrator|hero|heroine)\b",
    ),
    task=(
        r"[,;] \w+ (?:it|them) (?:with|by|to|into|as|for|in|from)\b|[,;] \w+ (?:it|them)[.!]?$",
        r"(?:^|[,;:] (?:so |and |then |now |please |just )*|\band (?:then|please|now) |\bplease (?:just )?|\b(?:can|could|would) you )(?:add|adapt|adjust|apply|build|change|check|clean|close|combine|compare|convert|copy|create|debug"
        r"|delete|deploy|disable|drop|enable|ensure|explain|extract|find|finish|fix|format|generate|help|implement|improve|insert|install|list|look|make|merge|move|open|optimi[sz]e|plot|print|publish|push|put|rebase|refactor|reformat"
        r"|release|remove|rename|replace|reset|review|rewrite|run|search|set|show|simplify|sort|split|start|stop the|summari[sz]e|swap|test|throw|translate|try|turn|undo|update|upgrade|wrap|write|read|review)\b(?! (?:is|are|was|were|for|and)\b)",
    ),
    lasting=(
        r"\b(?:always|never) \w+ me\b|\bevery (?:other )?(?:day|week|month|quarter|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b(?!.*\b(?:automate|script|cron)\b)",
        r"\b(?:from now on|going forward|in (?:the )?future|as a rule|at all times|unless i say otherwise|whenever|(?:every|each) time you|any ?more|ever again|again|no more)\b",
        r"\b(?:always|never) (?:use|answer|reply|respond|write|call|address|give|show|include|sign|cite|explain|suggest|mention|recommend|translate|name|talk|assume|quote|spell|add|put|start|end|ask|format|commit|push|deploy|run)\b(?!.*\b(?:page|button|header|method|here)\b)",
        r"\bin (?:all|any|every|each|your|my|our) \w+|\b(?:all|any|every) \w+ (?:you|for me|of mine)\b|\bfor me\b|\bwhen you (?:write|answer|reply|suggest|explain|translate|recommend|commit|review|give|show)\b",
        r"\b(?:i'm|i am|my \w+ is|my \w+'s|we're|we are) (?:\w+ )?(?:an? (?:[\w-]+ )*\w+|allergic|vegetarian|vegan|diabetic|coeliac|celiac|deaf|blind|colou?r-?blind|left-handed|dyslexic)\b|\b(?:can't|cannot) (?:eat|drink|have)\b",
        r"\b(?:i|we) (?:live|was born|were born|grew up|work (?:as|at|for)|prefer|love|hate|dislike|can't stand|enjoy|detest|'d rather)\b|\b(?:my|our) (?:wife|husband|partner|son|daughter|mother|father|mum|mom|dad|brother|sister|kids?|children|boss|dog|cat|name)\b",
        r"\b(?:decided|agreed|settled on|opted for|chose|voted)\b",
    ),
    workpiece=(
        r"\b(?:my|our) (?:[\w-]+ ){0,2}?(?:code|script|branch|pr|pull request|build|pipeline|server|tests?|files?|folder|function|page|config|log|data|table|query|draft|app|changes|migration|dockerfile|csv|spreadsheet)\b",
    ),
)
