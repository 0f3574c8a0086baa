"""Cues of Portuguese."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import NOT_OWN_CLAUSE, LanguagePack

_OUR = r"\b(?:meu|minha|meus|minhas|nosso|nossa|nossos|nossas)\b"
_OF_THE_MOMENT = r"(?! (?:\w+ )?(?:pergunta|problema|erro|código|teste|script|função|consulta|tela|ecrã|arquivo|ficheiro|dúvida|ideia|texto|frase)\b)"
_NEW_TOOL = r"(?!(?:os|as|um|uma|est[ae]|ess[ae]|outr[oa]|meu|minha|nosso|nossa|main|master|versão|opção|só|[oa] (?:\w+ )?(?:versão|opção|outr[oa]|nov[oa]|arquivo|função|branch|página))\b)"

PORTUGUESE = LanguagePack(
    language="pt",
    name="Portuguese",
    own=r"\b(?:eu|me|mim|meu|minha|meus|minhas|nós|nosso|nossa|nossos|nossas)\b",
    remember=(
        r"\bpara (?:mais tarde|depois):|\bpara constar\b",
        r"\b(?:lembre-se|lembra-te|lembre (?:disso|que)|lembra (?:disso|que)|memorize|memoriza|guarde (?:isso|isto)|guarda (?:isso|isto)|anote|anota|tenha em mente|tem em mente|leve em conta)\b(?! que horas)",
        r"\bnão (?:se )?esqueça(?:s)?\b|\bnão te esqueças\b|^(?:para sua informação|para sua referência|nota:|a propósito,|só para constar)",
    ),
    preference=(
        r"\b(?:em|nos|nas) (?:todos |todas )?(?:os |as )?(?:meus|minhas|nossos|nossas) [^.]{2,30}\b(?:sempre|nunca)\b|\bnas (?:suas |tuas )?respostas\b|\b(?:pare|para) de \w+r\b|\bnão (?:use|coloque|ponha|escreva) mais\b",
        r"\b(?:(?:trate|trata)-me (?:por|de)|(?:chame|chama)-me) (?!de volta)\w+|\b(?:me trate|me chame) (?:por|de)\b|\bnão me (?:trate|trates|chame|chames)\b|^(?:por favor,? )?(?:chega de|sem mais|nada de|não quero mais) \w+|\bnão me (?:mande|mandes) \w+ (?:mais|n[ao]s)\b",
        r"\b(?:a partir de agora|de agora em diante|daqui para a frente|daqui em diante),? (?:\w+ )*?(?:respond|escrev|us|trat|fal)\w+\b",
        r"\b(?:prefiro|preferimos|odeio|odiamos|detesto|adoro|evito)\b(?! (?:isso|isto|este|esta|esse|essa)\b)|\b(?:gosto|gostamos) (?:muito |mais |bastante )?(?:de|do|da|dos|das)\b(?! (?:você|ti)\b)|\bnão (?:gosto|suporto|aguento|tolero|curto)\b(?! disso)",
        r"\b(?:meu|minha|meus|minhas)(?: \w+){0,3}? (?:favorit[oa]s?|preferid[oa]s?)\b|\b(?:só|sempre|nunca|raramente|normalmente|costumo) (?:leio|uso|utilizo|como|bebo|tomo|trabalho|viajo|escrevo|compro|ouço|vejo|trabalhar|usar|comer|ler)\b|\bsou fã\b",
        r"\b(?:a partir de agora|de agora em diante|daqui para frente|daqui em diante|daqui para a frente|toda vez que|sempre que)\b|\b(?:responda|responde|escreva|escreve|use|usa|utilize|chame|trate|coloque)\b.*\b(?:sempre|nunca|jamais)\b|\b(?:sempre|nunca) (?:responda|responde|escreva|use|usa|coloque)\b",
    ),
    decision=(
        r"\b(?:depois de|após) (?:muita|muito|longa|pensar|conversar|discutir)\b.*\b(?:vamos|vou|ficamos|fico|não)\b|\ba conclusão (?:é|foi) que\b",
        r"\b(?:o nosso|a nossa|nosso|nossa|meu|minha) (?:equipa|equipe|time|empresa|grupo|família|diretoria|direção)(?: \w+){0,2}? (?:decidiu|escolheu|optou|concordou|resolveu|definiu)\b",
        r"\b(?:decidimos|decidi|escolhemos|escolhi|optamos|optei|combinamos|acordamos|resolvemos|ficou decidido|foi decidido|está decidido|decisão final|decisão:)\b|\b(?:vamos|vou) (?:usar|utilizar|migrar|passar a usar|ficar com|adotar|mudar para|continuar com)\b|\b(?:ficamos com|vamos de)\b",
    ),
    switch=(
        rf"\b(?:passamos|passei) a (?:usar|utilizar) {_NEW_TOOL}(?=\w)|\b(?:migramos|migrei) para {_NEW_TOOL}(?=\w)",
        rf"\bagora (?:nós |eu )?(?:usamos|uso|utilizamos|utilizo) {_NEW_TOOL}(?=\w)|\b(?:usamos|uso|utilizamos|utilizo) agora {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        r"\b(?:me chamo|chamo-me|meu nome é|pode me chamar|me chame de|trata-me por)\b|\b(?:meu|minha|nosso|nossa|meus|minhas)(?: [\w-]+){1,4}? (?:se chamam?|chama-se|chamam-se)\b|\b(?:meu|minha|nosso)(?: [\w-]+){0,2}? (?:e-?mail|telefone|celular|telemóvel|número|endereço|morada|usuário|apelido)(?: [\w-]+){0,4}? é\b",
    ),
    fact=(
        r"\bnão (?:posso|podemos|pode|devo) (?:comer|beber|tomar) (?!o |a |um |uma |isto|isso)\w+|\b(?:meu|minha|meus) \w+ não (?:tolera|toleram|pode comer|podem comer)\b",
        r"\b(?:trabalho|trabalhamos|moro|moramos|vivo|vivemos|nasci|estudo|estudei|ensino|dirijo|falo|cresci|venho de|me mudei|mudei-me|nos mudamos|me casei|casei-me|me aposentei)\b(?! (?:nisto|nisso|neste|nesta))(?<!meu trabalho)(?<!o trabalho)(?<!de trabalho)",
        r"\b(?:sou|somos) (?:alérgic[oa]s?|diabétic[oa]s?|celíac[oa]s?|intolerante|daltônic[oa]|vegetarian[oa]s?|vegan[oa]s?|canhot[oa]|responsável|casad[oa]s?|divorciad[oa]|aposentad[oa]|\w+(?:eiro|eira|or|ora|ista|ólog[oa]|ante|ente)|médic[oa]|advogad[oa])\b|\bestou grávida\b",
        r"\b(?:tenho|temos) (?:dois|duas|três|quatro|cinco|um|uma|\d+) (?:\w+ )?(?:filh[oa]s?|irmã(?:o|s|os)?|cachorr[oa]s?|cães|cão|gat[oa]s?|anos|alergia|gêmeos|casa)\b|\btenho (?:diabetes|asma|alergia|intolerância)\b",
        rf"{_OUR}{_OF_THE_MOMENT}(?: [\w-]+){{1,4}}? (?:é|são|está|estão|fica|ficam|tem|têm|mora|trabalha|vence|expira|fecha|abre|começa|termina|se reúne|reúne-se|roda|usa|usam|custa|estuda|fala)\b",
    ),
    question=(
        r"^(?:e |mas )?(?:que|o que|quem|qual|quais|como|quando|onde|por que|porquê|quanto|quantos|quantas|você (?:sabe|lembra|pode))\b|\bserá que\b|\bme pergunto\b",
    ),
    request=(r"\b(?:pode|poderia|podes) (?:se )?(?:lembrar|anotar|guardar|memorizar)\b",),
    supposition=(
        r"\b(?:imagine|imagina|suponha|supondo|suponhamos|digamos que|finja|faz de conta|hipoteticamente|como se)\b|\bse (?:eu|nós|a gente)? ?\w+(?:asse|esse|isse|ássemos|êssemos|íssemos)\b|\bvocê (?:é|faz) (?:o papel|um|uma)\b",
    ),
    forget=(
        r"\bnão (?:precisa (?:se )?)?(?:lembre|lembrar|guarde|guardar|anote|anotar|memorize|memorizar|salve|salvar|registre)\b|(?<!não se )(?<!não )\besque(?:ça|ce) (?:o que|isso|isto|tudo)\b|\bera brincadeira\b|\bentre nós\b|\bretiro o que\b",
    ),
    report=(
        r"^(?:e |mas )?(?:eles?|elas?)\b.*\b(?:que|meus?|minhas?|noss\w+)\b",
        rf"{NOT_OWN_CLAUSE} que (?:(?:\w+ )?\w{(2,)}(?:o|mos|ei)|eu|nós|a gente|não|sempre|nunca|me|nos|meus?|minhas?|noss\w+)\b",
        r"\b(?:segundo|de acordo com|dizem que|parece que|aparentemente|supostamente|ouvi (?:dizer )?que|li que|algumas pessoas|muita gente|muitas pessoas|as pessoas|todo mundo)\b",
    ),
    passing=(
        r"\b(?:falha|falham|falhou|não (?:compila|funciona|roda|carrega|abre)|não sei por ?qu[eê]|n?est[ae] \w+ aqui|já volto|volto já)\b",
        r"\b(?:meu|minha|nosso|nossa) (?:\w+ )?(?:pr|branch|ramo|build|pipeline|servidor|serviço|site|página|computador|deploy|mudanças?) (?:está|estão) (?:\w+ ){0,2}?(?:vermelh[oa]|verde|fora do ar|lent[oa]|abert[oa]|pront[oa]|atrasad[oa]|desatualizad[oa]|quebrad[oa]|em baixo)\b",
        r"\b(?:opção|variante|versão|proposta) (?:[a-d]|\d|um|dois|três)\b|\b(?:primeira|segunda|terceira|última|tua|sua) (?:opção|variante|versão|proposta)\b|^que (?:maravilha|bom), ",
        r"\b(?:hoje|agora mesmo|no momento|por enquanto|desta vez|dessa vez|est[ae] (?:função|slide|imagem|página|linha|arquivo|frase|tarefa))\b|\b(?:estou com|tenho) (?:fome|sono|sede|pressa|uma (?:dúvida|pergunta))\b|\bestou (?:cansad[oa]|perdid[oa]|ocupad[oa])\b|\badorei\b|\bobrigad[oa]\b",
    ),
    text_work=(
        r"\b(?:corrija|corrige|traduza|traduz|reescreva|resuma|melhore|revise|reformule)\b.*\b(?:frase|texto|parágrafo|gramática|ortografia|carta|e-?mail|para o \w+)\b|\b(?:personagem|protagonista|romance|narrador|roteiro|poema)\b|\bescreva (?:um|uma) (?:\w+ )?(?:biografia|carta|poema|história|discurso|diálogo)\b",
    ),
    task=(
        r"(?:^|[,;:] (?:e |então |por favor,? )*|\bpor favor,? )(?:corri(?:ge|ja)|adicion[ae]|atualiz[ae]|remov[ae]|mud[ae]|alter[ae]|cri[ae]|escrev[ae]|ger[ae]|compar[ae]|procur[ae]|encontr[ae]|verifi(?:ca|que)|veja|vê|olh[ae]|test[ae]|execut[ae]|rod[ae]|expli(?:ca|que)"
        r"|mostr[ae]|faz|faça|ajud[ae]|implement[ae]|refator[ae]|renomei[ae]|mov[ae]|substitu[ia]|traduza?|resum[ae]|otimiz[ae]|us[ae]|garant[ae]|abr[ae]|fech[ae]|orden[ae]|convert[ae]|instal[ae]|configur[ae]|junt[ae]|arrum[ae]|consert[ae]|ponha|põe|colo(?:ca|que)|tir[ae]|apag(?:a|ue)|ajust[ae]|revis[ae]|vejam?)(?:-\w+)?\b",
    ),
    lasting=(
        r"\b(?:a partir de agora|de agora em diante|daqui para (?:a )?frente|daqui em diante|toda vez que|sempre que|nunca mais|trate-me|trata-me|me trate|me chame|chame-me)\b|\bn[ao]s (?:suas|tuas|seus|teus|meus|minhas|nossos|nossas) \w+|\bem (?:todos|todas) \w+",
        r"\b(?:responda|responde|escreva|escreve|use|usa|utilize|explique|coloque|dê)\b[^,]*\b(?:sempre|nunca|jamais)\b|\b(?:sempre|nunca) (?:responda|responde|escreva|use|usa|coloque)\b",
        r"\bsou (?:\w+ )?(?:alérgic|celíac|vegan|vegetarian|diabétic|médic|\w+(?:eira|eiro|ora|or|ista|óloga|ólogo)\b)|\b(?:moro|vivo|trabalho como|prefiro|odeio|detesto|gosto|não posso (?:comer|beber))\b|\b(?:meu|minha|meus|minhas) (?:filh|espos|mulher|marido|mãe|pai|irmã|cachorr|gat|chefe|nome)\w*\b",
        r"\b(?:decidimos|decidi|escolhemos|optamos|combinamos)\b",
    ),
    workpiece=(
        r"\b(?:meu|minha|meus|minhas|nosso|nossa|nossos|nossas) (?:\w+ )?(?:código|script|branch|ramo|pr|build|pipeline|servidor|testes?|arquivos?|ficheiros?|pasta|função|página|tabela|consulta|rascunho|app|mudanças|dados)\b",
    ),
)
