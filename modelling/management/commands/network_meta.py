"""manage.py network_meta FILE.csv: the network estimators on any contrast table."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.estimation.network import EvidenceError
from modelling.research import contrast_table


class Command(BaseCommand):
    help = (
        "Network meta-analysis of a contrast table (CSV with the columns study, treat1, treat2, effect, se; effect is "
        "treat1 - treat2; a study of many arms gives all its pairs). Prints tables, or writes them as CSV with --out."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--components", action="store_true", help='Treatments are sums of components, "A + B".')
        parser.add_argument(
            "--bayes",
            action="store_true",
            help="Also integrate the spread between studies out: the interval of the mean and that of a new study, the "
            "probability of being best in a new study and the expected loss in percent when chosen, larger effects "
            "being better.",
        )
        parser.add_argument(
            "--tau-scale",
            type=float,
            default=0.3,
            help="With --bayes: scale of the half-normal prior of the standard deviation of contrasts between studies.",
        )
        parser.add_argument("--reference", help="Compare against this treatment only; with --components: inactive.")
        parser.add_argument(
            "--out",
            type=Path,
            help="Folder for estimates.csv, pscores.csv, summary.csv; components.csv; bayes.csv, probabilities.csv, "
            "tau.csv.",
        )

    def handle(
        self,
        *args: Any,
        file: Path,
        components: bool,
        bayes: bool,
        tau_scale: float,
        reference: str | None,
        out: Path | None,
        **options: Any,
    ) -> None:
        if bayes and components:
            raise CommandError("--bayes and --components are two models; ask for one at a time")
        try:
            trials = contrast_table.read(file.read_text(encoding="utf-8-sig"))
            tables = contrast_table.answer(trials, reference=reference, with_components=components)
            if bayes:
                tables |= contrast_table.integrated(trials, reference=reference, tau_scale=tau_scale)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CommandError(f"{file} is not text in UTF-8") from None
        except (contrast_table.TableError, EvidenceError) as error:
            raise CommandError(f"{file}: {error}") from None
        if out is None:
            for name, rows in tables.items():
                self.stdout.write(f"{name}\n{_readable(rows)}\n")
            return
        out.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            (out / f"{name}.csv").write_text(contrast_table.written(rows), encoding="utf-8")
            self.stdout.write(f"wrote {out / name}.csv ({len(rows)} rows)")


def _readable(rows: list[dict[str, Any]]) -> str:
    """Return rows in columns, numbers with six digits, missing ones as a dash."""
    cells = [list(rows[0])] + [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.6g}"
