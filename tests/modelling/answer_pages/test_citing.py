"""An answer as it is cited, and as search engines read it."""

import json
import re
from datetime import date

from kdb.web import linked_data
from modelling.answer_pages.citing import Citation

ADDRESS = "https://kdb.example.org/?axis=fs-pair&workload=varmail&as_of=3&method=12"
CITED = Citation(
    title="Mail server: which file-system pair?",
    says="</script><script>alert(1)</script> & more",
    address=ADDRESS,
    revision=3,
    method=12,
    given_on=date(2026, 11, 25),
)


def test_every_form_names_the_permanent_address_with_revision_and_method():
    item = json.loads(CITED.csl)[0]

    assert CITED.text.endswith(f"As of knowledge revision 3, method 12. {ADDRESS}")
    assert f"url = {{{ADDRESS}}}" in CITED.bibtex
    assert CITED.bibtex.startswith("@misc{kdb-")
    assert (item["URL"], item["version"]) == (ADDRESS, "knowledge revision 3, method 12")
    assert item["issued"] == {"date-parts": [[2026, 11, 25]]}


def test_linked_data_says_what_was_said_and_ends_no_element():
    element = linked_data.script(CITED.as_schema_org({"p1": "https://kdb.example.org/case-studies/p1/"}))

    inner = re.fullmatch(r'<script type="application/ld\+json">(.*)</script>', element)[1]
    assert "<" not in inner
    assert ">" not in inner
    claim = json.loads(inner)
    assert (claim["@type"], claim["text"]) == ("Claim", CITED.says)
    assert claim["isBasedOn"][0]["identifier"] == "p1"
