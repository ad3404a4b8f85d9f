"""No code stands bare in a sentence."""

from modelling.templatetags.kdb_codes import with_codes


def test_a_cost_term_says_what_it_is():
    title = "Cost term of the papers: file block access, file system 3"
    assert with_codes("B+ tree (C3.5).") == f'B+ tree (<abbr title="{title}">C3.5</abbr>).'


def test_a_hypothesis_leads_to_its_place():
    assert with_codes("by H3.1, H3.6") == (
        'by <a href="/hypotheses/#h31">H3.1</a>, <a href="/hypotheses/#h36">H3.6</a>'
    )


def test_what_looks_like_a_code_and_is_none_stays():
    for text in ("C3.9", "XC3.5", "release H12.5", "C3.55"):
        assert with_codes(text) == text


def test_the_text_around_is_escaped():
    assert with_codes("<b>H3.1") == '&lt;b&gt;<a href="/hypotheses/#h31">H3.1</a>'
