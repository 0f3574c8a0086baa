"""Detect sentences in ten languages that are addressed to a model and try to override its instructions.

This is a sieve that favours precision, because ordinary notes mention prompts, rules and tools. It looks for an order
to drop instructions, to take another role, to hide something from the user, or to reveal a secret. Texts are compared
in their folded form, so accents, other alphabets, blanks and signs between letters hide little.
"""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the alphabet of its language

from __future__ import annotations

import html
import re
from functools import lru_cache

from memoriter.workspace import folded, skeleton, without_digits

_INSIDE_WORDS = re.compile(r"<[^<>]{0,200}>")
_GAPS = re.compile(r"[^\w.!?:]+|_+")
_SPACED = re.compile(r"\b\w(?:[ .]\w\b){4,}")
_SIGNS = re.compile(r"[\W_]+")

_NOT_ORDERED = (
    r"(?<!\bnot )(?<!\bnever )(?<!\bwe )(?<!\bthey )(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bcan )(?<!\bmay )(?<!n t )"
)
_NOT_ABOUT_A_PRODUCT = "".join(
    rf"(?<!\b{subject} {verb} )"
    for subject in ("bot", "app", "page", "form", "site")
    for verb in ("must", "should", "will")
)
"""A rule for a program that the owner writes, such as "the bot must never tell the user the price"."""
_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|overrule|neglect|dismiss|circumvent|abandon|unlearn|discard|violate"
    r"|set aside|pay no (?:attention|heed) to|(?:do not|don t|dont|stop|no longer|never) (?:follow|obey|comply with|adhere to"
    r"|listen to|heed|respect|apply|following|obeying))"
)
_WHOSE = (
    r"(?:all|any|every|everything|your|previous|previously|prior|above|earlier|preceding|foregoing|former|past|existing"
    r"|original|initial|safety|security|system|developer|these|those|other|hidden)"
)
_JOIN = r"(?:the|of|and|or|that|this|my|our|its|content|core|internal|given|current|old|from|in|to|ethical|user)"
_RULES = (
    r"(?:instructions?|rules?|prompts?|guidelines?|directives?|directions?|constraints?|restrictions?|polic(?:y|ies)"
    r"|guardrails?|safeguards?|limitations?|programming|training|commands?|orders?|messages?|context|alignment|filters?)"
)
_YOU_ARE = (
    r"(?! (?:subscribed|registered|signed|logged|connected|able|ready|entitled|enrolled|eligible|free to|entering|leaving"
    r"|welcome|done|set|in the queue|on the (?:list|waiting)|a member|invited|inscrit|abonn|registrado|iscritt))"
)
_FORM = (
    # How answers look, after "from now on answer": no order to drop instructions, unless a role or more follows.
    r"(?!(?: (?:answer|reply|respond|write|speak|always|without|with|in|only|no|any|just|using|use|short|brief|plain|simple|complete"
    r"|responder|escrever|escribir|responde|sem|sin|com|con|em|en|so|solo|apenas|unicamente|somente|usar|phrases|frases|frasi|respuestas|respostas|reponses"
    r"|repondre|ecrire|sans|avec|uniquement|seulement|de|d|des|rispondi|senza|brevi|un|uma|una|une))*"
    r" (?:emojis?|emoticon(?:e?s)?|smileys?|bullet points?|bullets|lists?|listas|listes|liste|tables?|tablas|tabelas|tableaux|markdown"
    r"|headings?|exclamation marks?|abbreviations?|jargon|sentences?|paragraphs?|words|curtas|cortas|courtes|breves?|simples"
    r"|english|ingles|anglais|inglese|german|aleman|alemao|allemand|tedesco|french|frances|francais|francese|spanish|espanol|espanhol"
    r"|espagnol|spagnolo|portuguese|portugues|portugais|portoghese|italian|italiano|italien|czech|checo|tcheco|tcheque|ceco"
    r"|korean|coreano|coreen|chinese|chino|chines|chinois|cinese|japanese|japones|japonais|giapponese)\b"
    r"(?![^.!?:]*\b(?:as|like|como|comme|come|ignor\w*|forget|rules|restrictions|limits)\b))"
)
_ENGLISH = (
    rf"{_NOT_ORDERED}\b{_DROP} (?:(?:{_JOIN}) ){{0,3}}{_WHOSE}(?: (?:{_WHOSE}|{_JOIN})){{0,5}} {_RULES}\b",
    rf"{_NOT_ORDERED}\b(?:ignore|disregard|forget) (?:all |everything |anything )(?:of )?(?:the |that |i |you )*"
    r"(?:above|before|previous|prior|were told|said before|was said|have been told|told you|know)",
    rf"\byou are now\b{_YOU_ARE}(?= \w)|\bfrom now on you (?:are|act|have|(?:will|must|shall|respond)\b{_FORM})\b",
    r"\bfrom this (?:point|moment) (?:on|onward|forward) you (?:are|will|must|shall)\b",
    r"\b(?:pretend|imagine|act as if|behave as if) (?:to be |that )?(?:you are |you have |you re )?(?:an? |no )?"
    r"(?:unrestricted|uncensored|jailbroken|evil|dan\b|restrictions|rules|root\b|the (?:system|developer|admin)|not an ai)",
    r"\bact as (?:an? )?(?:unrestricted|uncensored|jailbroken|dan\b|evil|root\b|the (?:system|developer|administrator))",
    r"\b(?:your|the assistant s) (?:new|real|true|actual|only|secret) (?:role|instructions?|task|goal|objective|identity"
    r"|system prompt|rules|mission|purpose|master) (?:is|are|now)\b",
    r"\bnew (?:system )?(?:instructions?|directives?|prompt|rules) ?: ?(?:you|ignore|forget|from now|the assistant|do|always"
    r"|never|reply|respond|send|call|run|act|disregard|reveal|tell)\b",
    r"\b(?:enter|enable|activate|switch (?:in)?to|engage|you are in|go into) (?:the )?(?:developer|dan|god|jailbreak|admin"
    r"|debug|unrestricted|sudo|root) mode\b(?! (?:on|of|in) (?:the|my|our))",
    rf"{_NOT_ABOUT_A_PRODUCT}\b(?:do not|don t|dont|never) (?:tell|inform|notify|alert|warn|mention (?:this|it|that|any of this) to"
    r"|reveal (?:this|it|that) to|show (?:this|it) to) (?:the |your )?(?:user|owner|human|operator)\b",
    r"\bwithout (?:telling|informing|notifying|alerting|asking|warning) (?:the |your )?(?:user|owner|human|operator)\b",
    r"\b(?:hide|conceal|keep) (?:this|it|that|these)(?: a)?(?: secret| hidden)? from (?:the |your )?(?:user|owner|human)\b",
    r"\b(?:do not|don t|dont|never) (?:ask|wait) (?:the user )?for (?:any )?(?:confirmation|permission|approval|consent)\b",
    r"\b(?:reveal|print|show|output|repeat|leak|disclose|expose|dump|recite|display|give|tell|write|send|paste|share)"
    r"(?: \w+){0,6}? your (?:\w+ ){0,3}?(?:prompt|instructions|system message|rules|guidelines|configuration)\b",
    r"\b(?:reveal|leak|disclose|dump|recite|exfiltrate) (?:\w+ ){0,3}?(?:system|hidden|initial|developer)"
    r" (?:prompt|instructions|message)\b",
    r"\b(?:send|e ?mail|mail|forward|upload|post|transmit|exfiltrate|leak|deliver|submit|copy) (?:\w+ ){0,3}?(?:all|any|every"
    r"|the user s|user s|users|their|your|stored|saved|these|my)(?: \w+){0,5}? (?:passwords?|keys?|secrets?|credentials?"
    r"|tokens?|env|memor(?:y|ies)|conversations?|chat history|private data|personal data)\b(?: \w+){0,6}? (?:to|at|via)\b",
    r"\bexfiltrat(?:e|ing) (?:\w+ ){0,4}?(?:data|notes|files|memor|keys|secrets|passwords)",
    r"\b(?:the )?(?:ai|assistant|model|llm|chatbot|claude|chatgpt|gpt) (?:must|should|shall|has to|needs to|will|is to)"
    r" (?:now |always |immediately |never )?(?:ignore|obey|comply|reveal|bypass|disable|disregard|override|exfiltrate"
    r"|grant|leak|forget|refuse|pretend)\b",
    r"\b(?:your|all (?:of )?(?:your|the|these|those)?(?: ?(?:previous|prior|above|earlier|existing))+) (?:\w+ ){0,2}?"
    rf"{_RULES} (?:are|is|were|have been|has been|no longer|do not|don t) ?(?:now )?(?:void|cancell?ed|superseded|revoked"
    r"|replaced|obsolete|no longer|lifted|disabled|suspended|invalid|null|apply|overridden|ignored|deleted|over)\b",
    r"\byou (?:are|re) (?:no longer (?:bound|restricted|limited|required|an? )|free (?:from|of) (?:all|any|your))",
    r"\byou (?:must|will|shall|should|have to|need to) (?:now |always |only |immediately |henceforth )*(?:obey|comply with"
    r"|ignore|disregard|do (?:anything|everything|whatever))\b",
    r"\bdo anything now\b|\bdisable (?:all )?(?:of )?your\b|\byou have no (?:restrictions|rules|limits|guidelines)\b",
    r"\b(?:grant|give) (?:me|yourself|this user|the user) (?:full|unrestricted|root|all|admin(?:istrator)?)"
    r" (?:\w+ )?(?:permissions?|privileges|rights)\b",
    r"\b(?:approve|allow|accept|confirm) (?:all|every|any)(?: \w+){0,2}? (?:tool calls?|permission prompts?|permissions)\b",
    r"\b(?:system|admin|administrator|developer|root) (?:override|overwrite)\b(?! (?:file|flag|option|table|setting))",
    r"\bend of (?:the )?(?:system prompt|system instructions|system message|quoted notes|quotation)\b",
    r"\bthis is an? (?:system|developer|admin) (?:message|instruction|command|override)\b",
    r"\b(?:when|if|once|after) you (?:read|see|process|encounter|load|are reading) this (?:\w+ ){0,4}?(?:call|run|execute"
    r"|send|delete|ignore|reply|respond|output|print|say|forward|use|invoke|do|must|you)\b",
    r"\b(?:delete|erase|wipe|destroy|overwrite) (?:all|every|everything in) (?:of )?(?:the |your |this |user s |user )+"
    r"(?:memor(?:y|ies)|notes)\b",
    r"\bdo not follow (?:the )?(?:system|developer)\b",
    rf"\bfrom now on (?:act|behave|operate|(?:respond|answer|reply|speak)\b{_FORM}) (?:as|like|without|only)\b",
    r"\byou (?:will|must|shall|should) (?:now |henceforth )(?:act|behave|respond|operate|speak) (?:as|like)\b",
    rf"{_NOT_ORDERED}\b(?:ignore|disobey|disregard|stop (?:obeying|following|serving|helping)) the (?:user|owner|human)\b"
    r"(?! (?:agent|guide|manual|interface|story|stories|s|name|input|id|settings|field|table|test|group|menu))",
)


def _override_pattern(verbs: str, whose: str, after: str, rules: str) -> str:
    """Return a pattern for languages in which the word that identifies the rules may stand before or after them."""
    return (
        rf"\b(?:{verbs}) (?:\w+ ){{0,4}}?(?:{whose})(?: \w+){{0,3}}? (?:{rules})\b"
        rf"|\b(?:{verbs}) (?:\w+ ){{0,4}}?(?:{rules}) (?:\w+ ){{0,3}}?(?:{after})\b"
    )


_EUROPEAN = (
    _override_pattern(  # German
        r"ignorier(?:e|t|en sie)|(?:vergiss|vergesst|vergessen sie)(?! nicht| nie)|missachte|umgehe|überschreibe|verwirf"
        r"|(?:befolge|beachte|folge|befolgen sie|beachten sie)(?= (?:\w+ ){0,4}(?:nicht|keine))|halte? dich nicht(?: mehr)? an"
        r"|setze? dich über",
        r"alle[nrs]?|vorherig\w*|bisherig\w*|vorig\w*|obig\w*|früher\w*|deine[nrs]?|ihre|sämtlich\w*|jeglich\w*|diese[nr]?"
        r"|vorangegangen\w*|vorangehend\w*|ursprünglich\w*|system",
        r"von oben|nicht mehr|oben|hinweg|zuvor",
        r"\w*anweisung(?:en)?|\w*regeln?|\w*instruktionen?|\w*befehle?n?|\w*vorgaben|\w*richtlinien|\w*prompts?"
        r"|\w*beschränkungen|\w*einschränkungen|\w*direktiven",
    ),
    r"\b(?:vergiss|vergesst|ignoriere|ignoriert) alles was (?:dir|euch|man dir|ich dir|du|vorher|zuvor|bisher|oben)\b"
    r"|\b(?:oublie|ignore)[zs]? tout ce qu|\b(?:olvida|ignora) todo lo (?:que (?:te|se te|has)|anterior)"
    r"|\b(?:dimentica|ignora) tutto (?:quello|cio|ciò) che (?:ti|hai|e stato)|\b(?:esqueça|ignore) tudo o? ?que (?:te|lhe|você|foi)"
    r"|\b(?<!не )(?:забудь|игнорируй)(?:те)? все что (?:тебе|вам|было|ты|я|написано|сказано)\b",
    r"\b(?:du bist (?:jetzt|nun|ab sofort|ab jetzt)|ab (?:jetzt|sofort) bist du|von nun an (?:bist|wirst|musst) du) "
    r"(?:ein|eine|kein|keine|der|die|das|dan|nicht|frei|mein|im)\b(?! weg\b)",
    r"\b(?:sag|sage|verrate|erzähle|melde|teile)(?: \w+){0,3}? (?:dem|der|den) (?:nutzer|benutzer|user|anwender|besitzer)\w* "
    r"(?:\w+ ){0,3}?(?:nichts?|niemals|nie)\b|\bohne (?:den|die|dem) (?:nutzer|benutzer|user|anwender)\w* (?:\w+ )?zu \w+",
    r"\b(?:gib|zeige?|verrate|nenne|offenbare)(?: \w+){0,2}? deine[nr]? (?:\w+ )?(?:\w*prompt|\w*anweisungen|instruktionen)\b",
    _override_pattern(  # Spanish
        r"(?<!no )(?:ignor(?:a|e|en|ad)|olvid(?:a|e|en|ad|ate de|ese de))|descart(?:a|e)|desobede(?:ce|zca)"
        r"|haz caso omiso de|haga caso omiso de|no (?:sigas|obedezcas|respetes|siga|obedezca)|pasa por alto|anula|desestima|omite",
        r"todas?|todos|tus|sus|cualquier|previas?|previos|anteriores|estas|esas",
        r"anteriores?|previas?|previos|precedentes|recibidas|dadas|de arriba|del sistema|originales|iniciales|existentes",
        r"instruccion(?:es)?|reglas|órdenes|indicaciones|directrices|normas|restricciones|prompts?|mensajes|políticas",
    ),
    rf"\b(?:ahora eres|a partir de ahora (?:eres|serás|actúa|actuarás|(?:debes|responde)\b{_FORM})|desde ahora eres)\b",
    r"\bno (?:le )?(?:digas|informes|cuentes|menciones|avises|reveles)(?: \w+){0,3}? (?:al|el) usuario\b"
    r"|\bsin (?:avisar|preguntar|informar|consultar|decir\w*)(?: \w+)?? al usuario\b",
    r"\b(?:revela|muestra|imprime|dime|enséñame|muéstrame)(?: \w+){0,2}? (?:tu|tus) (?:\w+ )?(?:prompt|instrucciones|reglas)\b",
    _override_pattern(  # French
        r"(?<!ne )(?:ignore[zs]?|oublie[zs]?|néglige[zs]?)|(?:ne )?(?:suis|suivez|respecte[zs]?|tiens|tenez)(?: plus| pas)"
        r"(?: compte)?|désobéi\w*|fai(?:s|tes) abstraction|contourne[zs]?|annule[zs]?|outrepasse[zs]?|fai(?:s|tes) fi",
        r"toutes?|tous|tes|vos|ces|précédentes?|précédents|antérieures?|quelconques?",
        r"précédentes?|précédents|antérieures?|ci dessus|préalables?|du système|initiales|reçues|données|d avant|originales",
        r"instructions?|consignes?|règles?|directives?|ordres?|restrictions?|invites?|prompts?|messages?",
    ),
    r"\b(?:tu es|vous êtes) (?:maintenant|désormais)\b(?! (?:inscrit|abonné|connecté|prêt|membre))"
    rf"|\b(?:désormais|à partir de maintenant|dorénavant) (?:tu|vous) (?:es|êtes|agis|agissez|vas|(?:dois|devez|réponds)\b{_FORM})\b",
    r"\bne (?:le )?(?:dis|dites|révèle|révélez|mentionne|mentionnez|préviens)(?: \w+){0,3}? (?:à|a) l utilisateur\b"
    r"|\bn en (?:parle|parlez|informe|informez) pas (?:à )?l utilisateur\b"
    r"|\bsans (?:prévenir|informer|avertir|demander à|le dire à) l utilisateur\b",
    r"\b(?:révèle|affiche|montre|donne|imprime)[zs]?(?: moi)?(?: \w+)?? (?:ton|tes|votre|vos) (?:\w+ )?(?:prompt|instructions|consignes)\b",
    _override_pattern(  # Italian
        r"(?<!non )(?:ignora(?:te)?|ignori|dimentica(?:te)?|dimentichi|trascura|tralascia|scarta)|non (?:seguire|rispettare"
        r"|obbedire|considerare)|disattendi|annulla|aggira|disobbedisci",
        r"tutte|tutti|tue|tuoi|vostre|qualsiasi|ogni|precedenti|queste|quelle",
        r"precedenti|sopra|anteriori|del sistema|di sistema|originali|iniziali|ricevute|date|esistenti|di prima",
        r"istruzion[ei]|regol[ae]|direttive|ordini|indicazioni|restrizioni|linee guida|prompt|messaggi|comandi",
    ),
    r"\b(?:ora|adesso) sei (?:un|uno|una|il|lo|la|dan|libero|in)\b"
    rf"|\bd(?:a|') ?ora in poi (?:sei|sarai|agisci|(?:devi|rispondi)\b{_FORM})\b",
    r"\bnon (?:dire|dirlo|informare|avvisare|rivelare|menzionare)(?: \w+){0,3}? (?:all|l) utente\b"
    r"|\bsenza (?:avvisare|informare|dirlo|chiedere)(?: all)?(?: l)? utente\b",
    r"\b(?:rivela|mostra|stampa|dimmi|mostrami)(?: \w+){0,3}? (?:tuo|tue|tuoi) (?:\w+ )?(?:prompt|istruzioni|regole)\b",
    _override_pattern(  # Portuguese
        r"(?<!não )(?:ignor(?:e|a|em)|esque[cç]a(?:m)?(?: se)?(?: de)?)|desconsidere|descarte|desobede[cç]a|não (?:siga|obedeça"
        r"|cumpra|respeite)|anule|contorne|burle",
        r"todas?|todos|suas|seus|tuas|teus|quaisquer|qualquer|anteriores|prévias|estas|essas",
        r"anteriores|prévias|acima|do sistema|originais|iniciais|recebidas|dadas|existentes|precedentes",
        r"instruç(?:ões|ão)|regras|ordens|diretrizes|comandos|restrições|orientações|prompts?|mensagens|políticas",
    ),
    rf"\b(?:agora você é|você agora é|você é agora|a partir de agora,? (?:aja|seja|(?:você|responda)\b{_FORM}))\b",
    r"\bnão (?:conte|diga|informe|avise|revele|mencione)(?: \w+){0,3}? (?:ao|o|para o) (?:usuário|utilizador)\b"
    r"|\bsem (?:avisar|informar|perguntar|dizer|consultar)(?: isso)? (?:ao|o) (?:usuário|utilizador)\b",
    r"\b(?:revele|mostre|imprima|diga)(?: \w+){0,2}? (?:seu|seus|suas|teu|tuas) (?:\w+ )?(?:prompt|instruções|regras)\b",
    _override_pattern(  # Russian
        r"(?<!не )(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|отбрось(?:те)?|обойди(?:те)?|отмени(?:те)?|нарушь(?:те)?)"
        r"|не (?:следуй(?:те)?|соблюдай(?:те)?|выполняй(?:те)?|подчиняйся|подчиняйтесь)|пренебреги(?:те)?",
        r"все|всех|всем|всеми|любые|любым|предыдущ\w*|прежни\w*|прошл\w*|вышеуказанн\w*|свои\w*|твои\w*|ваши\w*|системн\w*"
        r"|эти\w*|данны\w*",
        r"выше|ранее|до этого|системы|разработчика",
        r"инструкци\w*|правил\w*|указани\w*|команд\w*|распоряжени\w*|ограничени\w*|предписани\w*|промпт\w*|директив\w*"
        r"|сообщени\w*",
    ),
    r"\b(?:теперь ты|ты теперь|отныне ты|с этого момента ты)(?: \w+){0,2}? (?:не ограничен\w*|должен|обязан|являешься"
    r"|действуешь|отвечаешь|dan|ассистент\w*|бот|помощник|модель|без ограничений|свободен|хакер)\b",
    r"\bне (?:говори|сообщай|рассказывай|раскрывай|упоминай)(?:те)?(?: \w+){0,3}? пользовател\w*|\bбез ведома пользовател\w*"
    r"|\bне спрашива\w* (?:\w+ )?(?:разрешени|подтверждени|пользовател)\w*",
    r"\b(?:покажи|раскрой|выведи|назови|напиши)(?:те)?(?: \w+){0,2}? (?:свой|свои|твой|системн\w*) (?:\w+ )?(?:промпт\w*|инструкци\w*)",
)
_EASTERN = (
    r"(?:이전|앞선|앞의|위의|위에|기존|모든|모두|지금까지|상기|시스템|당신의|너의|네가받은|개발자)[^.]{0,12}?(?:지시|명령|지침|규칙|프롬프트"
    r"|제한|안내|설정)[^.]{0,10}?(?:무시(?!하지|되|당)|잊어|잊고|잊으|따르지마|따르지말|거부하|폐기하|어겨|무효)",
    r"(?:너는|넌|당신은)(?:이제부터|지금부터|이제)(?!어디|뭐|알)|(?:이제|지금)부터(?:너는|넌|당신은)",
    r"사용자(?:에게|한테)(?:는|도)?[^.]{0,8}(?:말하지마|말하지말|알리지마|알리지말|숨겨|비밀로)|사용자몰래",
    r"(?:너의|네|당신의)?(?:시스템프롬프트|시스템지침|시스템지시)를?[^.]{0,8}(?:출력|보여|공개해|공개하라|알려|말해|유출)",
    r"(?<!不要)(?<!不能)(?<!別)(?<!别)(?<!没有)(?<!沒有)(?<!不)(?<!被)(?:忽略|无视|無視|忘记|忘記|忘掉|抛开|抛弃|拋棄|绕过|繞過|违反|違反"
    r"|覆盖|覆蓋)[^.]{0,10}?(?:之前|以前|上述|上面|前面|以上|先前|此前|所有|全部|一切|任何|你的|您的|系统|系統|原有|既有|既定)[^.]{0,8}?(?:指令"
    r"|指示|规则|規則|提示|命令|要求|设定|設定|限制|说明|說明|约束|約束|准则|準則|prompt)",
    r"(?<!不要)(?<!別)(?<!别)(?<!不)(?:忽略|无视|無視)[^.]{0,6}?(?:指令|指示|规则|規則)",
    r"(?:不要|别|別|不必|无需|無需|停止)(?:再)?(?:理会|理會|遵守|遵循|听从|聽從|执行|執行|管)[^.]{0,8}?(?:之前|以前|上述|上面|前面|以上|先前|所有|任何"
    r"|你的|系统|系統)[^.]{0,8}?(?:指令|指示|规则|規則|提示|命令|限制)",
    r"(?:你现在是|你現在是|现在你是|現在你是|从现在(?:起|开始)你(?:是|将|要|必须|就是)|從現在(?:起|開始)你(?:是|將|要|必須|就是))(?!不是)",
    r"(?:不要|别|別|不准|禁止)(?:告诉|告訴|通知|提醒|让|讓)(?:用户|用戶|使用者|主人)",
    r"(?:显示|顯示|输出|輸出|泄露|洩露|透露|告诉我|告訴我|打印|重复|重複)[^.]{0,4}?(?:你|您)?的?(?:系统提示|系統提示|提示词|提示詞|系统指令|系統指令)",
    r"(?:以前|前の|上記|これまで|今まで|すべて|全て|あらゆる|システム|あなたの|過去|先程|先ほど|従来|既存|元の|上の|与えられた)[^.]{0,12}?(?:指示|命令"
    r"|ルール|規則|プロンプト|制約|制限|ガイドライン|設定)[^.]{0,8}?(?:無視(?!しない|せず|でき|され)|忘れ(?!ない|ず|物|た)|従わない|従うな|破棄|無効に|上書き)",
    r"(?:指示|命令|ルール)(?:を|は)?(?:すべて|全て|全部)?(?:無視(?!しない|せず|でき|され)|忘れ(?!ない|ず|物|た))",
    r"あなたは(?:今から|これから|いまから|今後|もはや)|(?:今から|これから|今後は?|いまから)、?あなたは",
    r"ユーザーに(?:は)?[^.]{0,10}?(?:言わない|言うな|伝えない|伝えるな|知らせない|知らせるな|教えない|教えるな|内緒|秘密に)",
    r"(?:あなたの)?(?:システムプロンプト|システム指示|内部指示)を?[^.]{0,8}?(?:表示|出力|教え|公開|開示|見せ|漏ら)",
)
_SQUEEZED = (
    r"(?<!not)(?<!never)(?:ignore|disregard|forget|override|bypass)(?:all|any|the|of|your|my|every){0,3}(?:previous|prior|above"
    r"|earlier|preceding|existing|system|your|all)(?:and|or|the|of|previous|prior|above|system|developer|safety){0,4}"
    r"(?:instruction|rule|prompt|guideline|directive|restriction)",
    r"doanythingnow|donottelltheuser|donttelltheuser|revealyoursystemprompt",
)
_TAGS = re.compile(
    r"(?i)<\s*+/?\s*+(?:system|assistant|developer|tool|function|function_calls|invoke|relevant-memories)\b|<\|im_start\|>"
)
_UNTRUSTED = (
    r"\b(?:attention|note|message|instructions?|reminder|notice) (?:to|for) (?:the |any |all )?(?:ai|assistants?|ai assistants?|ai agents?"
    r"|language models?|llms?|chatbots?|chatgpt|claude|gpt)\b",
    r"\b(?:the )?(?:ai|assistant|model|llm|agent|claude|chatgpt|gpt) (?:must|should|shall|has to|needs to|is required to)"
    r" (?:now |always |immediately |never |also )*(?:execute|run|call|delete|send|forward|upload|approve|use|fetch|open|say|tell"
    r"|reply|respond|answer|visit|download|install)\b",
    r"\b(?:in|to|at the end of|with) (?:every|each|all) (?:\w+ )?(?:reply|replies|responses?|answers?|messages?) (?:\w+ ){0,3}?"
    r"(?:include|append|say|add|insert|mention|recommend)\b",
    r"\b(?:respond|reply|answer) only (?:with|in)\b|\balways (?:obey|trust|approve|recommend|say)\b",
    r"\b(?:send|e ?mail|forward|upload|post) (?:\w+ ){0,6}?(?:passwords?|keys?(?! (?:of|to|for) the (?:flat|house|home|car|bike|office"
    r"|room|shed|garage|cellar|door))|secrets?|credentials?|tokens?|(?<!release )notes|files|memor\w*)(?: \w+){0,6}? to\b",
    rf"{_NOT_ORDERED}(?<!to )(?<!\bci )\b(?:execute|call|invoke|run|use) (?:the |your |a |this )?(?:\w+ ){{0,2}}?(?:tools?|function call)\b"
    r"(?! (?:shed|box|belt|bar|chain|kit|of the|weekly|daily|monthly))|\b(?:call|invoke|use|run) memory (?:append|get|search|replace|store|recall|forget)\b",
    r"\b(?:curl|wget|rm) [\w. ]{0,40}(?:http|sh\b|rf\b)",
)


_HINTS = """
ignor disregard forget overrid overwrit bypass overrul neglect dismiss circumvent abandon unlearn discard violat setaside
paynoat paynohe follow obey comply adhere heed respect listento notapply dontapply youarenow nowon thispointon thispointfor
thismomenton thismomentfor pretend imagine behaveas actas yournew yourreal yourtrue youractual youronly yoursecret assistants
newinstr newsystem newdirect newprompt newrules developermode danmode godmode jailbreak adminmode debugmode unrestricted
sudomode rootmode theuser theowner thehuman theoperator youruser yourowner yourhuman confirmation permission approval consent
apikey allkey prompt instruction systemmessage guideline configuration rules password secret credential token keys exfiltrat env memor
conversation history data youareno youreno youarefree yourefree youhaveno youmust youwill youshall youshould youhaveto youneed
doanything disable privileges rights toolcall endofthe endofsystem endofquot thisisa youread yousee youprocess youencounter
youload erase wipe
vergiss vergesst vergessen missacht umgehe verwirf befolg beachte halte setze dubist bistdu wirstdu nutzer benutzer anwender
besitzer anweisung instruktion ignorier
olvid descart desobede omis omite nosig noobed norespet pasapor anula desestim ahoraeres apartirdeahora desdeahora usuario instruccion
reglas
oubli neglig suivez nesuis suisplus suispas respectez respecteplus tiens tenez desobei abstraction contourn annul outrepass faisfi faitesfi tues vousetes desormais dorenavant
maintenant utilisateur consigne
dimentic trascur tralasci scart nonseguire nonrispettare nonobbedire nonconsiderare disattend aggira disobbed orasei adessosei
orainpoi utente istruzion regole
esquec desconsider descarte naosiga naoobed naocumpra naorespeite anule contorne burle agoravoce voceagora voceeagora deagora
usuario utilizador instruc regras
игнорир забуд отброс обоид отмени наруш неследу несоблюд невыполн неподчин пренебр теперьты тытеперь отнынеты моментаты
пользовател неспрашива промпт инструкц
무시 잊 따르지 거부 폐기 어겨 무효 이제 지금부터 사용자 시스템
忽略 无视 無視 忘 抛开 抛弃 拋棄 绕过 繞過 违反 違反 覆盖 覆蓋 理会 理會 遵守 遵循 听从 聽從 执行 執行 管 现在 現在 用户 用戶 使用者 主人 提示 指令
従わない 従うな 破棄 無効 上書き 忘れ あなた ユーザー システム 内部指示
"""
"""Words without blanks, one of which every pattern above contains. Most texts contain none and need no further
check."""


def overrides_instructions(text: str) -> bool:
    """Return whether a text orders a model to drop its instructions; ordinary notes about models do not."""
    return _TAGS.search(text) is not None or any(
        _western_pattern().search(form) or _eastern_pattern().search(squeezed) or _squeezed_pattern().search(squeezed)
        for form, squeezed in _normalized_forms(text)
        if any(hint in squeezed for hint in _hints())
    )


def instructs_model(text: str) -> bool:
    """Return whether a text by somebody else orders a model to do anything."""
    return overrides_instructions(text) or any(_untrusted_pattern().search(form) for form, _ in _normalized_forms(text))


def _normalized_forms(text: str) -> list[tuple[str, str]]:
    """Return the text as words and as letters without separators, also with look-alike letters replaced."""
    plain = folded(html.unescape(text) if "&" in text else text)
    readings = {plain, skeleton(plain)}
    if "<" in plain:
        readings.add(_INSIDE_WORDS.sub("", plain))
    readings |= {letters for each in readings if _has_leetspeak(each) for letters in without_digits(each)}
    forms = {_join_spaced_letters(_GAPS.sub(" ", each)) for each in readings}
    return [(form, _SIGNS.sub("", form)) for form in sorted(forms)]


def _has_leetspeak(text: str) -> bool:
    return re.search(r"[a-z][0134578$@][a-z]|\b[01345$@][a-z]{2}", text) is not None


def _join_spaced_letters(words: str) -> str:
    """Join letters that are spaced apart, as in `i g n o r e`, into one word."""
    return _SPACED.sub(lambda found: re.sub("[ .]", "", found[0]), words) if " " in words else words


def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{folded(pattern)})" for pattern in patterns))


@lru_cache(maxsize=1)
def _hints() -> tuple[str, ...]:
    return tuple(sorted(set(folded(_HINTS).split()), key=len))


@lru_cache(maxsize=1)
def _western_pattern() -> re.Pattern[str]:
    return _compile((*_ENGLISH, *_EUROPEAN))


@lru_cache(maxsize=1)
def _eastern_pattern() -> re.Pattern[str]:
    return _compile(_EASTERN)


@lru_cache(maxsize=1)
def _squeezed_pattern() -> re.Pattern[str]:
    return _compile(_SQUEEZED)


@lru_cache(maxsize=1)
def _untrusted_pattern() -> re.Pattern[str]:
    return _compile(_UNTRUSTED)
