"""Models on this machine: GGUF files through llama.cpp, ONNX exports through onnxruntime."""
