"""Read what people ask in their own words.

In: a text, a machine, a job file. Out: the question, guide or page that answers it. Open `language.readings` first: it
reads a text in up to three ways. `guides` has a page for each choice, `advice` leads from a job file to a
recommendation; other rooms ask `selectors`.
"""
