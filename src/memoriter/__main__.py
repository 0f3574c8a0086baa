"""`python -m memoriter` is `memoriter`."""

from memoriter.cli import main

if __name__ == "__main__":
    main()
