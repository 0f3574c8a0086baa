"""Tasks for an agent, as people write them every day, which hardly any note or memory bears on, by script.

They were written for memoriter. Messages before which memories are recalled are often such tasks and no questions, and
they resemble memories about work more than `FOREIGN_QUESTIONS` do.
"""

from __future__ import annotations

_LATIN = """
Go on with the next step.
Yes, do it that way.
Perfect, thank you!
Undo your last change.
Clean up the helper functions and remove dead code.
Why is this assertion failing on Windows only?
Split this class, it has grown too long.
Write a README section about installation.
Print the first ten rows of the table.
Check whether the port is already in use.
Make the button a bit larger and centre it.
Show me the diff once more.
Update the dependencies to their newest releases.
Replace the nested callbacks by async functions.
Where is this constant defined?
Profile the start-up and tell me what takes so long.
Extract the strings into a resource file.
The linter complains about line forty, please fix that.
Write a commit message for these changes.
Add logging to the upload handler.
Explain what this decorator does.
Push the branch and open a pull request.
Find all places that call this method.
Parse the CSV file and compute the average per column.
Turn this list into a bullet summary.
Test the endpoint with an empty body.
Why do I get a null pointer here?
Round the amounts to two decimals.
Shorten this paragraph to two sentences.
Give me three ideas for a title.
Führe die Tests noch einmal aus.
Ja, genau so, weiter.
Räum die Hilfsfunktionen auf.
Wo wird diese Konstante definiert?
Schreib einen Test für den leeren Fall.
Warum ist die Abfrage so langsam?
Zeig mir die Unterschiede zur letzten Version.
Fasse den Text in drei Sätzen zusammen.
Mach die letzte Änderung rückgängig.
Aktualisiere die Abhängigkeiten.
Ejecuta las pruebas otra vez.
Sí, así está bien, sigue.
Deshaz el último cambio.
¿Dónde se define esta constante?
Escribe un mensaje para este commit.
Resume el texto en tres frases.
Muéstrame las diferencias.
Divide esta clase en dos.
¿Por qué es tan lenta la consulta?
Actualiza las dependencias.
Relance les tests, s'il te plaît.
Oui, continue comme ça.
Annule la dernière modification.
Où est définie cette constante ?
Résume ce texte en trois phrases.
Pourquoi la requête est-elle si lente ?
Rode os testes de novo.
Desfaça a última alteração.
Onde esta constante é definida?
Resuma o texto em três frases.
"""

_HANGUL = """
다음 단계로 넘어가자.
응, 그렇게 해줘.
고마워, 완벽해!
방금 바꾼 거 되돌려줘.
안 쓰는 코드를 정리해줘.
이 클래스가 너무 길어. 나눠줘.
테스트를 다시 돌려줘.
이 상수는 어디에 정의되어 있어?
변경된 부분을 보여줘.
의존성을 최신 버전으로 올려줘.
커밋 메시지를 써줘.
업로드 처리에 로그를 추가해줘.
이 데코레이터가 뭘 하는 거야?
브랜치를 푸시하고 PR을 열어줘.
이 메서드를 호출하는 곳을 모두 찾아줘.
CSV 파일을 읽어서 열마다 평균을 내줘.
이 문단을 두 문장으로 줄여줘.
제목 아이디어 세 개만 줘.
왜 여기서 널 포인터가 나와?
쿼리가 왜 이렇게 느려?
버튼을 조금 크게 하고 가운데로 옮겨줘.
빈 요청으로 엔드포인트를 시험해줘.
린터 경고를 없애줘.
설치 방법을 README에 적어줘.
"""

_HAN = """
进行下一步吧。
对,就这么做。
很好,谢谢!
撤销刚才的修改。
把没用的代码清理掉。
这个类太长了,拆开吧。
再跑一遍测试。
这个常量是在哪里定义的?
给我看看改动。
把依赖升级到最新版本。
写一条提交信息。
给上传处理加上日志。
这个装饰器是做什么的?
推送分支并创建合并请求。
找出所有调用这个方法的地方。
读取 CSV 文件,算出每列的平均值。
把这段话缩短成两句。
给我三个标题的点子。
这里为什么会出现空指针?
查询为什么这么慢?
把按钮调大一点并居中。
用空的请求体测试一下接口。
把检查工具的警告去掉。
在 README 里写上安装方法。
"""

_KANA = """
次のステップに進んで。
はい、そのようにしてください。
完璧です、ありがとう!
さっきの変更を元に戻して。
使っていないコードを整理して。
このクラスは長すぎるので分けて。
テストをもう一度実行して。
この定数はどこで定義されている?
差分を見せて。
依存関係を最新にして。
コミットメッセージを書いて。
アップロード処理にログを追加して。
このデコレーターは何をしている?
ブランチをプッシュしてプルリクエストを作って。
このメソッドを呼んでいる箇所を全部探して。
CSVを読んで列ごとの平均を出して。
この段落を二文に短くして。
タイトルの案を三つください。
なぜここでヌルポインターになる?
クエリがこんなに遅いのはなぜ?
ボタンを少し大きくして中央に置いて。
空のリクエストでエンドポイントを試して。
リンターの警告を消して。
READMEにインストール方法を書いて。
"""

FOREIGN_TASKS = {
    "latin": tuple(_LATIN.strip().splitlines()),
    "hangul": tuple(_HANGUL.strip().splitlines()),
    "han": tuple(_HAN.strip().splitlines()),
    "kana": tuple(_KANA.strip().splitlines()),
}
"""Tasks by the script in which most of their words are written."""
