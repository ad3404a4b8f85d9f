"""Commands as a runner gets them, held against a list that has everything: it has what KDB's own code sends."""

from collections.abc import Iterable, Sequence

from kdb_client import allowed as grammar
from kdb_client.allowed import Allowed, Script

from experiments.laboratory.transport import ssh
from experiments.runner.scripts import SCRIPTS

DIGESTS = {script.name: digest for digest, script in SCRIPTS.items()}


def all_allowed(**fields) -> Allowed:
    """Return a list that has everything there is."""
    scripts = {name: Script(DIGESTS[name], grammar.verbs_of(name)) for name in grammar.SCRIPTS}
    return Allowed(**{"pools": ["/srv/kdb", "fast"], "programs": [*grammar.PROGRAMS], "scripts": scripts} | fields)


def command(script: str, words: Sequence[str], **fields) -> dict:
    name = "kdb-remote:6a7b2a3c-0000-4000-8000-000000000001" if script else ""
    about = {"id": 1, "script": script, "name": name, "words": [*words], "given": "", "seconds": 60}
    return about | {"most_bytes": 2**20} | fields


def refused(sent: Iterable[Sequence[str]], pools: Iterable[str]) -> list[str]:
    """Return why commands would be refused that were sent over ssh."""
    allowed = all_allowed(pools=[*pools])
    reasons = []
    for words in sent:
        script = ssh.script_digest(words)
        asked = command(script, words[4:], name=words[3]) if script else command("", words)
        reasons.append(allowed.against(asked))
    return [why for why in reasons if why]
