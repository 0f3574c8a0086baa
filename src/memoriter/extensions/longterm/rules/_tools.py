"""Names of tools that take each other's place, by their kind: whoever switches to one of a kind gives up another."""

# ruff: noqa: E501 - a table of names

from __future__ import annotations

import re

_KINDS = {
    "package manager": "npm pnpm yarn bun",
    "Python package manager": "pip poetry pipenv uv conda hatch pdm rye",
    "build": "maven gradle bazel make cmake meson ninja ant sbt",
    "bundler": "webpack vite rollup parcel esbuild turbopack rspack",
    "linter": "eslint biome tslint oxlint flake8 ruff pylint",
    "formatter": "prettier black yapf dprint",
    "test": "jest vitest mocha jasmine ava pytest nose unittest",
    "browser test": "cypress playwright selenium puppeteer webdriverio",
    "database": "mysql mariadb postgresql postgres sqlite oracle mssql sqlserver mongodb couchdb dynamodb cassandra cockroachdb db2 duckdb",
    "cache": "redis memcached valkey dragonfly",
    "queue": "kafka rabbitmq pulsar nats sqs activemq",
    "search": "elasticsearch opensearch solr meilisearch typesense algolia",
    "language": "python java kotlin go golang rust ruby php typescript javascript c# c++ scala elixir perl swift",
    "web framework": "django flask fastapi rails laravel symfony spring express nestjs koa phoenix",
    "user interface": "react vue angular svelte solid preact ember jquery",
    "editor": "vim neovim emacs vscode sublime intellij pycharm webstorm zed cursor nano atom helix",
    "version control": "git svn subversion mercurial perforce",
    "code host": "github gitlab bitbucket gitea codeberg forgejo",
    "continuous integration": "jenkins circleci travis buildkite teamcity drone",
    "cloud": "aws azure gcp hetzner digitalocean linode ovh",
    "containers": "docker podman",
    "orchestration": "kubernetes k8s nomad swarm",
    "infrastructure": "terraform pulumi opentofu cloudformation",
    "web server": "nginx apache caddy traefik haproxy",
    "chat": "slack teams discord mattermost zulip rocketchat",
    "messenger": "whatsapp signal telegram threema line kakaotalk wechat",
    "meeting": "zoom meet webex jitsi",
    "issue tracker": "jira linear trello asana clickup redmine youtrack",
    "notes": "notion confluence obsidian evernote onenote logseq",
    "design": "figma sketch penpot",
    "operating system": "windows macos linux ubuntu debian fedora arch",
    "shell": "bash zsh fish powershell",
    "browser": "chrome firefox safari edge brave opera vivaldi",
    "mail": "gmail outlook protonmail thunderbird fastmail",
    "metrics": "prometheus datadog newrelic grafana zabbix nagios",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_NAME = re.compile(r"(?<![\w.-])[a-z][a-z0-9]*(?:\+\+|#)?(?![a-z0-9-])")


def tools_in(plain: str) -> dict[str, str]:
    """Return the kinds of the tools that a text in lower case names, by their names."""
    return {name: _KIND_OF[name] for name in _NAME.findall(plain) if name in _KIND_OF}


def without_tools(plain: str) -> str:
    """Return a text in lower case without the names of tools."""
    return _NAME.sub(lambda found: " " if found[0] in _KIND_OF else found[0], plain)
