"""Models on this machine: GGUF files through llama.cpp, ONNX exports through onnxruntime."""

from memoriter.embed.local._hub import is_downloaded, is_model_uri

__all__ = ["is_downloaded", "is_model_uri"]
