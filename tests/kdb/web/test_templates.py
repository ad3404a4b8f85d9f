"""Template files are laid out for their readers, and pages have none of it."""

import pytest
from django.template import engines

from kdb.web.templates import Loader


@pytest.fixture
def loaded(tmp_path):
    def load(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        loader = Loader(engines["django"].engine, [tmp_path])
        return loader.get_contents(next(loader.get_template_sources(name)))

    return load


def test_the_end_of_a_line_with_its_indentation_is_one_space(loaded):
    assert loaded("page.html", "<p>\n  One\n\n  two,  three\n</p>\n") == "<p> One two,  three </p> "


@pytest.mark.parametrize("kept", ["<pre>\n a\n  b</pre>", '<pre class="x">a\n</pre>', "<textarea>\n\n a</textarea>"])
def test_what_is_laid_out_for_the_reader_stays(loaded, kept):
    assert loaded("page.html", f"<p>\n  x\n</p>\n{kept}\n<p>") == f"<p> x </p> {kept} <p>"


def test_a_text_that_is_no_page_stays_as_it_is(loaded):
    assert loaded("letter.txt", "One,\n\n  two.\n") == "One,\n\n  two.\n"
