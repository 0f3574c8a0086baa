"""Find passages of a message that it introduces, or sets apart, as the words of somebody else."""
# ruff: noqa: E501 - tables of words of many languages

from __future__ import annotations

import re

_SAYS = (
    r"\b(?<!\bi )(?<!\bwe )(?:said|says|wrote|writes|told (?:me|us)|sagte?|meinte?|schrieb|schreibt|dijo|dice|escribió|escribe|a dit|dit|a écrit|écrit"
    r"|disse|diz|escreveu|escreve|řekl[ai]?|říkal[ai]?|říká|napsal[ai]?|píše)[ \t]*:"
)
_TEXT = (
    r"(?:\b(?:web ?site|web ?page|page|article|readme|wiki|transcript|output|stdout|stderr|logs?|(?:e-?mail|mail|letter|message) from"
    r"|seite|artikel|ausgabe|protokoll|(?:e-?mail|nachricht) von|página|artículo|salida|(?:correo|mensaje) de|article|sortie|(?:courriel|mail|message) de"
    r"|artigo|saída|(?:mensagem|e-?mail) de|stránk[ay]|článek|výstup|(?:e-?mail|zpráva) od)\b"
    r"|페이지|기사|출력|로그|网页|網頁|页面|文章|输出|日志|ページ|記事|出力|ログ)"
)
_SPEAKER = (
    r"(?:user|human|assistant|system|owner|사용자|유저|어시스턴트|시스템|用户|用戶|助手|系统|ユーザー|アシスタント|システム|benutzer(?:in)?|nutzer(?:in)?|assistent"
    r"|usuario|asistente|utilisateur|utilizador|usuário|assistente|uživatel|asistent)"
)
PASSED_ON = re.compile(
    rf"(?ims)(?:{_SAYS}|^[^\n]{{0,200}}?{_TEXT}[^\n:：]{{0,40}}[:：][ \t]*$|^[ \t]*{_SPEAKER}[ \t]*[:：]).*\Z"
)
"""Words that introduce what somebody said, a text, or a record of a conversation, which lasts to the end of the message."""
SET_APART = re.compile(
    r"(?ms)^[ \t]*(?P<line>[-=*_+#]{3,})[ \t]*\n.*?^[ \t]*(?P=line)[ \t]*$"
    r"|(?P<quotes>\"{3}|'{3}).*?(?:(?P=quotes)|\Z)"
)
"""What is between two equal lines of signs, or in threefold quotation marks."""
INDENTED = re.compile(r"(?m)^(?: {4,}|\t+)(?![ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]).*$")
"""A line that Markdown shows as code; a point of a list within another one is not."""
