"""Write the mean vectors of general questions: src/memoriter/embed/bundled/question_centres.json.

    just questions

The questions are about no particular notes. Passages that are near to all of them are near to any question, so the
ranking subtracts a share of this nearness.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memoriter.embed import open_provider

FILE = Path(__file__).parents[1] / "src/memoriter/embed/bundled/question_centres.json"
QUESTIONS = {
    "latin": """
When is the next appointment?
What did we decide about the price?
Who is responsible for this?
Where did I put the documents?
How much did the repair cost?
Why was the meeting moved?
Which version do we use now?
How do I restart it?
What is the phone number of the doctor?
When does the contract end?
What went wrong yesterday?
Who was there that evening?
How long did the trip take?
What should I buy for the birthday?
Which hotel did we book?
What is the password for?
Did they answer our message?
How many people signed up?
What does she like to eat?
What is still open on the list?
Where does he live now?
Why did we choose this option?
What was the name of the book?
How often do I have to water the plants?
What did the customer complain about?
When was the last backup?
Which train do I have to take?
What is the rule for expenses?
What was the result of the test?
Is there anything she must not do?
Welche Frist gilt für die Rechnung?
¿Cuándo es la próxima reunión?
Qui s'occupe du projet ?
""",
    "hangul": """
다음 예약은 언제야?
가격은 어떻게 하기로 했지?
이건 누가 맡고 있어?
서류를 어디에 뒀더라?
수리비가 얼마 나왔어?
회의가 왜 미뤄졌지?
지금 어떤 버전을 쓰고 있어?
다시 켜려면 어떻게 해야 해?
병원 전화번호가 뭐였지?
계약은 언제 끝나?
어제 무슨 문제가 있었어?
그날 저녁에 누가 왔었지?
가는 데 얼마나 걸렸어?
생일 선물로 뭘 사기로 했지?
어느 호텔을 예약했어?
비밀번호를 어디에 적어 놨지?
연락에 답이 왔나?
몇 명이 신청했어?
그 사람은 무슨 음식을 좋아해?
아직 안 끝난 일이 뭐야?
지금 어디에 살고 있지?
왜 그 방법을 골랐어?
그 책 제목이 뭐였지?
화분에 물은 얼마나 자주 줘야 해?
고객이 뭐라고 불평했어?
마지막으로 백업한 게 언제야?
어느 기차를 타야 하지?
경비 처리 규칙이 어떻게 돼?
검사 결과는 어떻게 나왔어?
하면 안 되는 일이 뭐였지?
""",
    "han": """
下次预约是什么时候？
价格最后怎么定的？
这件事由谁负责？
文件放在哪里了？
修理花了多少钱？
会议为什么改期了？
现在用的是哪个版本？
要怎么重新启动？
医生的电话是多少？
合同什么时候到期？
昨天出了什么问题？
那天晚上谁来了？
路上花了多长时间？
生日打算买什么礼物？
我们订了哪家酒店？
密码记在什么地方？
他们回复我们了吗？
有多少人报名？
她喜欢吃什么？
还有哪些事没做完？
他现在住在哪儿？
当时为什么选这个方案？
那本书叫什么名字？
花要多久浇一次水？
客户抱怨了什么？
上一次备份是哪天？
应该坐哪一班火车？
报销有什么规定？
检查结果怎么样？
有什么是不能做的？
""",
    "kana": """
次の予約はいつ？
値段はどう決まったっけ？
これは誰が担当している？
書類はどこに置いた？
修理代はいくらだった？
会議はなぜ延期になったの？
今はどのバージョンを使っている？
再起動するにはどうすればいい？
病院の電話番号は何番？
契約はいつまで？
昨日は何が問題だったの？
あの晩は誰が来ていた？
移動にどれくらいかかった？
誕生日に何を買うことにした？
どのホテルを予約したっけ？
パスワードはどこに書いた？
返事はもう来た？
何人が申し込んだ？
彼女の好きな食べ物は何？
まだ終わっていないことは？
彼は今どこに住んでいる？
どうしてその方法を選んだの？
あの本の題名は何だった？
植木の水やりはどのくらいの頻度？
お客さんは何に困っていた？
最後にバックアップしたのはいつ？
どの電車に乗ればいい？
経費の決まりはどうなっている？
検査の結果はどうだった？
してはいけないことは何だった？
""",
}
"""Questions by script, one in each line."""


def measure_centres() -> dict[str, str]:
    """Return the mean vector of the questions in each script: (dims,) as little-endian float16, in Base64."""
    with TemporaryDirectory() as folder:
        provider = open_provider("bundled", cache_dir=Path(folder), threads=1)
        centres = {
            script: np.mean(
                [provider.embed([question], role="query")[0] for question in text.split("\n") if question], 0
            )
            for script, text in QUESTIONS.items()
        }
        provider.close()
    return {script: base64.b64encode(centre.astype("<f2").tobytes()).decode() for script, centre in centres.items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps(measure_centres(), indent=2) + "\n", "utf-8")
