"""HammerDB's TPROC-C, of a console or log: new orders a minute of a timed run, versions 2 to 5.

    HammerDB CLI v4.10
    Vuser 1:RUNNING
    Vuser 1:Beginning rampup time of 2 minutes
    Vuser 1:Timing test period of 5 in minutes
    Vuser 1:2 Active Virtual Users configured
    Vuser 1:TEST RESULT : System achieved 8043 NOPM from 16365 Oracle TPM
                    up to 3.x: System achieved 16365 Oracle TPM at 8043 NOPM
    Vuser 1:FINISHED SUCCESS                        or FINISHED FAILED, also after the result

and, with its time profile, of all users together:

    >>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : ...       or: >>>>> COMBINED METRICS ACROSS ALL USERS
    >>>>> PROC: NEWORD
    CALLS: 3427	MIN: 1.730ms	AVG: 36.332ms	MAX: 1220.165ms	TOTAL: 124508.229ms
    P99: 210.118ms	P95: 104.921ms	P50: 19.126ms	SD: 49.663ms	RATIO: 48.963%

NOPM, new orders a minute, means the same on every database and is the rate; TPM counts what each database takes for a
transaction, and is not read. Latencies are of new orders. Of TPROC-H nothing is read.

Source: HammerDB's documentation of 4.x (CLI scripting, time profile) and outputs of 3.2 to 5.0.
"""

import re

from ..base import Refusal, Run
from ..reader import Report, ReportReader

_FIGURE = re.compile(r"\b(AVG|P50|P95|P99): {0,4}(\d{1,12}(?:\.\d{1,6})?)ms")


class HammerDb(ReportReader):
    name = "hammerdb"
    program = "HammerDB"
    nothing = "there is no result of a timed run of TPROC-C"
    signs = (
        (b"TEST RESULT : System achieved",),
        (b"Vuser 1:RUNNING", b"Vuser 1:Beginning rampup"),
    )
    versions = re.compile(r".{0,400}?HammerDB CLI v(\d[\w.]{0,12})")
    labels = {
        "running": re.compile(r"(?:.{0,60}\b)?Vuser 1:RUNNING"),
        "rampup": re.compile(r"(?:.{0,60}\b)?Vuser 1:Beginning rampup time of (\d{1,5}) minutes"),
        "result": re.compile(
            r".{0,80}TEST RESULT : System achieved (?:(\d{1,12}) NOPM from (\d{1,12}) ([A-Z][\w. ]{0,30}?) TPM"
            r"|(\d{1,12}) ([A-Z][\w. ]{0,30}?) TPM at (\d{1,12}) NOPM)"
        ),
        "minutes": re.compile(r"(?:.{0,60}\b)?Vuser 1:Timing test period of (\d{1,5}) in minutes"),
        "users": re.compile(r"(?:.{0,60}[:\"])?(\d{1,6}) Active Virtual Users configured"),
        "failed": re.compile(r".{0,60}Vuser (\d{1,6}):FINISHED FAILED|Error in Virtual User (\d{1,6})\b"),
        "profile": re.compile(r">{4,5} ?(?:SUMMARY OF \d{1,6} ACTIVE VIRTUAL USERS|COMBINED METRICS ACROSS ALL USERS)"),
        "procedure": re.compile(r">{4,5} ?PROC: {0,4}(\w{1,20})"),
        "latency": re.compile(r"(?=.{0,300}\b(?:AVG|P50|P95|P99): )"),
    }

    def begins_report(self, report: Report, label: str) -> bool:
        if label == "running" and report.has("running", "rampup"):
            return True
        return label in ("running", "rampup", "result") and report.has("result")

    def judge_run(self, report: Report) -> Run | Refusal | None:
        begin, result, failed = (report.first(label) for label in ("running", "result", "failed"))
        if not result:
            begin = begin or report.first("rampup")
            return Refusal(begin.line, "the run did not finish: its result is missing") if begin else None
        if failed:
            users = dict.fromkeys(hit.match[1] or hit.match[2] for hit in report.all("failed"))
            return Refusal(failed.line, f"virtual users failed ({', '.join(list(users)[:10])}): the load was another")
        orders = int(result.match[1] or result.match[6])
        if not orders:
            return Refusal(result.line, "0 new orders a minute are no result")
        latency = _latency_of_new_orders(report)
        parameters: dict[str, str | int] = {"rate_of": "new orders", "database": result.match[3] or result.match[5]}
        for label, name in (("rampup", "rampup_minutes"), ("users", "virtual_users")):
            if hit := report.last(label):
                parameters[name] = int(hit.match[1])
        minutes = report.last("minutes")
        return Run(
            "tproc-c",
            result.line,
            ops_per_s=orders / 60,
            latency_ms=latency.pop("AVG", None) or None,
            duration_s=int(minutes.match[1]) * 60.0 or None if minutes else None,
            percentiles_ms={name.lower(): value for name, value in latency.items() if value},
            parameters=parameters,
        )


def _latency_of_new_orders(report: Report) -> dict[str, float]:
    """Return "AVG", "P50" ... of new orders, ms, by the profile of all users together."""
    procedure = ""  # empty before that profile
    latency: dict[str, float] = {}
    for hit in report.all("profile", "procedure", "latency"):
        if hit.label == "profile":
            procedure = "all"
        elif hit.label == "procedure" and procedure:
            procedure = hit.match[1]
        elif procedure == "NEWORD":
            for name, value in _FIGURE.findall(hit.match.string):
                latency.setdefault(name, float(value))
    return latency
