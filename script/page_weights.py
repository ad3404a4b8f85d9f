"""Prints how heavy each kind of page is and how much of it stands before its tabs, from a running server.

    .venv/bin/python script/page_weights.py [http://127.0.0.1:8000]

A row is a page: bytes, bytes as they were sent (compressed, where the server or its proxy does that) and requests with
an empty cache, words of the content before the tabs (all where there are none; closed details do not count), and the
height at the widths of a phone and a screen.
"""

import argparse
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, Response, sync_playwright

PAGES = {
    "front page": "/",
    "answer": "/?axis=hypervisor&workload=fileserver",
    "answer, ranking": "/?axis=hypervisor&workload=fileserver&tab=ranking",
    "answer, evidence": "/?axis=hypervisor&workload=fileserver&tab=evidence",
    "answer, lists only": "/?axis=fs-pair&workload=varmail&hypervisor=kvm",
    "every choice": "/known/varmail/?hypervisor=kvm",
    "comparison": "/compare/?axis=hypervisor&workload=fileserver",
    "mix": "/mix/?axis=fs-pair&hypervisor=kvm&varmail=60&webserver=40",
    "case study": "/case-studies/p1/",
    "knowledge": "/knowledge/",
    "workload": "/knowledge/workloads/varmail/",
    "claims": "/claims/",
    "quality": "/model-quality/",
    "glossary": "/knowledge/glossary/",
    "status": "/status/",
}
WIDTHS = (390, 1280)
SHOWN_WORDS = """() => {
    const main = document.querySelector("main").cloneNode(true);
    const tabs = main.querySelector("#answer-tabs");
    if (tabs) {
        const range = document.createRange();
        range.setStartBefore(tabs);
        range.setEndAfter(main.lastChild);
        range.deleteContents();
    }
    const unseen = "script, noscript, [hidden], details:not([open]) > :not(summary)";
    main.querySelectorAll(unseen).forEach((each) => each.remove());
    return main.textContent.split(/\\s+/).filter(Boolean).length;
}"""


def weights(browser: Browser, address: str) -> Iterator[int]:
    """Yield bytes, bytes sent, requests, words and the height at each width of the page at this address."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 844})
    answers: list[Response] = []
    page.on("response", lambda response: answers.append(response))  # Playwright marks it, as it cannot a built-in
    answer = page.goto(address, wait_until="networkidle")
    if answer is None or not answer.ok:
        status = answer.status if answer else "nothing"
        raise SystemExit(f"{address} answers {status}; is it a server with the evidence?")
    yield sum(len(response.body()) for response in answers if response.ok)
    yield sum(response.request.sizes()["responseBodySize"] for response in answers if response.ok)
    yield len(answers)
    yield page.evaluate(SHOWN_WORDS)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        yield page.evaluate("document.documentElement.scrollHeight")
    page.close()


def main() -> None:
    """Print a row for each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", default="http://127.0.0.1:8000")
    site = parser.parse_args().site.rstrip("/")
    print(f"{'page':20} {'bytes':>9} {'sent':>9} {'requests':>8} {'words':>6} {'px at 390':>9} {'px at 1280':>10}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name, path in PAGES.items():
            size, sent, requests, words, phone, screen = weights(browser, site + path)
            print(f"{name:20} {size:9,} {sent:9,} {requests:8} {words:6} {phone:9} {screen:10}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
