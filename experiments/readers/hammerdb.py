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
transaction, and is kept beside it. Latencies are of new orders. Of TPROC-H nothing is read.

Source: HammerDB's documentation of 4.x (CLI scripting, time profile) and outputs of 3.2 to 5.0.
"""

import re

from .base import Operation, Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 400

_BANNER = re.compile(r"HammerDB CLI v(\d[\w.]{0,12})")
_BEGIN = re.compile(r"(?:.{0,60}\b)?Vuser 1:(?:RUNNING|Beginning rampup time of (\d{1,5}) minutes)")
_PERIOD = re.compile(r"(?:.{0,60}\b)?Vuser 1:Timing test period of (\d{1,5}) in minutes")
_USERS = re.compile(r"(?:.{0,60}[:\"])?(\d{1,6}) Active Virtual Users configured")
_RESULT = re.compile(
    r".{0,80}TEST RESULT : System achieved (?:(\d{1,12}) NOPM from (\d{1,12}) ([A-Z][\w. ]{0,30}?) TPM"
    r"|(\d{1,12}) ([A-Z][\w. ]{0,30}?) TPM at (\d{1,12}) NOPM)"
)
_FAILED = re.compile(r".{0,60}Vuser (\d{1,6}):FINISHED FAILED|Error in Virtual User (\d{1,6})\b")
_PROFILE = re.compile(r">{4,5} ?(?:SUMMARY OF \d{1,6} ACTIVE VIRTUAL USERS|COMBINED METRICS ACROSS ALL USERS)")
_PROC = re.compile(r">{4,5} ?PROC: {0,4}(\w{1,20})")
_FIGURE = re.compile(r"\b(AVG|P50|P95|P99): {0,4}(\d{1,12}(?:\.\d{1,6})?)ms")


class HammerDb:
    name = "hammerdb"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"TEST RESULT : System achieved" in start or (
            b"Vuser 1:RUNNING" in start and b"Vuser 1:Beginning rampup" in start
        )

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("runs", MAX_RUNS)
        version = ""
        run = _Open()
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _BANNER.search(line):
                if version and match[1] != version:
                    reason = f"HammerDB {match[1]} here and {version} above: two installations in one file"
                    outcomes.add(Refusal(number, f"{reason}; give each its own"))
                    break
                version = match[1]
            elif match := _BEGIN.match(line):
                if run.result or (run.began and not match[1]):
                    outcomes.add(*run.judged())
                    run = _Open()
                run.began = run.began or number
                if match[1]:
                    run.parameters["rampup_minutes"] = int(match[1])
            elif (match := _RESULT.match(line)) and run.result:
                outcomes.add(*run.judged())
                run = _Open(result=(number, match))
            else:
                run.take(number, line)
        outcomes.add(*run.judged())
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no result of a timed run of TPROC-C"))
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


class _Open:
    """One run, from its start to the next."""

    def __init__(self, result: tuple[int, re.Match[str]] | None = None) -> None:
        self.began: int | None = None
        self.result = result
        self.failed: dict[str, int] = {}  # users, each with its line
        self.parameters: dict[str, str | int] = {}
        self.minutes = 0
        self.profile = ""  # "": none yet; "all": of all users together; else the procedure it tells of
        self.latency: dict[str, float] = {}

    def take(self, number: int, line: str) -> None:
        if match := _RESULT.match(line):
            self.result = number, match
        elif match := _PERIOD.match(line):
            self.minutes = int(match[1])
        elif match := _USERS.match(line):
            self.parameters["virtual_users"] = int(match[1])
        elif match := _FAILED.match(line):
            self.failed.setdefault(match[1] or match[2], number)
        elif _PROFILE.match(line):
            self.profile = "all"
        elif self.profile and (match := _PROC.match(line)):
            self.profile = match[1]
        elif self.profile == "NEWORD":
            for name, value in _FIGURE.findall(line):
                self.latency.setdefault(name, float(value))

    def judged(self) -> list[Run | Refusal]:
        if not self.result:
            return [Refusal(self.began, "the run did not finish: its result is missing")] if self.began else []
        line, match = self.result
        if self.failed:
            users = ", ".join(list(self.failed)[:10])
            return [Refusal(next(iter(self.failed.values())), f"virtual users failed ({users}): the load was another")]
        orders, transactions = int(match[1] or match[6]), int(match[2] or match[4])
        if not orders:
            return [Refusal(line, "0 new orders a minute are no result")]
        percentiles = {name.lower(): value for name, value in self.latency.items() if name != "AVG" and value}
        operations = [Operation("new orders", line, None, orders / 60)]
        if transactions:
            operations.append(Operation("transactions", line, None, transactions / 60))
        return [
            Run(
                "tproc-c",
                line,
                ops_per_s=orders / 60,
                latency_ms=self.latency.get("AVG") or None,
                duration_s=self.minutes * 60.0 or None,
                percentiles_ms=percentiles,
                operations=tuple(operations),
                parameters={"rate_of": "new orders", "database": match[3] or match[5], **self.parameters},
            )
        ]
