"""Questions about the lives and work of others, which hardly any notes answer, by script.

They were written for memoriter in the style of questions to an agent's memory: about decisions, dates, amounts, names
and reasons. With them, an index measures how certain it would be about questions that it cannot answer.
"""

from __future__ import annotations

_LATIN = """
Which grain did the mill by the estuary stop buying in spring?
How many lambs were born on the upper pasture before the snow melted?
What did we decide about the ballast pump of the old ferry?
When does the lighthouse keeper hand over the spare lantern?
Who promised to tune the organ before the wedding rehearsal?
Why was the apricot harvest sold to the second bidder?
What is the combination of the locker at the rowing club?
Which tyre pressure worked best on the gravel stage?
Where did the choir leave the box with the robes?
What does the beekeeping course cost per weekend?
How long must the sourdough for the bakery's rye loaf rest?
Which bank account receives the rent for the market stall?
What was the name of the vet who treated the parrot?
When is the next inspection of the chairlift cables?
Which font did the publisher choose for the atlas of mushrooms?
What was the reason for moving the payroll to another provider?
Which queue does the ticketing service use for refunds?
How often are the logs of the parking meters rotated?
Who approved the budget for the planetarium projector?
What went wrong with the database upgrade at the hospital pharmacy?
What is the limit of requests per minute for the weather feed?
Which version of the compiler does the satellite firmware need?
Where is the certificate for the museum's ticket shop stored?
What did the auditor say about the warehouse in the harbour?
Which colour did she want for the nursery walls?
What is he allergic to, according to the camp form?
When did my cousin move into the houseboat?
How much did the second-hand cello cost?
Which gate did the night train to the coast leave from?
What did the physiotherapist advise for the runner's ankle?
Which book did the reading circle pick for November?
What did grandmother put into the plum dumplings?
Who won the chess tournament at the library?
What are the opening hours of the repair café?
Which seeds should be sown under glass in February?
How did the negotiations about the football pitch end?
What is the serial number of the greenhouse heater?
When does the warranty of the dishwasher expire?
Which insurance covers the telescope during transport?
What did the teacher propose for the trip to the salt mine?
plan for replacing the sails of the training ship
phone number of the chimney sweep
alternatives to the plastic packaging of the cheese
lessons from the failed launch of the podcast
Welche Farbe bekommt das Tor der Feuerwache?
Wann wird der Aufzug im Seniorenheim geprüft?
Wie viel Honig haben wir letztes Jahr verkauft?
Warum hat der Verein den Trainer gewechselt?
Wer kümmert sich um die Übersetzung der Opernuntertitel?
Auf welchem Server liegt das Archiv der Wetterstation?
¿Cuánto costó la reparación del tractor?
¿Quién guarda las llaves del invernadero?
¿Por qué se canceló la excursión al volcán?
¿Qué proveedor elegimos para las velas del barco?
¿Cuándo empieza el curso de cerámica?
Quel vin avons-nous choisi pour le banquet du club ?
Pourquoi le théâtre a-t-il changé de logiciel de caisse ?
Où sont rangées les partitions de la fanfare ?
Combien d'élèves participent au voyage à la mine ?
Quand faut-il tailler les oliviers de la terrasse ?
Qual é a senha do cofre da escola de dança?
Quando chega o novo motor do barco de pesca?
Chi ha prenotato il pullman per la gara di sci?
Quanto sale serve per stagionare il prosciutto?
Welk merk verf gebruikten we voor de windmolen?
Kto zamówił części do starej drukarki fotograficznej?
"""
_HANGUL = """
등대 예비 전구는 언제 교체하기로 했지?
과수원 살구는 누구에게 팔았어?
합창단 가운은 어디에 보관했더라?
천문대 프로젝터 예산은 얼마였지?
나룻배 펌프는 왜 바꾸기로 했어?
앵무새를 치료한 수의사 이름이 뭐였지?
양봉 강좌는 주말마다 비용이 얼마야?
버섯 도감에는 어떤 글꼴을 골랐어?
스키 리프트 케이블 점검은 언제야?
조정 클럽 사물함 비밀번호가 뭐지?
급여 시스템을 다른 업체로 옮긴 이유는?
환불 처리에는 어떤 메시지 큐를 쓰고 있어?
주차 요금기 로그는 며칠마다 지워?
병원 약국 데이터베이스 업그레이드에서 무슨 문제가 있었지?
날씨 API의 분당 요청 한도는?
위성 펌웨어에 필요한 컴파일러 버전은?
박물관 매표소 인증서는 어디에 저장되어 있어?
항구 창고에 대해 감사관이 뭐라고 했어?
아기 방 벽은 무슨 색으로 하고 싶다고 했지?
캠프 신청서에 적힌 알레르기가 뭐였지?
사촌은 언제 하우스보트로 이사했어?
중고 첼로는 얼마에 샀지?
야간열차는 몇 번 승강장에서 출발했어?
물리치료사가 발목에 대해 뭐라고 조언했지?
11월 독서 모임에서 읽을 책은?
할머니는 자두 만두에 뭘 넣으셨지?
도서관 체스 대회에서 누가 이겼어?
수리 카페는 몇 시에 열어?
2월에 온실에서 심어야 하는 씨앗은?
축구장 협상은 어떻게 끝났어?
온실 난방기 일련번호가 뭐야?
식기세척기 보증은 언제 끝나지?
망원경 운송 보험은 어디에 들었어?
소금 광산 견학은 누가 제안했지?
훈련선 돛 교체 계획
굴뚝 청소부 전화번호
치즈 포장재 대안
"""
_HAN = """
灯塔的备用灯什么时候更换？
果园的杏子卖给了谁？
合唱团的礼服放在哪里？
天文馆投影仪的预算是多少？
旧渡轮的压载泵为什么要换？
给鹦鹉看病的兽医叫什么名字？
养蜂课程每个周末多少钱？
蘑菇图鉴选了哪种字体？
缆车的钢索下次什么时候检查？
划船俱乐部储物柜的密码是什么？
工资系统为什么换了供应商？
退款服务用的是哪个消息队列？
停车计费器的日志多久清理一次？
医院药房的数据库升级出了什么问题？
天气接口每分钟的请求上限是多少？
卫星固件需要哪个版本的编译器？
博物馆售票处的证书存在哪里？
审计员对港口仓库有什么意见？
婴儿房的墙想刷成什么颜色？
夏令营表格上写的是对什么过敏？
表哥什么时候搬到船屋去的？
那把二手大提琴花了多少钱？
去海边的夜车从几号站台出发？
理疗师对脚踝有什么建议？
读书会十一月选了哪本书？
奶奶在李子饺子里放了什么？
图书馆的象棋比赛谁赢了？
维修咖啡馆几点开门？
二月份温室里应该播什么种子？
足球场的谈判最后结果如何？
温室加热器的序列号是多少？
洗碗机的保修什么时候到期？
望遠鏡運送時由哪家公司承保？
誰提議去參觀鹽礦？
训练船换帆的计划
扫烟囱工人的电话号码
奶酪包装的替代方案
"""
_KANA = """
灯台の予備ランプはいつ交換する予定ですか？
果樹園のあんずは誰に売りましたか？
合唱団の衣装はどこに置きましたか？
プラネタリウムの投影機の予算はいくらでしたか？
古いフェリーのポンプはなぜ交換することになったの？
オウムを診てくれた獣医の名前は？
養蜂講座は週末ごとにいくらかかりますか？
きのこ図鑑にはどの書体を選んだっけ？
リフトのケーブルの次の点検はいつですか？
ボートクラブのロッカーの番号は何でしたか？
給与システムを別の会社に移した理由は？
返金処理ではどのメッセージキューを使っていますか？
駐車メーターのログは何日ごとに消しますか？
病院の薬局のデータベース更新で何が起きましたか？
天気APIの一分あたりのリクエスト上限は？
衛星のファームウェアに必要なコンパイラのバージョンは？
博物館の券売所の証明書はどこに保存されていますか？
港の倉庫について監査人は何と言っていた？
子ども部屋の壁は何色にしたいと言っていましたか？
キャンプの申込書に書いたアレルギーは何？
いとこはいつハウスボートに引っ越しましたか？
中古のチェロはいくらでしたか？
海へ行く夜行列車は何番線から出ましたか？
理学療法士は足首について何と助言しましたか？
読書会が十一月に選んだ本は？
おばあちゃんはすももの団子に何を入れていた？
図書館のチェス大会で優勝したのは誰？
修理カフェの営業時間は？
二月に温室でまくべき種はどれ？
サッカー場の交渉はどう決着しましたか？
温室のヒーターの製造番号は？
食洗機の保証はいつ切れますか？
望遠鏡の輸送にはどの保険を使いましたか？
岩塩坑の見学を提案したのは誰ですか？
練習船の帆を張り替える計画
煙突掃除を頼む店の電話番号は？
チーズの包装の代わりになるもの
"""
_CYRILLIC = """
Когда нужно заменить запасную лампу маяка?
Кому мы продали урожай абрикосов?
Где лежат костюмы хора?
Какой бюджет утвердили на проектор планетария?
Почему решили менять насос на старом пароме?
Как звали ветеринара, который лечил попугая?
Сколько стоит курс пчеловодства?
Какой шрифт выбрали для атласа грибов?
Когда следующая проверка тросов подъёмника?
Какой код у шкафчика в гребном клубе?
Почему расчёт зарплаты перевели к другому поставщику?
Какую очередь сообщений использует сервис возвратов?
Что пошло не так при обновлении базы данных больничной аптеки?
Какая версия компилятора нужна для прошивки спутника?
Что аудитор сказал о складе в порту?
Сколько стоила подержанная виолончель?
Что физиотерапевт посоветовал делать с лодыжкой?
Кто выиграл шахматный турнир в библиотеке?
Когда заканчивается гарантия на посудомоечную машину?
Какие семена сеять в теплице в феврале?
Чем закончились переговоры о футбольном поле?
номер телефона трубочиста
Сколько ягнят родилось на верхнем пастбище?
Кто обещал настроить орган перед репетицией?
Какое давление в шинах лучше подошло для гравийного этапа?
Сколько должен отдыхать ржаной хлеб по рецепту пекарни?
На какой счёт приходит аренда за место на рынке?
Как часто чистят журналы парковочных автоматов?
Какой лимит запросов в минуту у сервиса погоды?
Где хранится сертификат музейной кассы?
В какой цвет она хотела покрасить стены детской?
На что у него аллергия, судя по анкете лагеря?
С какого пути ушёл ночной поезд к морю?
Что бабушка клала в вареники со сливами?
План замены парусов учебного судна
Чем заменить пластиковую упаковку сыра?
"""

FOREIGN_QUESTIONS: dict[str, tuple[str, ...]] = {
    script: tuple(questions.strip().splitlines())
    for script, questions in {
        "latin": _LATIN,
        "hangul": _HANGUL,
        "han": _HAN,
        "kana": _KANA,
        "cyrillic": _CYRILLIC,
    }.items()
}
"""Questions by the script that `script_of` returns for them."""
