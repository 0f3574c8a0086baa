"""Vocabularies with natural word frequencies (Zipf, Mandelbrot): a few words are common, most are rare."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Language = Literal["en", "ko", "zh", "ja"]

EXPONENT = 1.05
SHIFT = 3.0
"""A word of rank r is drawn with weight (r + SHIFT) ** -EXPONENT, as in running text of notes."""
TOPICS = 48
TOPIC_WORDS = 60
TOPIC_SHARE = 0.35
"""Share of the words of a note that come from its topic, so that notes differ as real ones do."""

_COMMON: dict[Language, str] = {
    "en": """ledger gateway backup release invoice meeting server budget database review customer contract router
    password migration deadline schedule supplier incident latency warehouse payment report certificate draft proposal
    network apartment dentist recipe garden flight hotel passport insurance battery heating garage bicycle school
    teacher birthday library kitchen window printer keyboard camera ticket refund delivery receipt account salary
    interview candidate manager designer engineer analyst partner vendor auditor lawyer landlord neighbour doctor
    nurse
    Alice Bruno Carmen Dmitri Elena Farid Greta Hiro Ines Jonas Kofi Lucia Mateus Noor Oskar Priya Quentin Rosa Sven
    Tomas Postgres SQLite Redis Kafka Grafana Terraform Kubernetes Ansible Wireguard Nginx""",
    "ko": """회의 일정 예산 서버 배포 결제 고객 계약 백업 보고서 데이터베이스 공유기 비밀번호 인증서 장애 창고 공급사
    디자인 면접 급여 보험 여권 항공권 호텔 치과 병원 유치원 선생님 생일 공연 도서관 냉장고 보일러 에어컨 프린터
    카메라 영수증 환불 택배 계좌 세금 월세 관리비 자전거 화분 반찬 김치 된장 운동 달리기 등산 수영""",
    "zh": """会议 预算 服务器 数据库 备份 合同 客户 发票 供应商 仓库 付款 报告 证书 密码 路由器 故障 延迟 部署 迁移
    设计 面试 工资 保险 护照 机票 酒店 牙医 医院 学校 老师 生日 音乐会 图书馆 冰箱 空调 打印机 相机 收据 退款 快递
    账户 房租 自行车 菜谱 花园 跑步 爬山""",
    "ja": """会議 予算 サーバー データベース バックアップ 契約 顧客 請求書 取引先 倉庫 支払い 報告書 証明書 パスワード
    ルーター 障害 遅延 配備 移行 設計 面接 給料 保険 旅券 航空券 ホテル 歯医者 病院 学校 先生 誕生日 図書館 冷蔵庫
    エアコン プリンター カメラ 領収書 返金 荷物 口座 家賃 自転車 料理 庭 散歩 登山""",
}
_SYLLABLES: dict[Language, str] = {
    "en": """bar cal den fer gol han jor kel lin mon nar pel quin ros sal tor ul ven wes yor zan bri cla dro fla gri kra
    pli sta tri vel mar dun hol ber nis ter rin lok sen dal vor mel ton rad hel kin pas""",
    "ko": """가강건경고공관교구국금기남단대도동로리명무문미민방배보부비사산상생서석선성세소수시신실안양업연영용우운원
    유의인일자장전정제조주중지진창천청출통판평표품하학한해현형호화회""",
    "zh": """安北本部材产场车成城程出处传大单道地点电定东动度端多发法方放分风服高工公功关管光规国海行合和化环回机基集
    计加家间建交教接结解金进经开科口理力联量料流路面民明目内能品期气器前情区全人日设生时实市事手书术数水司体
    天通统图外网文务物系现线项心新信形性学研要业义用员原源运展政知制质中种重主专装资自总组作""",
    "ja": """安案域員運営駅温化科回開学価感管館気期器機技議客業金区具空計形系県見研件券験現庫語校工公交向行国査際材作
    算使市指事時式室質実車社者手種集住術出所書場情状食心信新図数世性生製線選全組装送速測体待台代題単地知置着
    注長調通定点店電伝都度答動道特日入年能配売発番品部風物文分変便保報方法本面目問約輸予用要利理流料力連路""",
}
_IDENTIFIERS = ("config", "client", "retry", "cache", "session", "worker", "token", "batch", "query", "index")
_SIZES: dict[Language, int] = {"en": 12_000, "ko": 5_000, "zh": 5_000, "ja": 5_000}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of one language by rank, the most frequent first."""

    words: tuple[str, ...]
    weights: tuple[float, ...]
    """Cumulative."""
    topics: tuple[tuple[str, ...], ...]

    def draw(self, source: random.Random, topic: int) -> str:
        """Return a random word; words of the topic are more likely."""
        if source.random() < TOPIC_SHARE:
            own = self.topics[topic]
            return source.choices(own, cum_weights=self.weights[: len(own)])[0]
        return source.choices(self.words, cum_weights=self.weights)[0]


def vocabularies(seed: int) -> dict[Language, Vocabulary]:
    """Return one vocabulary per language; a seed always gives the same."""
    return {language: _vocabulary(language, random.Random(f"{seed} {language}")) for language in _COMMON}


def _vocabulary(language: Language, source: random.Random) -> Vocabulary:
    words = dict.fromkeys(_COMMON[language].split())
    parts = _SYLLABLES[language].split()
    syllables = parts if language == "en" else list("".join(parts))
    while len(words) < _SIZES[language]:
        words[_made_up(language, syllables, source)] = None
    ranked = tuple(words)
    weights = tuple(accumulate((rank + SHIFT) ** -EXPONENT for rank in range(len(ranked))))
    topics = tuple(tuple(source.sample(ranked[40:], TOPIC_WORDS)) for _ in range(TOPICS))
    return Vocabulary(ranked, weights, topics)


def _made_up(language: Language, syllables: Sequence[str], source: random.Random) -> str:
    """Return a rare word: in English a name, an identifier or a number, in other languages a compound."""
    if language != "en":
        return "".join(source.choices(syllables, k=source.choice((2, 2, 2, 3))))
    kind = source.random()
    if kind < 0.06:
        return f"{source.choice(_IDENTIFIERS)}_{source.choice(syllables)}{source.choice(syllables)}"
    if kind < 0.1:
        return f"{source.choice('ABCDEFGH')}{source.choice('KLMNPRST')}-{source.randrange(10, 9999)}"
    if kind < 0.14:
        return f"{source.getrandbits(28):07x}"
    word = "".join(source.choices(syllables, k=source.choice((2, 2, 3))))
    return word.capitalize() if kind < 0.3 else word
