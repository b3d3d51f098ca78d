"""Numbers 68 to 82: budget, design, options."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from support.bad_inputs.case import Case, command, csv, designed, options, released
from support.cli_folder import DESIGN, PEOPLE


def bounds(text: str) -> str:
    return DESIGN.replace("bounds = [18, 90]", text)


def endless_design(folder: Path) -> list[str]:
    with (folder / "long.toml").open("wb") as file:
        file.truncate((1 << 30) + 1)
    return released(design="long.toml")


def deep(text: str) -> str:
    return f"{DESIGN}deep = {'[' * 5000}{']' * 5000}\n" if text == "list" else f"{DESIGN}{'a.' * 3000}b = 1\n"


CASES: Final = [
    *(
        Case(68, f"epsilon {text!r}", options(epsilon=text), 2, "epsilon")
        for text in ("0", "-1", "nan", "inf", "1e999", "abc", "1,5", "", "１")
    ),
    Case(69, "epsilon 9", csv(PEOPLE, "--epsilon", "9", "--new-release"), 3, "budget"),
    Case(69, "epsilon above 20", options(epsilon="21"), 2, "--allow-weak-privacy"),
    Case(70, "epsilon 1e-300", options(epsilon="1e-300"), 2, "epsilon"),
    Case(70, "epsilon 1e-300 without delta", options("--delta", "0", epsilon="1e-300"), 2, "epsilon"),
    Case(71, "delta 0 with Gaussian noise", options("--delta", "0", "--mechanism", "gaussian"), 2, "delta above 0"),
    *(Case(71, f"delta {text}", options("--delta", text), 2, "delta") for text in ("-1e-6", "nan", "1", "2", "tiny")),
    Case(72, "delta above 1e-3", options("--delta", "0.01"), 2, "--allow-weak-privacy"),
    Case(73, "bounds missing", designed(bounds("")), 2, "column 'age'"),
    *(
        Case(74, f"bounds {text}", designed(bounds(f"bounds = {text}")), 2, "column 'age': bounds")
        for text in ("[90, 18]", "[18, 18]", "[nan, 90]", "[18, inf]", "[18]", '["", ""]', "18")
    ),
    Case(75, "bounds too wide", designed(bounds("bounds = [-1.7e308, 1.7e308]")), 2, "too wide"),
    Case(75, "bounds too narrow", designed(bounds("bounds = [1e12, 1000000000001]")), 2, "too narrow"),
    Case(
        76, "declared column that is not there", designed(DESIGN + "[columns.height]\nbounds = [0, 3]\n"), 2, "'height'"
    ),
    Case(76, "bounds of nothing", designed(DESIGN + "[columns.remark]\n"), 2, "column 'remark'"),
    Case(77, "target unknown", designed(DESIGN.replace('"income"', '"wealth"')), 2, "unknown target 'wealth'"),
    Case(77, "target missing", designed(DESIGN.partition("\n")[2]), 2, "no 'target'"),
    Case(77, "target a category", designed(DESIGN.replace('"income"', '"region"')), 2, "categorical"),
    Case(77, "target also a feature", command("fit", "release.json", "--features", "income"), 2, "income"),
    Case(77, "no features", designed('target = "y"\n[columns.y]\nbounds = [0, 1]\n'), 2, "no regressor"),
    *(
        Case(78, f"level {text}", command("fit", "release.json", "--level", text), 2, "level")
        for text in ("0", "1", "1.5", "nan", "high")
    ),
    *(
        Case(
            78,
            f"strength {text}",
            command("fit", "release.json", "--penalty", "ridge", "--strength", text),
            2,
            "strength",
        )
        for text in ("-1", "nan", "cv")
    ),
    Case(79, "seed", options("--seed", "1"), 2, "--seed"),
    Case(80, "unknown option", options("--epsilom", "1"), 2, "--epsilom"),
    Case(80, "typo in a key", designed(bounds("bound = [18, 90]")), 2, "Did you mean 'bounds'?"),
    Case(80, "typo at the top", designed(DESIGN.replace("target", "traget", 1)), 2, "Did you mean 'target'?"),
    Case(80, "key twice", designed('target = "age"\n' + DESIGN), 2, "line 2: the design is not valid TOML"),
    Case(81, "1e400 as a bound", designed(bounds("bounds = [18, 1e400]")), 2, "not finite"),
    Case(81, "nan as radius", designed("radius = nan\n" + DESIGN), 2, "radius"),
    Case(81, "deep list", designed(deep("list")), 2, "nested too deeply"),
    Case(81, "deep key", designed(deep("key")), 2, "column 'region': unknown key 'a'"),
    Case(81, "longer than any design", endless_design, 2, "longer than 1 GiB"),
    Case(81, "not text", csv(PEOPLE, "--design", "existing.json"), 2, "not valid TOML"),
    *(
        Case(82, f"max_rows {text}", designed(f'{DESIGN}[unit]\nid = "who"\nmax_rows = {text}\n'), 2, "max_rows")
        for text in ("0", "-1", "1.5", "true", "10001")
    ),
    Case(82, "blank id", designed(f'{DESIGN}[unit]\nid = "  "\n'), 2, "without blanks at its ends"),
]
