"""The bundled model's tokenizer for the bulk engine, rebuilt from the vocabulary in the weight file.

It uses SentencePiece rather than `tokenizers`: the same ids seven times faster, in 50 MB instead of 280.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from memoriter.embed.bundled._weightfile import WeightFile

_START, _PADDING, _END, _UNKNOWN = 0, 1, 2, 3


def tokenizer_model(weights: WeightFile) -> bytes:
    """Return the vocabulary as a serialised SentencePiece unigram model. It does not normalise: texts must be clean."""
    from sentencepiece import sentencepiece_model_pb2

    protobuf = cast("Any", sentencepiece_model_pb2)
    model = protobuf.ModelProto()
    pieces, scores = weights.vocabulary()
    for token_id, (piece, score) in enumerate(zip(pieces, scores.tolist(), strict=True)):
        # `<s>` and `</s>` are normal pieces, because the C engine also finds them in a text.
        kind = (
            protobuf.ModelProto.SentencePiece.UNKNOWN
            if token_id == _UNKNOWN
            else protobuf.ModelProto.SentencePiece.NORMAL
        )
        model.pieces.add(piece=piece, score=score, type=kind)
    trainer = model.trainer_spec
    trainer.model_type = protobuf.TrainerSpec.UNIGRAM
    trainer.vocab_size = len(pieces)
    trainer.bos_id, trainer.pad_id, trainer.eos_id, trainer.unk_id = _START, _PADDING, _END, _UNKNOWN
    normalizer = model.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = True
    normalizer.escape_whitespaces = True
    normalizer.remove_extra_whitespaces = False
    return cast("bytes", model.SerializeToString(deterministic=True))


class Tokenizer:
    """Converts clean text to the same ids as the C engine. Threads may share it."""

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self._processor = cast("Any", SentencePieceProcessor)(model_proto=model)

    def ids(self, text: str) -> list[int]:
        """Return the ids with start and end markers, without a limit."""
        ids: list[int] = self._processor.encode(text)
        return [_START, *(self._split_unknown(text, ids) if _UNKNOWN in ids else ids), _END]

    def _split_unknown(self, text: str, ids: list[int]) -> list[int]:
        """Return one unknown token per unknown character, as the C engine does; SentencePiece merges them into one."""
        pieces: list[str] = self._processor.encode(text, out_type=str)
        return [
            token_id
            for token_id, piece in zip(ids, pieces, strict=True)
            for _ in range(_unknown_length(token_id, piece))
        ]


def _unknown_length(token_id: int, piece: str) -> int:
    return len(piece) if token_id == _UNKNOWN else 1
