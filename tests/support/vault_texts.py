"""The texts of the vault: notes that questions are about, and sentences for all the other notes."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A note that is looked up. Its text does not say its title."""

    folder: str
    title: str
    text: str
    question: str
    """A question in the language of the note, in other words than the note's where that is natural."""
    foreign: str = ""
    """The same question in another language."""
    tags: tuple[str, ...] = ()
    day: str = ""


KNOWN = (
    Known(
        "Projects",
        "Greenhouse rebuild",
        "The old panes were single glazing. We ordered 14 twin-wall sheets, 10 mm, from Hofmeier.\n\n"
        "- [ ] dig the strip foundation 40 cm deep\n- [x] sell the aluminium frame",
        "how deep must the foundation strip be dug?",
        "유리 대신 어떤 판을 몇 장 주문했지?",
        ("garden",),
        "2025-03-02",
    ),
    Known(
        "Projects",
        "Invoice template redesign",
        "Totals move to the top right. The payment term drops from 30 to 14 days, and reverse-charge customers get "
        "the note about article 196.",
        "within how many days do clients have to pay now?",
        "In wie vielen Tagen müssen Kunden jetzt zahlen?",
        ("work/plan",),
        "2025-05-11",
    ),
    Known(
        "Projects",
        "Choir summer tour",
        "Coach leaves on 4 July at 6:15 from the fire station. Concerts in Görlitz, Wrocław and Kłodzko; "
        "we sleep in the youth hostel.",
        "where does the bus to the concerts depart from?",
        "합창단 버스는 어디에서 출발해?",
        ("family",),
        "2025-06-11",
    ),
    Known(
        "Projects",
        "Bike trailer",
        "| part | price | shop |\n|---|---|---|\n| hitch axle 12 mm | 38 EUR | Radhaus |\n"
        "| pneumatic tyre 20 inch | 22 EUR | Velo-Depot |\n| rain cover | 31 EUR | Radhaus |",
        "what did the rain cover cost?",
    ),
    Known(
        "Areas/Health",
        "Knee rehabilitation",
        "Dr. Okafor says: no running until the MRI on 18 September. Cycling with low resistance is fine, "
        "twenty minutes every second day.",
        "when may I go jogging again after the scan?",
        "무릎 검사 전에 달리기해도 돼?",
        ("health",),
        "2025-08-20",
    ),
    Known(
        "Areas/Health",
        "Allergy list",
        "Leo: hazelnut (carries an adrenaline pen, expires 02/2027). Grandma: penicillin. Nobody reacts to lactose.",
        "who must not get penicillin?",
        "Wer darf kein Penicillin bekommen?",
        ("health", "family"),
    ),
    Known(
        "Areas/House",
        "Heating contract",
        "Gas from Nordwärme, customer 88-4410-7. Runs until 31 March 2027 and can be cancelled six weeks before. "
        "The boiler was serviced by Mr Pohl.",
        "what is the notice period of our gas supplier?",
        "ガス会社の解約はいつまでに必要?",
        ("house",),
        "2025-01-15",
    ),
    Known(
        "Areas/House",
        "Attic insulation",
        "Wood fibre boards 160 mm between the rafters; the vapour barrier goes on the warm side. Subsidy BAFA 4711-B, "
        "to be claimed before the work begins.",
        "which side does the vapour barrier belong on?",
        "Welche Dämmplatten kommen zwischen die Dachsparren?",
        ("house",),
    ),
    Known(
        "Areas/House",
        "Neighbour agreements",
        "The hedge towards the Brandts stays below 1.80 m, and they may park the caravan at our wall in winter. "
        "Said in front of witnesses on the summer party.",
        "how tall may the hedge grow?",
        "Wie hoch darf die Hecke zu den Nachbarn sein?",
    ),
    Known(
        "Areas/Money",
        "Pension overview",
        "State: 41 points. Company scheme with Allgemeine Leben, contract LV-2219-04, pays 312 EUR a month from 67.",
        "how much does the company scheme pay every month?",
        "회사 연금은 매달 얼마야?",
        ("money",),
    ),
    Known(
        "Areas/Money",
        "Insurance comparison",
        "Liability: HanseDirekt 49 EUR a year, includes lost keys. Household contents: stay with Vesta, 650 EUR excess "
        "for floods.",
        "which liability policy covers lost keys?",
        "Welche Haftpflicht zahlt bei verlorenen Schlüsseln?",
        ("money",),
    ),
    Known(
        "Recipes",
        "Lentil curry",
        "Fry cumin and mustard seeds, then onions. 250 g red dal, 400 ml coconut milk, 20 minutes. "
        "Squeeze a lime over it at the end.",
        "how much coconut milk goes into the dal?",
        "코코넛 밀크는 얼마나 넣어?",
        ("recipe",),
    ),
    Known(
        "Recipes",
        "Sourdough starter",
        "Feed 1:5:5 every morning at 26 degrees. Rye for sour, wheat for mild. In the fridge it survives three weeks.",
        "how long does it survive in the fridge without feeding?",
        "Wie lange überlebt der Sauerteig im Kühlschrank?",
        ("recipe",),
    ),
    Known(
        "Recipes",
        "Pickled radish",
        "Equal parts vinegar, water and sugar, a spoon of salt, turmeric for the yellow. Ready after two days.",
        "what makes the pickle yellow?",
        "단무지 색은 무엇으로 내지?",
        ("recipe",),
    ),
    Known(
        "Reading",
        "The name of the rose",
        "Eco lets the reader doubt every sign. The library is a labyrinth of 56 rooms, and laughter is the real "
        "heresy. Lent to Ingrid.",
        "to whom did I lend Eco's novel?",
        "에코의 소설을 누구에게 빌려줬어?",
        ("book",),
        "2025-02-11",
    ),
    Known(
        "Reading",
        "Thinking in systems",
        "Meadows: stocks change slowly, so a system resists. Leverage point number one is the goal, not the "
        "parameters. Page 145.",
        "what is the strongest leverage point according to Meadows?",
        "",
        ("book",),
    ),
    Known(
        "People",
        "Marta Kowalczyk",
        "Climbing partner since 2019. Works as a notary in Poznań, vegetarian, birthday 9 October. Two cats, Bolek and "
        "Lolek.",
        "which climbing friend is a notary, and where?",
        "공증인으로 일하는 친구는 누구야?",
        ("people",),
    ),
    Known(
        "People",
        "Jonas Lindqvist",
        "Landlord of the studio. Wants the rent on the third, prefers SMS to e-mail: +46 70 555 01 42. Speaks German.",
        "how does the landlord of the studio want to be contacted?",
        "Wie ist die Nummer vom Vermieter des Ateliers?",
        ("people",),
    ),
    Known(
        "Travel",
        "Night train to Lisbon",
        "The Lusitânia no longer runs: change in Badajoz instead. Couchette 39 EUR, booking code QX7RTL, return on "
        "12 May.",
        "what is the booking code of the couchette?",
        "Wo muss man auf der Fahrt nach Portugal umsteigen?",
        ("travel",),
        "2025-04-11",
    ),
    Known(
        "Travel",
        "Packing list winter",
        "- merino base layer, two sets\n- crampons, the light ones\n- head lamp with AAA cells\n- thermos 0.75 l\n"
        "- avalanche transceiver: change its batteries first",
        "what must be done with the avalanche transceiver?",
        "",
        ("travel",),
    ),
    Known(
        "Küche",
        "Apfelstrudel nach Oma",
        "Den Teig mit lauwarmem Wasser und einem Schuss Essig kneten und eine halbe Stunde ruhen lassen. "
        "Boskop, Zimt, in Rum getränkte Rosinen. Bei 190 Grad 35 Minuten.",
        "Worin werden die Rosinen eingelegt?",
        "how long and how hot does grandma's strudel bake?",
        ("rezept",),
    ),
    Known(
        "Familie",
        "김장 준비",
        "배추 스무 포기는 11월 22일에 도착한다. 고춧가루 3kg은 영월 이모네에서 사고, 새우젓은 강화에서 주문했다.",
        "고춧가루는 어디에서 사지?",
        "how many heads of cabbage are being delivered, and when?",
        ("가족",),
        "2025-11-11",
    ),
    Known(
        "Familie",
        "可爱的猫名字",
        "第一只叫豆包，第二只叫芝麻。兽医在人民路，疫苗每年三月打。",
        "疫苗是几月打的?",
        "when are the cats vaccinated each year?",
        ("家庭",),
    ),
    Known(
        "旅行",
        "京都の庭園めぐり",
        "龍安寺は朝八時に開く。桂離宮は事前予約が必要で、宮内庁のサイトから申し込む。抹茶は渉成園の茶室が静かでよい。",
        "桂離宮の予約はどこで申し込む?",
        "which villa garden requires a reservation in advance?",
        ("旅",),
    ),
    Known(
        "Work",
        "Quarterly goals",
        "1. Cut p95 of checkout from 900 to 400 ms.\n2. Retire the SOAP gateway.\n3. Hire one data engineer; "
        "budget code CC-7731.",
        "which budget code is for hiring the data engineer?",
        "Welche alte Schnittstelle wird abgeschaltet?",
        ("work/plan",),
        "2025-07-11",
    ),
)
"""The notes that are looked up: by title, by a fact in them, and by a question in another language."""

PEOPLE = [
    "Ingrid",
    "Tomasz",
    "Selin",
    "Hannes",
    "Yuna",
    "Priya",
    "Mateo",
    "Lucía",
    "지훈",
    "수아",
    "晓明",
    "Frau",
    "Weber",
]
THINGS = (
    *("dishwasher", "tax return", "school project", "window handles", "balcony", "sales report", "login page"),
    *("staging server", "photo album", "kitchen drawer", "bird feeder", "bookshelf", "tent", "water meter"),
    *("parents' evening", "onboarding guide", "customer survey", "garage door", "piano", "compost bin", "printer"),
)
GERMAN_THINGS = (
    *("Geschirrspüler", "Steuererklärung", "Balkon", "Dachrinne", "Elternabend", "Fotoalbum", "Keller"),
    *("Werkbank", "Zaun", "Klavier", "Wasserzähler", "Vogelhaus", "Urlaubsplan", "Drucker"),
)
KOREAN_THINGS = (
    *("세탁기", "책장", "자전거", "발표 자료", "여행 사진", "화분"),
    *("현관문", "피아노", "회의록", "커튼", "텐트"),
)
CHINESE_THINGS = ("洗衣机", "书架", "自行车", "照片", "阳台", "钢琴", "会议记录", "窗帘", "帐篷", "打印机", "花盆")
SENTENCES: dict[str, tuple[str, ...]] = {
    "en": (
        "Talked with {who} about the {thing}; we decide on the {number}th.",
        "The {thing} took {number} hours longer than planned, mostly because of the weather.",
        "{who} suggested doing the {thing} first and the {other} after that.",
        "Idea: put the {thing} next to the {other}, so that both are within reach.",
        "Called the workshop because of the {thing}. They ring back on Thursday.",
        "What went well: the {thing}. What did not: the {other}, again.",
        "{who} knows somebody who repaired a {thing} for {number} euros.",
        "Measured the {thing}: {number} by 60 cm. It does not fit beside the {other}.",
        "Note to self: ask {who} for photos of the {thing} before the next meeting.",
        "The {other} can wait; the {thing} cannot.",
    ),
    "de": (
        "Mit {who} über {thing} gesprochen, Entscheidung am {number}.",
        "{thing} hat {number} Stunden länger gedauert als geplant.",
        "Idee: erst {thing}, dann {other}.",
        "Wegen {thing} in der Werkstatt angerufen; sie melden sich am Donnerstag.",
        "{who} kennt jemanden, der {thing} für {number} Euro macht.",
        "Nicht vergessen: Fotos von {thing} und {other} ausdrucken.",
    ),
    "ko": (
        "{who} 님과 {thing} 이야기를 했다. {number}일에 다시 정하기로 함.",
        "{thing} 때문에 {number}시간이나 더 걸렸다.",
        "{thing} 먼저 하고 {other}은 다음 주에 하자.",
        "{thing} 옆에 {other}을 두면 편할 것 같다.",
    ),
    "zh": (
        "和{who}谈了{thing}的事，{number}号再决定。",
        "{thing}比计划多花了{number}个小时。",
        "先处理{thing}，再处理{other}。",
        "给{who}发了{thing}的照片。",
    ),
}
"""Sentences about everyday things, in four languages."""
SUBJECTS = {"en": THINGS, "de": GERMAN_THINGS, "ko": KOREAN_THINGS, "zh": CHINESE_THINGS}
HEADINGS = {
    "en": ("Open", "Next steps", "Background", "Log", "Ideas"),
    "de": ("Offen", "Nächste Schritte", "Hintergrund", "Notizen"),
    "ko": ("할 일", "메모", "배경", "다음 단계"),
    "zh": ("待办", "背景", "记录", "想法"),
}
