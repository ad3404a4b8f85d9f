"""manage.py network_meta: the same estimators, checkable from outside."""

import csv
import io

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.integrate import quad
from scipy.stats import norm

from .test_network import REFERENCE, rows


def run(*arguments, **options) -> str:
    out = io.StringIO()
    call_command("network_meta", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def written(path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("data", "options", "tables"),
    [
        ("senn2013", [], ["estimates", "pscores", "summary"]),
        ("linde2016", ["--components", "--reference", "Placebo"], ["components", "summary"]),
    ],
)
def test_the_tables_have_the_columns_rows_and_numbers_of_the_reference(tmp_path, data, options, tables):
    run(REFERENCE / f"{data}_contrasts.csv", "--out", tmp_path / "out", *options)
    for table in tables:
        written_rows, expected = written(tmp_path / "out" / f"{table}.csv"), rows(f"{data}_{table}.csv")
        key = [column for column in expected[0] if column in ("treat1", "treat2", "treat", "component")]
        written_rows, expected = (sorted(t, key=lambda row: [row[k] for k in key]) for t in (written_rows, expected))
        assert [list(row) for row in written_rows] == [list(row) for row in expected]
        for mine, theirs in zip(written_rows, expected, strict=True):
            assert [mine[k] for k in key] == [theirs[k] for k in key]
            numbers = [column for column in theirs if column not in key]
            assert [float(mine[n]) for n in numbers] == pytest.approx([float(theirs[n]) for n in numbers], abs=1e-6)


def test_without_a_folder_it_prints_readable_tables():
    printed = run(REFERENCE / "senn2013_contrasts.csv", "--reference", "plac")
    assert "estimates" in printed
    assert "metf    plac" in printed


def table(tmp_path, *lines: str):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["study,treat1,treat2,effect,se", *lines]))
    return path


@pytest.mark.parametrize(
    ("lines", "complaints"),
    [
        (["s1,a,b,x,0.1", "s2,a,,0.1,y"], ["line 2: effect is 'x'", "line 3: se is 'y'", "line 3: treat2 is empty"]),
        (["s1,a,b,0.1,0"], ["study s1: a against b needs an effect and a standard error above zero"]),
        (["s1,a,b,0.1,0.1", "s1,b,c,0.1,0.1"], ["study s1: a trial of 3 arms needs all its pairs"]),
        (["s1,a,b,nan,0.1"], ["study s1"]),
        ([], ["the table has no contrast"]),
    ],
)
def test_every_bad_line_is_named_at_once(tmp_path, lines, complaints):
    with pytest.raises(CommandError) as refused:
        run(table(tmp_path, *lines))
    assert all(complaint in str(refused.value) for complaint in complaints)


def test_a_table_without_the_columns_says_which(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CommandError, match="study, treat1, treat2, effect, se are missing"):
        run(path)


def test_an_unknown_reference_names_the_known_ones(tmp_path):
    with pytest.raises(CommandError, match="known are a, b"):
        run(table(tmp_path, "s1,a,b,0.1,0.1"), "--reference", "c")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        run(tmp_path / "nothing.csv")


def test_one_trial_gives_no_variance_between_trials_and_no_made_up_zero(tmp_path):
    run(table(tmp_path, "s1,a,b,0.1,0.1"), "--out", tmp_path)
    (summary,) = written(tmp_path / "summary.csv")
    assert (summary["tau2"], summary["i2"], summary["df_q"]) == ("", "", "0")


def test_components_that_cannot_be_told_apart_are_named_and_not_estimated(tmp_path):
    path = table(tmp_path, "s1,a + b,none,0.5,0.1", "s2,c,none,0.2,0.1")
    run(path, "--components", "--reference", "none", "--out", tmp_path)
    components = {row["component"]: row for row in written(tmp_path / "components.csv")}
    assert (components["a"]["beta_random"], components["a"]["aliased_with"]) == ("", "b")
    assert float(components["c"]["beta_random"]) == pytest.approx(0.2)


def test_the_spread_between_studies_is_integrated_out_on_request(tmp_path):
    # One study: the mean is certain to its standard error, and a new study differs by tau, half-normal(0.2).
    run(table(tmp_path, "s1,a,b,0.3,0.1"), "--bayes", "--tau-scale", "0.2", "--out", tmp_path)
    (own, other, _, _) = rows_by_pair = written(tmp_path / "bayes.csv")
    assert list(own) == ["treat1", "treat2", "mean", "mean_low", "mean_high", "new_low", "new_high"]
    assert [(row["treat1"], row["treat2"]) for row in rows_by_pair] == [("a", "a"), ("b", "a"), ("a", "b"), ("b", "b")]
    assert {float(own[name]) for name in list(own)[2:]} == {0.0}
    assert float(other["mean"]) == pytest.approx(-0.3)

    def of_mean(x):
        return quad(lambda tau: 2 * norm.pdf(tau, 0, 0.2) * norm.cdf(x, -0.3, np.hypot(0.1, tau)), 0, 2)[0]

    def of_new(x):
        return quad(lambda tau: 2 * norm.pdf(tau, 0, 0.2) * norm.cdf(x, -0.3, np.sqrt(0.01 + 2 * tau**2)), 0, 2)[0]

    assert [of_mean(float(other[name])) for name in ("mean_low", "mean_high")] == pytest.approx([0.025, 0.975])
    assert [of_new(float(other[name])) for name in ("new_low", "new_high")] == pytest.approx([0.025, 0.975])
    probabilities = {row["treatment"]: row for row in written(tmp_path / "probabilities.csv")}
    assert float(probabilities["b"]["probability_best"]) == pytest.approx(1 - of_new(0.0))
    (tau,) = written(tmp_path / "tau.csv")
    assert [float(tau[name]) for name in ("median", "low", "high")] == pytest.approx(
        0.2 * norm.ppf([0.75, 0.5125, 0.9875])
    )


def test_every_connected_part_has_its_own_tau_and_probabilities(tmp_path):
    path = table(tmp_path, "s1,a,b,0.1,0.1", "s2,c,d,0.1,0.1", "s3,c,d,0.4,0.1")
    run(path, "--bayes", "--reference", "c", "--out", tmp_path)
    one, several = written(tmp_path / "tau.csv")
    assert float(one["median"]) == pytest.approx(0.3 * norm.ppf(0.75))
    assert float(several["median"]) != pytest.approx(float(one["median"]))
    assert [row["treat1"] for row in written(tmp_path / "bayes.csv")] == ["c", "d"]
    best = [float(row["probability_best"]) for row in written(tmp_path / "probabilities.csv")]
    assert (best[0] + best[1], best[2] + best[3]) == pytest.approx((1, 1))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--components"], "one at a time"),
        (["--tau-scale", "0"], "scale of tau is 0.0; a number above zero"),
        (["--tau-scale", "nan"], "scale of tau"),
    ],
)
def test_what_cannot_be_integrated_is_refused_with_the_reason(tmp_path, options, complaint):
    with pytest.raises(CommandError, match=complaint):
        run(table(tmp_path, "s1,a,b,0.1,0.1"), "--bayes", *options)


def test_studies_whose_errors_cannot_be_true_together_are_named(tmp_path):
    path = table(tmp_path, "s1,a,b,0,1", "s1,a,c,0,0.1", "s1,b,c,0,0.1")
    with pytest.raises(CommandError, match="study s1: the standard errors of its pairs cannot be true together"):
        run(path, "--bayes")
