"""What `memoriter tidy` proposes for notes of which it is known what may be proposed: `python -m benchmarks.tidy`.

`fit.txt` and `held.txt` have families of statements in English, German, Korean, Chinese and Spanish. The rules were
written with the first file; no family of the second one was looked at before.
"""
