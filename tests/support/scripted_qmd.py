"""A program in the place of QMD, for machines without it: the same commands, outputs and faults, as recorded of 2.8.3.

It runs without site packages, as it is started many times. What it does wrong is in `faults.json` beside it, and
`calls.jsonl` has a line for each start. It indexes files by their words and knows no model; with `vectors.json` in its
cache folder, which `embed` writes, a search by meaning finds files with any of the words.
"""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIG = Path(os.environ.get("XDG_CONFIG_HOME", ""), "qmd", "index.yml")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", ""), "qmd")
DATABASE = CACHE / "index.sqlite"
VECTORS = CACHE / "vectors.json"
TRACE = """file:///opt/qmd/dist/store.js:88
    throw new Error("boom");
          ^

Error: boom while reading the index
    at open (file:///opt/qmd/dist/store.js:88:11)

Node.js v22.23.3
"""
LOCKED = """node:internal/modules/run_main:123
SqliteError: database is locked
    at Database.exec (/opt/qmd/node_modules/better-sqlite3/lib/methods/wrappers.js:9:14) {
  code: 'SQLITE_BUSY'
}
"""


def words(text):
    return re.findall(r"\w+", text.lower())


def commit_fault(fault):
    """Do what is wrong; returns if the program goes on afterwards."""
    if fault == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:  # the launcher of the real program has a child, too
            (HERE / "child").write_text(str(os.getpid()))
        time.sleep(600)
    elif fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "flood":
        for _ in range(200):
            sys.stdout.write("x" * 100_000)
    elif fault == "chatter":
        while True:
            print('{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}')
    elif fault.startswith("wait "):
        time.sleep(float(fault.split()[1]))
        return
    else:
        output, errors, code = {
            "garbage": ("Loading models…\nnot json\n", "", 0),
            "silent": ("", "", 0),
            "sentence": ("No results found.\n", "", 0),
            "trace": ("", TRACE, 1),
            "locked": ("", LOCKED, 1),
            "refuses": ("", "error: unknown option '--json'\n", 1),
            "forgot": ("", "Collection not found: memory-dir-main\n", 1),
            "no model": ("", 'Error: No model file found at "/models/none.gguf"\n', 1),
        }[fault]
        sys.stdout.write(output)
        sys.stderr.write(errors)
        sys.stdout.flush()
        sys.exit(code)
    sys.exit(0)


def fault_of(command):
    try:
        faults = json.loads((HERE / "faults.json").read_text())
    except FileNotFoundError:
        return
    if fault := faults.get(command):
        commit_fault(fault)


def collections():
    return json.loads(CONFIG.read_text())["collections"]


def database():
    return json.loads(DATABASE.read_text()) if DATABASE.exists() else {}


def files_of(collection):
    root = Path(collection["path"])
    names = collection.get("pattern", "**/*.md").split(",")
    found = {}
    for name in names:
        for file in sorted(root.glob(name)):
            relative = file.relative_to(root)
            hidden = any(part.startswith(".") or part == "build" for part in relative.parts)
            if not hidden and file.is_file() and (content := file.read_text("utf-8", "replace")):
                found[relative.as_posix()] = content
    return found


def update(_):
    stored = database()
    current = {}
    for number, (name, collection) in enumerate(collections().items(), 1):
        old = stored.get(name, {})
        new = files_of(collection)
        current[name] = new
        changed = sum(1 for path in new if path in old and old[path] != new[path])
        added = len(new.keys() - old.keys())
        removed = len(old.keys() - new.keys())
        counts = f"{added} new, {changed} updated, {len(new) - added - changed} unchanged, {removed} removed"
        print(f"[{number}/{len(collections())}] {name} ({collection['pattern']})\n\nIndexed: {counts}\n")
    DATABASE.write_text(json.dumps({**stored, **current}))


def embed(_):
    count = len({text for files in database().values() for text in files.values()})
    VECTORS.write_text(json.dumps(count))
    print(f"Done! Embedded {count} chunks from {count} documents in 0.1s")


def status(_):
    total = sum(len(files) for files in database().values())
    vectors = json.loads(VECTORS.read_text()) if VECTORS.exists() else 0
    pending = f"  Pending:  {total - vectors} need embedding (run 'qmd embed')\n" if total > vectors else ""
    print(f"QMD Status\n\nDocuments\n  Total:    {total} files indexed\n  Vectors:  {vectors} embedded\n{pending}")


def collection(arguments):
    action, name = arguments
    assert action == "remove"
    content = json.loads(CONFIG.read_text())
    if content["collections"].pop(name, None) is None:
        sys.exit(f"Collection not found: {name}")
    CONFIG.write_text(json.dumps(content))
    DATABASE.write_text(json.dumps({key: files for key, files in database().items() if key != name}))
    print(f"✓ Removed collection '{name}'")


def cleanup(_):
    print("✓ Database vacuumed")


def lines_with(text, wanted):
    """The best line, and three lines around it as a range."""
    lines = text.split("\n")
    scores = [sum(word in words(line) for word in wanted) for line in lines]
    best = max(range(len(lines)), key=lambda number: scores[number])
    first = max(0, best - 1)
    last = min(len(lines), best + 2)
    return best + 1, first + 1, lines[first:last], len(lines) - last


def matches(names, wanted, all_words):
    """The rows of the files with the words, as prefixes; those with more of them first."""
    rows = []
    stored = database()
    for name in names:
        for path, text in stored.get(name, {}).items():
            there = words(f"{path} {text}")
            held = [word for word in wanted if any(each.startswith(word) for each in there)]
            if held and (len(held) == len(wanted) or not all_words):
                line, first, shown, after = lines_with(text, wanted)
                header = f"@@ -{first},{len(shown)} @@ ({first - 1} before, {after} after)"
                title = next((each.lstrip("# ") for each in text.split("\n") if each.startswith("#")), path)
                row = {"docid": "#1", "score": 0, "file": f"qmd://{name}/{path}", "line": line, "title": title}
                rows.append((len(held), {**row, "snippet": "\n".join([header, *shown])}))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def typed(lines, names):
    """The rows of each line, fused: 1, 0.5, 0.33…"""
    found = {}
    for kind, text in lines:
        if kind == "lex" and text.count('"') % 2:
            sys.exit("Lex query has an unmatched double quote")
        if kind != "lex" and not VECTORS.exists():
            continue
        kept = " ".join(word for word in text.split() if not word.startswith("-"))
        for row in matches(names, words(kept), all_words=kind == "lex") if kept else []:
            found.setdefault(row["file"], [row, 0])[1] += 1
    ordered = [row for row, _ in sorted(found.values(), key=lambda pair: -pair[1])]
    return [{**row, "score": round(1 / rank, 2)} for rank, row in enumerate(ordered, 1)]


def default_names():
    """The collections of a search that names none: those of the default, else all that are stored."""
    return [name for name, each in collections().items() if each.get("includeByDefault", True)] or list(database())


def search(arguments, command="search"):
    rows = None
    names = []
    limit = 20
    flags = arguments
    query = ""
    if "--" in arguments:
        flags = arguments[: arguments.index("--")]
        query = " ".join(arguments[arguments.index("--") + 1 :])
    for number, word in enumerate(flags):
        if word == "-c":
            names.append(flags[number + 1])
        elif word == "-n":
            limit = int(flags[number + 1])
    unknown = [name for name in names if name not in collections()]
    if unknown:
        sys.exit(f"Collection not found: {unknown[0]}")
    names = names or default_names()
    lines = [tuple(part.strip() for part in line.partition(":")[::2]) for line in query.split("\n")]
    lines = [(kind, text) for kind, text in lines if kind in {"lex", "vec", "hyde"}]
    if command == "query" and lines:
        rows = typed(lines, names)
    elif command == "search":
        plain = [word for word in query.split() if not word.startswith("-")]
        rows = matches(names, words(" ".join(plain)), all_words=True) if plain else []
    else:
        found = matches(names, words(query), all_words=False) if VECTORS.exists() else []
        rows = [{**row, "score": 0.7} for row in found]
    print(json.dumps(rows[:limit], indent=2, ensure_ascii=False))


def call_tool(parameters):
    """The tool `query` of the MCP server."""
    given = parameters["arguments"]
    lines = [(each["type"], each["query"]) for each in given.get("searches", [("lex", given.get("query", ""))])]
    if any(kind == "lex" and text.count('"') % 2 for kind, text in lines):
        return {"isError": True, "content": [{"type": "text", "text": "Lex query has an unmatched double quote"}]}
    rows = typed(lines, given.get("collections") or default_names())[: given["limit"]]
    for row in rows:
        row["file"] = row["file"].removeprefix("qmd://")
        numbered = enumerate(row["snippet"].split("\n"), row["line"])
        row["snippet"] = "\n".join(f"{number}: {line}" for number, line in numbered)
        row["context"] = None
    return {"content": [{"type": "text", "text": f"Found {len(rows)}"}], "structuredContent": {"results": rows}}


def mcp(_):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "tools/call":
            fault_of("mcp query")
            result = call_tool(message["params"])
        else:
            result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "qmd"}}
        print('{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}')
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


def main(arguments):
    with (HERE / "calls.jsonl").open("a") as calls:
        call = {"arguments": arguments, "cwd": str(Path.cwd()), "environ": dict(os.environ), "pid": os.getpid()}
        calls.write(f"{json.dumps(call)}\n")
    command = arguments[0] if arguments else ""
    fault_of(command)
    if command in {"--version", "-v"}:
        print("qmd 2.8.3 (facd35e)")
        return
    known = {"update": update, "embed": embed, "status": status, "collection": collection, "cleanup": cleanup}
    known |= {"search": search, "mcp": mcp}
    for name in ("vsearch", "query"):
        known[name] = lambda rest, name=name: search(rest, name)
    if command not in known:
        sys.exit(f"Unknown command: {command}")
    known[command](arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
