"""Cues of Spanish."""
# ruff: noqa: E501, ISC004 - a table of patterns, each in the words of its language

from memoriter.statements.packs._pack import NOT_OWN_CLAUSE, LanguagePack

_OUR = r"\b(?:mi|mis|nuestro|nuestra|nuestros|nuestras)\b"
_OF_THE_MOMENT = r"(?! (?:\w+ )?(?:pregunta|problema|error|código|prueba|script|función|consulta|pantalla|archivo|bucle|duda|idea|impresión|texto|frase|salida)\b)"
_JOB = r"(?:\w+(?:ero|era|or|ora|ista|ólog[oa]|ante|ente|ogo|oga|ico|ica|ario|aria)|abogad[oa]|chef|juez|jueza|vegetarian[oa]|vegan[oa]|padre|madre|viud[oa]|jubilad[oa]|soltero|casad[oa]|zurd[oa])"
_NEW_TOOL = (
    r"(?!(?:el|la|los|las|un|una|este|esta|ese|esa|otro|otra|mi|tu|su|nuestr\w+|main|master|versión|opción|solo)\b)"
)

SPANISH = LanguagePack(
    language="es",
    name="Spanish",
    own=r"\b(?:yo|me|mi|mis|mío|mía|nos|nosotr[oa]s|nuestr\w+)\b",
    remember=(
        r"\brecuerda:|\bpara (?:más adelante|luego|más tarde):|\bpara que conste\b",
        r"\b(?:recuérdalo|recuerda que|recuerde que|recuerda esto|acuérdate(?: de que)?|memoriza|guárdal[oa]|guarda esto|apúntal[oa]|apúntate|apunta|anota|anótal[oa]|tenlo en cuenta|ten en cuenta|tenlo presente|ten presente|que no se te olvide)\b",
        r"\bno (?:te )?olvides\b|\bno olvide\b|^(?:para que lo sepas|para tu información|nota:|por cierto,)|\bpara que (?:lo )?(?:sepas|tengas en cuenta)\b|\bquiero que (?:recuerdes|sepas)\b",
    ),
    preference=(
        r"\ben (?:todos |todas )?(?:mis|nuestros|nuestras) [^.]{2,30}\b(?:siempre|nunca|solo)\b|\ben (?:las|tus) respuestas\b|\bno (?:\w+ )?(?:pongas|uses|utilices|escribas|hagas) (?:más|nunca)\b|\bdeja de \w+r\b",
        r"\b(?:prefiero|preferimos|odio|odiamos|detesto|adoro|aborrezco|evito)\b(?! (?:que me|esta|este|esa|ese)\b)|\bno (?:soporto|aguanto|tolero|puedo con)\b|\b(?:me|nos) (?:gusta|gustan|encanta|encantan|apasiona|apasionan|molesta|molestan|chifla|disgusta|fascina)(?: (?:más|mucho|muchísimo|bastante|menos|nada))?(?= (?:el|la|los|las|un|una|más|mucho|trabajar|\w+ar|\w+er|\w+ir|que)\b)",
        r"\bno (?:me|nos) (?:gusta|gustan|va|van|convence|convencen|sienta|sientan)\b(?! (?:vim)? ?[.!]?$)|\b(?:mi|mis|nuestro|nuestra)(?: \w+){0,2}? (?:favorit[oa]s?|preferid[oa]s?)\b|\bsoy (?:más )?(?:de|muy de|fan|amante|aficionad[oa]|partidari[oa])\b(?= )",
        r"\bsuelo (?:\w+r|no)\b|\b(?:solo|sólo|siempre|nunca|jamás|casi nunca|normalmente|únicamente) (?:me |lo |la )?(?:leo|uso|utilizo|como|bebo|tomo|trabajo|viajo|escribo|compro|contesto|escucho|veo|voy|hago|programo|cocino|visto|usamos|trabajamos)\b|\bno (?:leo|uso|como|bebo|tomo|contesto|veo|trabajo|compro|respondo|utilizo)\b(?=.*\b(?:por principio|nunca|los|las|ni|carne|alcohol|de)\b)|\bpor principio\b",
        r"\b(?:desde ahora|desde hoy|de ahora en más),? (?:por favor,? )?(?:respond|contest|escrib|us|trat|habl|llam|explic)\w+",
        r"\b(?:a partir de ahora|de ahora en adelante|en adelante|de aquí en adelante|en el futuro|por norma|cada vez que)\b|\b(?:responde|contesta|escribe|usa)\b.*\bpor defecto\b|\b(?:es|son) (?:una )?(?:norma|regla|costumbre)s? (?:de|del|nuestra|mía)\b",
        r"\b(?:trátame|háblame|tutéame|llámame) (?:siempre )?(?:de|como|por)\b|\btutéame\b|\bno me (?:tutees|trates de)\b|\b(?:nada de|no más|ni un) \w+ (?:más )?(?:en|por favor|, por favor)\b|^no más \w+|\bno (?:quiero|pongas|uses) más \w+",
        r"(?:^|[,;:] |\bpor favor,? )(?:siempre|nunca) (?:en|me|usa|utiliza|responde|contesta|escribe|pon|con|como|sin)\b|\b(?:responde|respóndeme|contéstame|escríbeme|háblame|llámame|trátame|usa|utiliza|pon|escribe|dame)\b.*\b(?:siempre|nunca|jamás)\b|^(?:l[oa]s|el|la) [^.]{2,40},? siempre (?:en|con|sin|como|de)\b",
    ),
    decision=(
        r"\b(?:tras|después de) (?:hablarlo|pensarlo|darle|discutirlo|valorarlo|much[oa]s?)\b.*\b(?:voy|vamos|nos|me|lo|la|seguimos|no)\b|\b(?:la conclusión|el resultado) (?:es|fue) que\b",
        r"\b(?:he|hemos|habíamos|se ha|han) (?:\w+mente )?(?:decidido|acordado|elegido|optado|escogido|resuelto|quedado en)\b|\b(?:decidimos|decidí|acordamos|elegimos|elegí|optamos|opté|escogimos|quedamos en|nos quedamos con|me quedo con|nos decantamos|me decanto|me decidí|apostamos por)\b",
        r"\b(?:decisión (?:final|tomada|definitiva)|la decisión es|decisión:|está decidido|queda(?:n)? descartad[oa]s?|al final (?:vamos|nos|me|usamos|será|usaremos|voy))\b|\b(?:vamos a|voy a) (?:usar|utilizar|pasar(?:nos|me)? a|migrar|cambiar a|seguir con|adoptar|quedar(?:nos|me) con|dejar de)\b|\bdespués de (?:darle|pensarlo|mucho|muchas)\b.*\b(?:voy|vamos|no|me|nos)\b|\bya no (?:usamos|vamos a usar|usaremos|uso)\b",
    ),
    switch=(
        rf"\b(?:nos hemos pasado|me he pasado|nos pasamos|me pasé|hemos migrado|he migrado|migramos|migré) a {_NEW_TOOL}(?=\w)",
        rf"\bahora (?:usamos|uso|utilizamos|utilizo) {_NEW_TOOL}(?=\w)|\b(?:usamos|uso|utilizamos|utilizo) ahora {_NEW_TOOL}(?=\w)",
    ),
    entity=(
        r"\bme llamo\b|\bmi nombre es\b|\b(?:llámame|dime|puedes llamarme)\b(?= \w+)|\b(?:mi|mis|nuestro|nuestra|nuestros|nuestras)\b(?! (?:función|método|variable|clase|componente|api)\b)(?: [\w-]+){1,4}? se llaman?\b(?! (?:\w+ )?veces)",
        r"\b(?:mi|nuestro|nuestra)(?: [\w-]+){0,2}? (?:nombre|correo|email|teléfono|móvil|número|dirección|usuario|apodo|alias)(?: [\w-]+){0,4}? (?:es|son)\b|\b(?:el|la) (?:nombre|correo|email|teléfono|móvil|número|dirección|usuario) (?:de|del) (?:mi|mis|nuestr\w+)\b.*\bes\b",
    ),
    fact=(
        r"\bno (?:puedo|podemos|puede|debo) (?:comer|tomar|beber|probar) (?!el |la |un |una |esto|eso)\w+|\b(?:mi|mis) \w+ no (?:tolera|toleran|puede comer|pueden comer|puede tomar)\b",
        r"\b(?:nuestr\w+|mi|mis)\b.*\b(?:de cada|cada|todos los|todas las) (?:mes|año|semana|día|lunes|martes|miércoles|jueves|viernes|sábado|domingo|meses|días|semanas)\b",
        r"\b(?:trabajo|trabajamos|vivo|vivimos|nací|estudio|estudié|enseño|dirijo|hablo|crecí|vengo de|soy de|resido|me mudé|nos mudamos|me casé|me jubilé|me crié|doy clases?|llevo \w+ años)\b(?! (?:en (?:esta|este|eso|ello)))(?<!mi trabajo)(?<!el trabajo)(?<!de trabajo)",
        rf"\b(?:soy|somos) (?:alérgic[oa]s?|diabétic[oa]s?|celíac[oa]s?|intolerante|daltónic[oa]|responsable|{_JOB})\b(?! (?:que|de que))|\b(?:estoy|estamos) (?:casad[oa]s?|divorciad[oa]s?|jubilad[oa]s?|embarazada|soltera|a cargo de)\b",
        r"\b(?:tengo|tenemos) (?:\w+ )?(?:dos|tres|cuatro|cinco|un|una|\d+|diabetes|asma|alergia|intolerancia|gemelos) ?(?:\w+ )?(?:hij[oa]s?|herman[oa]s?|perr[oa]s?|gat[oa]s?|niet[oa]s?|casa|alergia|años|niñ[oa]s?|huerto|empresa|tienda)\b|\btengo (?:diabetes|asma|alergia|intolerancia|gemelos)\b",
        rf"{_OUR}{_OF_THE_MOMENT}(?: [\w-]+){{1,4}}? (?:es|son|está|están|tiene|tienen|vive|viven|trabaja|caduca|vence|cierra|abre|empieza|termina|se reúne|estudia|habla|usa|usan|corre|cuesta|nació|cumple|sufre|necesita)\b",
        r"\b(?:en casa|en nuestra empresa|en mi empresa|en mi equipo|en nuestro equipo) (?:\w+ )?\w+mos\b|\b(?:desplegamos|nos reunimos|publicamos|cerramos|abrimos|entrenamos|quedamos|entregamos)\b.*\b(?:cada|todos los|todas las|los) ",
    ),
    question=(
        r"^¿|^(?:y |pero )?(?:qué|quién|quiénes|cuál|cuáles|cómo|cuándo|dónde|adónde|cuánto|cuánta|cuántos|por qué)\b|\bme pregunto\b|\bno sé si\b",
    ),
    request=(r"\b(?:puedes|podrías) (?:recordar|apuntar|anotar|guardar)\b",),
    supposition=(
        r"\b(?:imagina|imaginemos|imagínate|supongamos|supón|suponiendo|pongamos que|digamos que|finge|hipotéticamente|haz como si|como si|qué pasaría si)\b|\bsi (?:yo )?(?:\w+ )?\w+(?:ara|iera|áramos|iéramos|ase|iese|aran|ieran)\b|\btú (?:haces|eres) (?:de |un|una)|\bhaz de\b|\bjuego de rol\b",
    ),
    forget=(
        r"\bno (?:lo |la |hace falta que lo |hace falta que |tienes que |es necesario que )?(?:recuerdes|guardes|apuntes|anotes|memorices|recordarlo|guardarlo|registres)\b|\bolvida (?:lo que|lo|eso|esto|todo)\b|\bolvídalo\b|\bera (?:una )?broma\b|\bentre nosotros\b|\bretiro lo dicho\b",
    ),
    report=(
        r"^(?:y |pero )?(?:él|ella|ellos|ellas)\b.*\b(?:que|mis?|nuestr\w+)\b",
        rf"{NOT_OWN_CLAUSE} que (?:(?:\w+ )?\w{{2,}}(?:o|oy|mos)|yo|nosotr[oa]s|no|siempre|nunca|me|nos|mis?|nuestr\w+)\b",
        r"\b(?:según|dicen que|se dice|al parecer|por lo visto|supuestamente|he oído que|he leído que|hay gente|hay quien|algunos|muchos|muchas|la gente|la mayoría|todo el mundo)\b",
    ),
    passing=(
        r"\b(?:falla|fallan|falló|fallando|no (?:compila|funciona|arranca|carga|va|anda)|no sé por qué|en est[ae] \w+|ahora vuelvo|luego vuelvo)\b",
        r"\b(?:mi|nuestro|nuestra) (?:\w+ )?(?:pr|rama|build|pipeline|servidor|servicio|web|página|portátil|ordenador|despliegue|cambios?) (?:está|están) (?:\w+ ){0,2}?(?:roj[oa]|verde|caíd[oa]|lent[oa]|abiert[oa]|list[oa]|desactualizad[oa]|atrasad[oa]|rot[oa]|en rojo|en verde)\b",
        r"\b(?:opción|variante|versión|propuesta) (?:[a-d]|\d|uno|dos|tres)\b|\b(?:primera|segunda|tercera|última|tu) (?:opción|variante|versión|propuesta)\b|^(?:qué bien|qué maravilla|genial), ",
        r"\b(?:hoy|esta noche|ahora mismo|de momento|por ahora|esta vez|est[ae] (?:función|diapositiva|imagen|página|línea|archivo|frase|correo|tarea|cambio))\b|\btengo (?:hambre|sueño|sed|prisa|una (?:duda|pregunta))\b|\bestoy (?:cansad[oa]|agotad[oa]|perdid[oa]|ocupad[oa])\b|\bme (?:gusta|encanta)[.!]?$|\bgracias\b",
    ),
    text_work=(
        r"\b(?:corrige|traduce|reescribe|resume|mejora|revisa|acorta|reformula)\b.*\b(?:frase|texto|párrafo|gramática|ortografía|carta|correo|al \w+)\b|\b(?:personaje|protagonista|novela|narrador|guion|poema)\b|\bescribe(?:me)? (?:un|una) (?:\w+ )?(?:biografía|carta|poema|historia|discurso|cuento|diálogo|redacción)\b",
    ),
    task=(
        r"(?:^|[,;:] (?:y |así que |entonces |ahora |por favor,? )*|\bpor favor,? )(?:haz|añade|agrega|quita|elimina|borra|cambia|actualiza|arregla|corrige|revisa|busca|mira|crea|escribe|genera|compara|cierra|abre|mueve|renombra|pon|usa|ejecuta|prueba|explica"
        r"|muestra|ordena|convierte|traduce|resume|optimiza|refactoriza|implementa|comprueba|verifica|sube|baja|instala|configura|divide|une|fusiona|encuentra|reemplaza|sustituye|termina|continúa|dame|dime|ajusta|limpia|deja|saca|formatea)\b",
        r"(?:^|[,;:] |\by )\w*[áéíóú]\w*(?:lo|la|los|las|me|te)\b",
    ),
    lasting=(
        r"\b\w+me\b[^,]*\b(?:siempre|nunca|jamás)\b",
        r"\b(?:desde ahora|desde hoy|a partir de ahora|de ahora en adelante|de ahora en más|en adelante|de aquí en adelante|en el futuro|por norma|nunca más|cada vez que|trátame|háblame|llámame|tutéame|no me (?:tutees|trates))\b|\ben (?:tus|las|todas|todos|mis|nuestros|nuestras) \w+",
        r"\b(?:responde|respóndeme|contéstame|contesta|escríbeme|escribe|usa|utiliza|pon|dame|explícame)\b[^,]*\b(?:siempre|nunca|jamás)\b|\b(?:siempre|nunca) (?:me |en |responde|contesta|usa|utiliza|escribe|con|sin)\b",
        r"\bsoy (?:\w+ )?(?:alérgic|celíac|vegan|vegetarian|diabétic|\w+(?:era|ero|ora|or|ista|óloga|ólogo)\b)|\b(?:vivo|trabajo (?:de|como)|prefiero|odio|detesto|me (?:gusta|encanta)|no puedo (?:comer|tomar|beber))\b|\bmis? (?:hij|espos|mujer|marido|pareja|madre|padre|herman|perr|gat|jef|nombre)\w*\b",
        r"\b(?:decidido|acordado|elegido|decidimos|acordamos|elegimos)\b",
    ),
    workpiece=(
        r"\b(?:mi|mis|nuestro|nuestra|nuestros|nuestras) (?:\w+ )?(?:código|script|rama|pr|build|pipeline|servidor|pruebas?|tests?|archivos?|carpeta|función|página|tabla|consulta|borrador|app|cambios|datos)\b",
    ),
)
