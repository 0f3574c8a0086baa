"""What many people do without: each package here is found by its entry points, like one from elsewhere.

No other package of memoriter imports them, and none of them imports another. Each works through what the packages of
memoriter offer to everybody.
"""
