"""Pictures of the first and the five main pages, light, dark and on a phone, into docs/screenshots.

Called by script/screenshots with the address of a server that has the published evidence and nothing else.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
# Page: (its address, the words of a heading or button to scroll to, or "")
PAGES = {
    "ask": ("/", ""),
    "answer": ("/?axis=hypervisor&workload=fileserver", ""),
    "compare": ("/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=xen&c=proxmox&d=hyper-v", ""),
    "mix": ("/mix/?axis=hypervisor&vm_count=1&varmail=50&webserver=30&fileserver=20", ""),
    "case-study": ("/case-studies/p1/", "Fair-play audit"),
    "search": ("/search/?q=btrfs", ""),
}
LOOKS = {  # color scheme, width and height in CSS pixels, device pixels each
    "light": ("light", 1280, 1000, 1),
    "dark": ("dark", 1280, 1000, 1),
    "phone": ("light", 390, 844, 2),
}


def main() -> None:
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for look, (scheme, width, height, pixels) in LOOKS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                device_scale_factor=pixels,
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page = context.new_page()
            for name, (path, words) in PAGES.items():
                while (answer := page.goto(f"{address}{path}")) and answer.status == 202:  # a worker works it out
                    page.wait_for_timeout(2000)
                page.wait_for_load_state("networkidle")
                if words:
                    place = page.get_by_role("heading", name=words).first
                    place.evaluate("element => window.scrollTo(0, element.getBoundingClientRect().top + scrollY - 24)")
                    page.wait_for_timeout(300)
                page.screenshot(path=FOLDER / f"{name}-{look}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
