"""Entries of the registry of deployments: YAML that says what the statement says."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import dpsu as command

import dpsu
from dpsu.outcome.statement import Statement

yaml = pytest.importorskip("yaml", reason="needs pyyaml")

FORM = {
    "basic": {
        "name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description",
        "publication_date", "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
    "deployment_model": {
        "model_name", "model_name_details", "actors", "release_type", "release_type_details", "data_source_type",
        "access_type",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
"""The keys of an entry of tier 3 in the registry."""

WORDS = {
    "basic": {"data_product_type": ("Summary statistics", "Dataset")},
    "dp_variant": {"variant_name": ("Approximate DP",)},
    "deployment_model": {
        "model_name": ("Central",), "release_type": ("One release", "Many releases"), "access_type": ("Non-interactive",),
    },
    "administrative": {"status": ("Draft",), "tier": (3,)},
}  # fmt: skip
"""Words of the registry's lists that dpsu fills in."""


def of_columns(**more: Any) -> Statement:
    frame = pl.DataFrame({"patient": range(400), "code": ["a"] * 400})
    how = {"epsilon": 2.0, "delta": 1e-7, "max_items": 5, "check_user": False, **more}
    made = dpsu.release(frame, user="patient", item="code", **how).statement
    assert made is not None
    return made


def statements() -> dict[str, Statement]:
    """One of every kind."""
    texts = {n: ["a b c"] for n in range(400)}
    baskets = {n: ["a", "b"] for n in range(400)}
    how: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6}
    made = {
        "single": of_columns(),
        "counts": of_columns(counts=True, title="Codes"),
        "period": of_columns(period="2026-01"),
        "laplace": of_columns(algorithm="ordered-laplace"),
        "named": of_columns(algorithm="focused-gaussian"),
        "levels": dpsu.ngrams(texts, longest=2, max_items=5, **how).statement,
        "tuned": dpsu.tune(baskets, settings=[{"max_items": 2}, {"max_items": 3}], **how).release.statement,
    }
    assert all(made.values())
    return made  # type: ignore[return-value]


def test_every_kind_of_statement_has_an_entry_of_the_registrys_form() -> None:
    for statement in statements().values():
        entry = yaml.safe_load(statement.to_registry())
        assert set(entry) == {"url_slug", "deployment"}
        assert {name: set(part) for name, part in entry["deployment"].items()} == FORM
        for part, fields in WORDS.items():
            assert all(entry["deployment"][part][name] in words for name, words in fields.items())
        loss = entry["deployment"]["privacy_loss"]
        assert loss["privacy_parameters"] == {"epsilon": statement.epsilon, "delta": statement.delta}
        assert str(statement.max_items) in loss["privacy_unit_details"]
        implementation = entry["deployment"]["implementation"]
        assert statement.algorithm in implementation["mechanisms"]
        assert statement.version in implementation["mechanisms"]
        assert all(
            claim in implementation["preprocessing_and_hyperparameter_tuning"] for claim in statement.rests_on
        )


def test_private_choices_and_changes_of_counts_are_told() -> None:
    def told(**how: Any) -> dict[str, str]:
        return dict(
            yaml.safe_load(of_columns(max_items="auto", **how).to_registry())["deployment"]["implementation"]
        )

    auto, named = told(counts=True), told(algorithm="focused-gaussian")
    assert "chosen privately" in auto["preprocessing_and_hyperparameter_tuning"]
    assert "chosen privately" not in named["preprocessing_and_hyperparameter_tuning"]
    assert auto["composition"] != named["composition"]
    assert "rounded" in auto["post_processing"]
    assert "rounded" not in named["post_processing"]


def test_the_noise_of_what_was_chosen_is_told_and_values_of_rounds_are_not() -> None:
    for name, statement in statements().items():
        entry = yaml.safe_load(statement.to_registry())["deployment"]["implementation"]["mechanisms"]
        assert "sigma" in entry or "scale" in entry, name
        assert "thresholds" not in entry, name
        assert len(entry) < 2500, name


def test_what_a_statement_holds_stays_one_value() -> None:
    evil = 'a: "b" # c\\\n- [d] \u2028\x07😀'
    statement = replace(of_columns(), title=evil, note=evil, proof=evil, rests_on=(evil,), unit=evil)
    entry = yaml.safe_load(statement.to_registry())["deployment"]
    assert entry["basic"]["name"] == entry["basic"]["description"] == evil
    assert evil in entry["implementation"]["mechanisms"]


def test_the_curators_fields_are_blank_and_marked() -> None:
    text = of_columns().to_registry()
    entry = yaml.safe_load(text)["deployment"]
    source = entry["administrative"]["evidence_sources"]["data_product"]
    assert entry["basic"]["intended_use"] == source["misc"]["url"] == ""
    assert text.count("# CURATOR") >= 10


def test_the_command(tmp_path: Path) -> None:
    path, written = tmp_path / "promise.json", tmp_path / "entry.yaml"
    of_columns(title="Codes").save(path)
    shown = command("statement", path)
    assert shown.returncode == 0, shown.stderr
    assert b"differentially private" in shown.stdout
    assert command("statement", path, "--registry", "-o", written).returncode == 0
    assert command("statement", path, "--registry").stdout.decode() == written.read_text()
    assert yaml.safe_load(written.read_text())["deployment"]["basic"]["name"] == "Codes"
    assert command("statement", path, "--registry", "-o", path).returncode != 0
    path.write_text("{}")
    refused = command("statement", path)
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == 1
