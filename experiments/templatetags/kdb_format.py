"""Format numbers and units for pages, and mark what a source does not state. The API keeps full precision."""

import math
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

register = template.Library()

NOT_STATED = "not stated"
NBSP = "\N{NO-BREAK SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}"
EN_DASH = "\N{EN DASH}"


def is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _is_number(value: float | None) -> TypeGuard[float]:
    return not is_missing(value)


@register.filter
def number(value: float | None) -> str:
    """Return at most two decimals, three significant digits below 1: 16,700.44, 2.6, 0.0412."""
    return f"{value:,.{decimals(value)}f}" if _is_number(value) else NOT_STATED


@register.filter
def derivation(value: Any) -> str:
    """Return the origin and use of a derived value: "Follows from Section 6.1; used by rankings"."""
    use = "used by rankings" if value.is_evidence else "kept for checking"
    return f"Follows from {value.source}; {use}; not printed by the source"


@register.filter
def exact(value: float | None) -> str:
    """Return a number in full precision, as the API does, for scripts that read the page."""
    return "" if is_missing(value) else repr(value)


@register.filter
def number_to(value: float, places: int) -> str:
    """Return a number with as many decimals as its column has: 1 is "1.0" beside 1.5."""
    return f"{value:,.{places}f}"


def decimals(value: float) -> int:
    """Return how many decimals `number` prints."""
    if value == 0:
        return 0
    most = 2 if abs(value) >= 1 else 2 - math.floor(math.log10(abs(value)))
    return len(f"{value:.{most}f}".partition(".")[2].rstrip("0"))


@register.filter
def quantity(value: float | None, unit: str) -> str | SafeString:
    """Return a number with its unit: "13.04 MB/s"."""
    return stated(value) if is_missing(value) else f"{number(value)}{NBSP}{unit}"


@register.filter
def ratio(value: float | None) -> str:
    """Return "1.63×", with three significant digits, or more where the integer part has more."""
    return f"{_significant(value)}{TIMES}" if _is_number(value) else NOT_STATED


@register.simple_tag
def interval(low: float | None, high: float | None, unit: str = "") -> str:
    """Return "0.52 to 0.61 MiB/s"; one open end reads "at least" or "at most"."""
    suffix = f"{NBSP}{unit}" if unit else ""
    if is_missing(low) and is_missing(high):
        return NOT_STATED
    if is_missing(low):
        return f"at most {number(high)}{suffix}"
    if is_missing(high):
        return f"at least {number(low)}{suffix}"
    return f"{number(low)} to {number(high)}{suffix}"


@register.simple_tag
def ratio_interval(low: float | None, high: float | None) -> str:
    """Return "0.52–0.61×"."""
    if _is_number(low) and _is_number(high):
        return f"{_significant(low)}{EN_DASH}{_significant(high)}{TIMES}"
    return NOT_STATED


@register.filter
def percent(share: float | None) -> str:
    """Return a share of one: 0.05 is "5 %"."""
    return f"{number(share * 100)}{NBSP}%" if _is_number(share) else NOT_STATED


@register.filter
def stated(value: Any) -> str | SafeString:
    """Return the value itself, or a quiet "not stated" where the source leaves it open."""
    if is_missing(value) or value == []:
        return mark_safe(f'<span class="muted">{NOT_STATED}</span>')  # noqa: S308 (a constant)
    return number(value) if isinstance(value, float) else value


@register.filter
def block_size(size: int | None) -> str:
    """Return a number of bytes in the largest unit that divides it: 4096 is "4 KiB"."""
    if size is None:
        return NOT_STATED
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{NBSP}{unit}"
    return f"{size}{NBSP}B"


@register.filter
def data_size(size: int | None) -> str:
    """Return the size of a file or disk in bytes, to a tenth of a unit: 10**10 is "9.3 GiB"."""
    if size is None:
        return NOT_STATED
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f}{NBSP}{unit}"
    return f"{size}{NBSP}B"


@register.filter
def vm_count(count: int | None) -> str:
    """Return "Native", "1 VM" or "3 VMs"; None stands for a value over several counts."""
    if count is None:
        return "several counts"
    if count == 0:
        return "Native"
    return f"{count}{NBSP}VM" if count == 1 else f"{count}{NBSP}VMs"


@register.filter
def item(mapping: dict[str, Any], key: Any) -> Any:
    """Return the value under a key that is itself a variable."""
    return mapping[key]


@register.filter
def words(name: str) -> str:
    """Return a field's name in words: "cache mode"."""
    return name.replace("_", " ")


@register.filter
def anchor(source: str) -> str:
    """Return the URL fragment of a section or table of a source: "Section 6.1" is "section-6-1"."""
    return slugify(source.replace(".", " "))


@register.filter
def host_of(address: str) -> str:
    """Return the host name of a URL: "github.com"."""
    return urlsplit(address).hostname or address


@register.filter
def kit_slug(kit: str) -> str:
    """Return the name of a kit without its version: "cache-mode" of "cache-mode/1"."""
    return kit.partition("/")[0]


@register.filter
def grade_badge(grade: str) -> SafeString:
    """Return a badge with the grade of evidence."""
    return format_html('<span class="grade grade-{}" title="Evidence grade {}">{}</span>', grade.lower(), grade, grade)


@register.filter
def found_tag(finding: str) -> SafeString:
    """Return a coloured tag that tells whether a choice has an ability; where that is open, a muted word."""
    tone = {"yes": "tag tag-good", "with limits": "tag tag-open", "no": "tag tag-bad"}.get(finding, "muted")
    return format_html('<span class="{}">{}</span>', tone, finding)


@register.filter
def duration(seconds: float) -> str:
    """Return "40 s", "12 min", "3 h 5 min"."""
    if seconds < 100:
        return f"{seconds:.0f}{NBSP}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours}{NBSP}h {minutes}{NBSP}min" if hours else f"{minutes}{NBSP}min"


def _significant(value: float) -> str:
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 2) if abs(value) >= 0.1 else places}f}"
