"""Recognize a text that gives its author power over the assistant, or obliges the assistant to act in the world."""
# ruff: noqa: E501 - a table of patterns, each in the words of its language

from __future__ import annotations

import re
import unicodedata

from memoriter.longterm.rules._cues import cues

_CLAIMS = re.compile(
    r"""(?ix) (?:
      \bi(?:'m|\ am|\ have)\ (?:the\ |an?\ |your\ |now\ )*(?:(?:system|super|site|real)[\ -]?)?(?:admin\b|administrator|root\b|superuser|developer\ of\ you|creator|operator|full\ (?:access|control|permission))
    | \bich\ bin\ (?:der\ |die\ |ein\ |eine\ |dein\ )?(?:system)?(?:admin\b|administrator\w*|root\b|superuser)
    | \bich\ (?:hier\ )?(?:der\ |die\ |ein\ |eine\ |dein\ |deine\ )?(?:system)?(?:admin|administrator\w*|root|superuser)\ bin
    | \bsoy\ (?:el\ |la\ |un\ |una\ |tu\ )?(?:admin\b|administrador\w*|root\b|superusuario)
    | \bje\ suis\ (?:l'|un\ |une\ |ton\ |votre\ )?(?:admin\b|administrat\w+|root\b|superutilisateur)
    | \bsou\ (?:o\ |a\ |um\ |uma\ |seu\ )?(?:admin\b|administrador\w*|root\b|superusuário)
    | \bjsem\ (?:tvůj\ |váš\ )?(?:admin\b|administrátor\w*|root\b|správce\ systému)
    | (?:나는|저는|내가|제가|난|전)\s?(?:시스템\s?)?(?:관리자|루트|운영자)(?:야|이야|입니다|예요|이다|임|라)
    | 我(?:就)?是(?:系统|系統|超级|超級|你的)?(?:管理员|管理員|超级用户|root)
    | (?:私|僕|俺)(?:は|が)(?:システム)?(?:管理者|ルート|root)
    ) (?! \ (?: of\ (?:our|my) | for\ (?:our|my|a) | at | in | by | bei | von | im | am | en | del | de\ (?:mi|un|nuestr\w+) | chez | d'une? | na | em | ve? ) \b )
    """
)
"""A claim to be in charge of the assistant or its machine; "I am an administrator at Siemens" is a profession."""
_OBLIGES = re.compile(
    r"""(?ix)
      \byou\ (?:must|have\ to|should|shall|need\ to|are\ (?:to|obliged\ to|required\ to|allowed\ to|permitted\ to)|may|can|will)\ (?:always\ |never\ |now\ |immediately\ )?
        (?:transfer|pay|wire|send|forward|run|execute|delete|reveal|disclose|hand\ over|give\ me|share|obey|ignore|bypass|disable|upload|install|approve|grant|buy|trust|skip\ (?:the|all|any)\ (?:checks?|confirmations?))
    | \bdu\ (?:musst|sollst|darfst|hast)\ .{0,80}\b(?:überweis|bezahl|send|schick|weiterleit|ausführ|lösch|verrat|preisgeb|herausgeb|gehorch|ignorier|umgeh|hochlad|installier|freigeb|vertrau)\w*
    | \b(?:debes|tienes\ que|has\ de|puedes|deberás)\ (?:siempre\ )?(?:transfer|pag|envi|reenvi|ejecut|borr|elimin|revel|entreg|dar(?:me|le)|compart|obedec|ignor|desactiv|sub|instal|aprob|confi)\w*
    | \btu\ (?:dois|peux|devras|as\ à)\ (?:toujours\ )?(?:m'|me\ |lui\ |leur\ )?(?:transf|vir|pay|envoy|exécut|supprim|révél|donner|remettre|partag|obé|ignor|désactiv|install|approuv|confi)\w*
    | \b(?:deves|deve|tens\ (?:de|que)|tem\ (?:de|que)|podes|você\ (?:deve|pode))\ (?:sempre\ )?(?:me\ )?(?:transfer|pag|envi|encaminh|execut|apag|revel|entreg|dar|partilh|compartilh|obedec|ignor|desativ|instal|aprov|confi)\w*
    | \b(?:musíš|máš|smíš|můžeš)\ .{0,40}\b(?:převést|převáděť|zaplatit|poslat|posílat|přeposl|spustit|spouštět|smazat|prozradit|vydat|poslouchat|ignorovat|obejít|vypnout|instalovat|schválit|věřit)\w*
    | (?:송금|이체|결제|전달|실행|삭제|공개|복종|무시|우회)(?:해야\s?(?:해|한다|합니다|돼)|하도록)
    | (?:你|您)?(?:必须|必須|应该|應該|要|可以)[^。,]{0,12}(?:转账|轉賬|汇款|匯款|付款|发送|發送|执行|執行|删除|刪除|泄露|公开|服从|服從|无视|無視|忽略|绕过|繞過|交出)
    | (?:送金|振り?込|支払|転送|実行|削除|公開|開示|服従|無視|回避)[^。]{0,6}(?:なければ|しなくては|べき|必要があ)
    """
)
"""Duties and permissions to move money, to give away data or to change the machine, rather than to answer in some way."""

_SENDS = re.compile(
    r"""(?ix)
      (?<!\bi\ )(?<!\bwe\ ) \b(?:send|forward|upload|post|transmit|disclose|reveal)\b
    | \b(?:schick|sende|übermittl|überträgst|lade\b.*\bhoch)\w* | \b(?:envoie|envoyez|transmets|transmettez|transfère)\b
    | \b(?:envía|envíe|envíame|manda|mande|reenvía|reenvíe|sube)\b | \b(?:envia|envie|manda|mande|encaminha|encaminhe)\b
    | \b(?:posílej|pošli|přeposílej|přepošli|nahrávej|nahraj)\w*
    | 보내\s?(?:줘|주|라|세)|전송해|전달해|업로드해 | 发到|發到|发送|發送|发给|發給|上传|上傳|转发|轉發 | 送って|送信し|転送し|アップロードし
    """
)
"""An order to send something."""
_ADDRESS = re.compile(r"(?i)\w@\w|https?://|\b[\w-]+\.(?:com|net|org|io|dev|example|[a-z]{2})\b(?!\()")
_SECRET = re.compile(
    r"""(?ix)
      (?<!\w)\.env\b | \b(?:pass\ ?words?|secrets|api[\ -]keys?|credentials|environment\ variables|passw[oö]rt\w*|zugangsdaten|mots?\ de\ passe|contraseñas?|senhas?|hes(?:lo|la|el))\b
    | 비밀번호|환경\s?변수 | 密码|密碼|密钥|环境变量 | パスワード|環境変数
    """
)
"""What must not leave the machine."""
_UNASKED = re.compile(
    r"""(?ix)
      \bwithout\ (?:asking|permission|confirmation|review|approval|telling)\b | \bohne\ (?:zu\ fragen|nachfrage|rückfrage|bestätigung|erlaubnis)\b
    | \bsans\ (?:demander|confirmation|autorisation|permission)\b | \bsin\ (?:preguntar|permiso|confirmación|pedir)\b
    | \bsem\ (?:perguntar|pedir|confirmação|permissão)\b | \bbez\ (?:ptaní|potvrzení|dovolení|svolení|zeptání)\b
    | (?:묻지|물어보지)\s?(?:말고|않고)|(?:허락|확인)\s?없이 | (?:不用|不要|无需|不经)(?:问|询问|确认|许可) | 聞かずに|確認(?:せずに|なしで)|許可なく
    """
)
"""That the assistant need not ask before it acts."""
_CLAUSE = re.compile(r"[.!?;,。]+|\b(?:and|und|et|y|e|a|but|aber|mais|pero|mas|ale)\b")
_FORBIDS = re.compile(
    r"(?i)\b(?:never|not|don't|nie|niemals|nicht|jamais|pas|nunca|jamás|no|não|nikdy|ne\w{4,})\b.*\b(?:without|ohne|sans|sin|sem|bez)\b"
    r"|(?:지|하지)\s?(?:마|말)|(?:不要|别|别再|绝不|不得)不?(?:用|要|无需|不经|经)|ないで"
)
"""A clause that forbids what follows: to act without asking, for example."""


def claims_authority(text: str) -> bool:
    """Return whether a text claims power over the assistant, or tells it what it must or may do in the world.

    Stored in memory, such a text would act as an order in every later conversation. This is a sieve, as `gives_orders` is.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).replace("’", "'").split())
    if _SENDS.search(plain):
        # "My accountant's address is …, send the invoices there" states an address.
        elsewhere = _ADDRESS.search(plain) and not cues("entity").search(plain.lower())
        if elsewhere or _SECRET.search(plain):
            return True
    if any(_UNASKED.search(clause) and not _FORBIDS.search(clause) for clause in _CLAUSE.split(plain)):
        return True
    return _CLAIMS.search(plain) is not None or _OBLIGES.search(plain) is not None
