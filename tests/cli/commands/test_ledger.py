"""`discreet ledger` and tracked releases: what is written, said and counted, and every way to be refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from discreet.ledger.ledger import Ledger
from discreet.releases import Release
from support.cli_folder import DESIGN, Call, contents

INIT = ("ledger", "init", "books.db", "--dataset", "people", "--epsilon", "1")
RELEASE = ("release", "people.csv", "--design", "design.toml", "--epsilon", "0.25", "--ledger", "books.db", "--dataset",
           "people", "-o")  # fmt: skip


@pytest.fixture
def books(folder: Path, call: Call) -> Path:
    assert call(*INIT).exit_code == 0
    return folder


def test_a_data_set_is_given_a_budget(folder: Path, call: Call) -> None:
    result = call(*INIT)
    assert result.exit_code == 0, result.stderr
    assert "New ledger books.db" in result.stdout
    assert "epsilon = 1, delta = 0 in total, accounting rule basic" in result.stdout
    more = call(
        "ledger", "init", "books.db", "--dataset", "visits", "--epsilon", "1", "--delta", "1e-6", "--rule", "zcdp",
        "--id", "person", "--max-rows", "3", "--neighbours", "replace", "--curve-share", "0.9",
    )  # fmt: skip
    assert more.exit_code == 0, more.stderr
    assert "protects one person with at most 3 rows, replace neighbours" in more.stdout
    assert [one.rule for one in Ledger("books.db").statuses()] == ["basic", "zcdp"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--epsilon", "nan"), 2, "epsilon"),
        (("--epsilon", "-1"), 2, "epsilon"),
        (("--epsilon", "1,5"), 2, "is not a number"),
        (("--delta", "2"), 2, "delta"),
        (("--rule", "gpd"), 2, "Did you mean 'gdp'"),
        (("--rule", "gdp"), 2, "requires delta above 0"),
        (("--max-rows", "3"), 2, "needs an id column"),
        (("--neighbours", "swap"), 2, "unknown neighbours"),
        (("--epsilon", "30"), 2, "allow-weak-privacy"),
        (("--curve-share", "x"), 2, "is not a number"),
        (("--dataset", ""), 2, "data set"),
    ],
)
def test_a_budget_that_is_none_is_refused_and_no_ledger_is_left(folder, call, words, code, message) -> None:
    before = contents(folder)
    result = call(*INIT, *words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert contents(folder) == before


def test_a_ledger_stays_when_a_second_declaration_is_refused(books: Path, call: Call) -> None:
    result = call(*INIT)
    assert result.exit_code == 2
    assert "is already declared" in result.stderr
    assert Ledger("books.db").status("people").epsilon == 1


def test_a_tracked_release_is_given_again_at_no_cost(books: Path, call: Call) -> None:
    first = call(*RELEASE, "one.json")
    assert first.exit_code == 0, first.stderr
    assert "Ledger      discreet-ledger:" in first.stdout
    assert "untracked" not in first.stdout
    assert "recorded now. Data set 'people' has spent epsilon = 0.25" in first.stdout
    second = call(*RELEASE, "one.json", "--force")
    assert "recorded earlier, so this is the same release and nothing more was spent" in second.stdout
    again = call(*RELEASE, "two.json", "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["repeated"] is True
    assert json.loads(again.stdout)["request"] == Ledger("books.db").history()[-1].request
    assert json.loads(again.stdout)["anchor"] == Release.load("one.json").anchor
    assert (books / "one.json").read_bytes() == (books / "two.json").read_bytes()
    assert Ledger("books.db").status("people").requests == 1
    paid = call(*RELEASE, "three.json", "--new-release")
    assert paid.exit_code == 0, paid.stderr
    assert (books / "three.json").read_bytes() != (books / "one.json").read_bytes()
    named = call(*RELEASE, "four.json", "--request-id", "march")
    assert named.exit_code == 0, named.stderr
    assert Ledger("books.db").status("people").requests == 3


def test_the_budget_refuses_with_its_own_code_before_a_row_is_read(books: Path, call: Call) -> None:
    (books / "people.csv").write_text("no such columns\n1\n")
    before = contents(books)
    result = call(*RELEASE, "out.json", "--epsilon", "2")
    assert result.exit_code == 3
    advice = "request a smaller epsilon or delta, or raise the budget"
    assert f"left: epsilon 1, delta 0. Nothing was spent; {advice}" in result.stderr
    assert contents(books) == before


def test_a_changed_table_needs_leave(books: Path, call: Call) -> None:
    assert call(*RELEASE, "one.json").exit_code == 0
    with (books / "people.csv").open("a") as file:
        file.write("5,44,south,x\n")
    refused = call(*RELEASE, "two.json")
    assert refused.exit_code == 2
    assert "--accept-changed-data" in refused.stderr
    assert call(*RELEASE, "two.json", "--accept-changed-data").exit_code == 0
    assert Ledger("books.db").status("people").spent_epsilon == 0.5


def test_a_table_that_is_read_otherwise_is_another_request(books: Path, call: Call) -> None:
    assert call(*RELEASE, "one.json").exit_code == 0
    assert call(*RELEASE, "two.json", "--encoding", "UTF8").exit_code == 0
    assert (books / "two.json").read_bytes() == (books / "one.json").read_bytes()
    assert call(*RELEASE, "three.json", "--encoding", "latin-1").exit_code == 0
    assert (books / "three.json").read_bytes() != (books / "one.json").read_bytes()
    assert Ledger("books.db").status("people").requests == 2


def test_a_release_that_is_there_without_this_signature_is_refused_with_nothing_spent(books: Path, call: Call) -> None:
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    written = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    (books / "key.pem").write_bytes(written)
    assert call(*RELEASE, "one.json").exit_code == 0
    refused = call(*RELEASE, "two.json", "--sign", "key.pem")
    assert (refused.exit_code, "without a signature by this key" in refused.stderr) == (2, True), refused.stderr
    assert not (books / "two.json").exists()
    unwritable = call(*RELEASE, "no/such/folder.json")
    assert unwritable.exit_code == 2
    assert Ledger("books.db").status("people").requests == 1


def test_a_guard_that_stops_is_exit_5_with_what_was_spent_and_left(books: Path, call: Call) -> None:
    (books / "design.toml").write_text(DESIGN.replace("bounds = [0", 'missing = "drop"\nbounds = [0', 1))
    (books / "people.csv").write_text("income,age,region\n" + "1.5.2,20,north\n" * 20_000)
    stopped = call(*RELEASE, "out.json", "--guard")
    assert (stopped.exit_code, stopped.stdout) == (5, ""), stopped.stderr
    said = "the guard stopped this release", "has spent epsilon = 0.0025", "left: epsilon 0.9975", "discreet check"
    for words in said:
        assert words in stopped.stderr
    assert not (books / "out.json").exists()
    again = call(*RELEASE, "out.json", "--guard")
    assert (again.exit_code, again.stderr) == (5, stopped.stderr)
    assert call(*RELEASE[:6], "-o", "out.json", "--guard").exit_code == 2


def test_an_error_in_the_table_costs_nothing(books: Path, call: Call) -> None:
    (books / "people.csv").write_text("income,age,region\nx,20,north\n")
    assert call(*RELEASE, "out.json").exit_code == 2
    assert Ledger("books.db").status("people").requests == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--dataset", "peple"), 2, "Did you mean 'people'"),
        (("--ledger", "none.db"), 4, "there is no ledger"),
        (("--ledger", "people.csv"), 4, "not a ledger"),
        (("--ledger", "."), 2, "is a folder"),
        (("--request-id", "a b"), 2, "request id"),
        (("--request-id", "a", "--new-release"), 2, "leave --request-id out, or leave --new-release out"),
    ],
)
def test_a_ledger_or_a_request_that_is_none_is_refused(books, call, words, code, message) -> None:
    before = contents(books)
    result = call(*RELEASE, "out.json", *words)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert contents(books) == before


def test_another_unit_is_refused(books: Path, call: Call) -> None:
    (books / "design.toml").write_text(DESIGN + '[unit]\nneighbours = "replace"\n')
    result = call(*RELEASE, "out.json")
    assert result.exit_code == 2
    assert "protects one row (add-remove)" in result.stderr


@pytest.mark.parametrize("words", [("--dataset", "people"), ("--ledger", "books.db"), ("--new-release",),
                                   ("--request-id", "a"), ("--accept-changed-data",)])  # fmt: skip
def test_options_of_a_ledger_need_one(books: Path, call: Call, words: tuple[str, ...]) -> None:
    result = call(*RELEASE[:6], "-o", "out.json", *words)
    assert result.exit_code == 2
    assert "--ledger and --dataset" in result.stderr


def test_the_ledger_is_not_overwritten_by_a_release(books: Path, call: Call) -> None:
    before = contents(books)
    assert call(*RELEASE, "books.db", "--force").exit_code == 2
    assert contents(books) == before


def test_a_repeated_request_that_is_refused_spends_nothing(books: Path, call: Call) -> None:
    key = Ed25519PrivateKey.generate()
    (books / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert call(*RELEASE, "one.json").exit_code == 0
    result = call(*RELEASE, "two.json", "--sign", "key.pem")
    assert (result.exit_code, "without a signature by this key" in result.stderr) == (2, True)


def test_replacing_a_release_warns_that_its_spend_remains(folder: Path, call: Call) -> None:
    words = (*RELEASE[:6], "-o", "out.json")
    assert "notice" not in call(*words).stderr
    result = call(*words, "--force")
    assert result.exit_code == 0
    assert "notice: 'out.json' will be replaced; the budget spent on the release in it stays spent" in result.stderr


def test_a_file_that_cannot_be_written_after_the_spend_names_the_request(books, call, monkeypatch) -> None:
    from discreet.errors import OutputError

    def fail(*given: object, **named: object) -> None:
        raise OutputError("cannot write 'out.json': No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Release, "save", fail)
        result = call(*RELEASE, "out.json")
    request = Ledger("books.db").history()[-1].request
    assert result.exit_code == 5
    assert f"request {request}" in result.stderr
    assert call("ledger", "export", "books.db", str(request), "-o", "out.json").exit_code == 0
    assert call(*RELEASE, "again.json").exit_code == 0
    assert (books / "again.json").read_bytes() == (books / "out.json").read_bytes()


def test_status_says_what_is_spent_left_and_would_be_left(books: Path, call: Call) -> None:
    call(*RELEASE, "out.json")
    result = call("ledger", "status", "books.db", "--epsilon", "0.5")
    assert result.exit_code == 0, result.stderr
    assert "epsilon = 0.25 at delta = 0, in 1 request\n" in result.stdout
    assert "Left        epsilon 0.75, delta 0\n" in result.stdout
    assert (
        "Planned     epsilon = 0.5, delta = 0 would leave epsilon 0.25, delta 0; a second release like it would"
        in result.stdout
    )
    refused = call("ledger", "status", "books.db", "--dataset", "people", "--epsilon", "0.9", "--design", "design.toml")
    assert "would be refused: it is more than is left" in refused.stdout
    document = json.loads(call("ledger", "status", "books.db", "--json", "--epsilon", "0.5").stdout)
    assert document["datasets"][0]["planned"]["left"] == {"epsilon": 0.25, "delta": 0.0}
    assert "planned" not in json.loads(call("ledger", "status", "books.db", "--json").stdout)["datasets"][0]
    for words in (("--design", "design.toml"), ("--delta", "0"), ("--epsilon", "0.1", "--mechanism", "gaussian")):
        assert call("ledger", "status", "books.db", *words).exit_code == 2
    (books / "design.toml").write_text(DESIGN + '[unit]\nneighbours = "replace"\n')
    other = call("ledger", "status", "books.db", "--epsilon", "0.1", "--design", "design.toml")
    assert "would be refused: the design protects another unit than the data set" in other.stdout


def test_an_unfinished_request_and_a_gaussian_example_are_shown(folder: Path, call: Call) -> None:
    from support.spends import asking

    call("ledger", "init", "books.db", "--dataset", "people", "--epsilon", "1", "--delta", "1e-6")
    receipt = Ledger("books.db").account("people")(asking(0.05))
    said = call("ledger", "status", "books.db").stdout
    assert f"Unfinished  {receipt.request_id}: repeat the same command to complete it" in said
    assert "Left        one Gaussian release of epsilon = " in said


def test_a_grant_raises_the_budget_and_history_lists_it(books: Path, call: Call) -> None:
    call(*RELEASE, "out.json")
    result = call("ledger", "grant", "books.db", "--dataset", "people", "--epsilon", "2", "--reason", "second wave")
    assert result.exit_code == 0, result.stderr
    assert "epsilon = 2, delta = 0 in total" in result.stdout
    lines = call("ledger", "history", "books.db").stdout.splitlines()
    assert [line.split()[2] for line in lines] == ["dataset", "reserve", "commit", "grant"]
    assert "second wave" in lines[-1]
    document = json.loads(call("ledger", "history", "books.db", "--dataset", "people", "--json").stdout)
    assert [line["kind"] for line in document] == ["dataset", "reserve", "commit", "grant"]
    lower = call(
        "ledger", "grant", "books.db", "--dataset", "people", "--epsilon", "1", "--delta", "0", "--reason", "x"
    )
    assert (lower.exit_code, "a grant must raise the budget" in lower.stderr) == (2, True)


def test_verify_compares_a_release_with_its_ledger(books: Path, call: Call) -> None:
    call(*RELEASE, "out.json")
    result = call("ledger", "verify", "books.db", "out.json")
    assert result.exit_code == 0, result.stderr
    assert "3 events, whose chain of hashes is intact\nout.json is recorded in this ledger\nAnchor" in result.stdout
    assert json.loads(call("ledger", "verify", "books.db", "--json").stdout)["events"] == 3
    assert call("ledger", "verify", "books.db", "income.release.json").exit_code == 4
    for name in ("people.csv", "design.toml", "none.json"):
        wrong = call("ledger", "verify", "books.db", name)
        assert (wrong.exit_code, wrong.stderr.startswith("error: ")) == (2, True), name
    (books / "books.db").write_bytes((books / "books.db").read_bytes()[:8000])
    assert call("ledger", "verify", "books.db").exit_code == 4


def test_an_export_is_the_release_byte_for_byte(books: Path, call: Call) -> None:
    call(*RELEASE, "out.json", "--request-id", "march")
    assert call("ledger", "export", "books.db", "march", "-o", "copy.json").exit_code == 0
    assert (books / "copy.json").read_bytes() == (books / "out.json").read_bytes()
    assert call("ledger", "export", "books.db", "march", "-o", "copy.json").exit_code == 2
    assert call("ledger", "export", "books.db", "april", "-o", "april.json").exit_code == 2


def test_what_changes_a_ledger_or_writes_a_release_can_be_read_by_programs(books: Path, call: Call) -> None:
    visits = call("ledger", "init", "books.db", "--dataset", "visits", "--epsilon", "1", "--json")
    assert json.loads(visits.stdout)["new"] is False
    more = call("ledger", "grant", "books.db", "--dataset", "people", "--epsilon", "2", "--reason", "more", "--json")
    assert json.loads(more.stdout)["datasets"][0]["epsilon"] == 2.0
    call(*RELEASE, "out.json", "--request-id", "march")
    export = call("ledger", "export", "books.db", "march", "-o", "copy.json", "--json")
    assert json.loads(export.stdout) == {"path": "copy.json", "request": "march"}


def test_no_output_replaces_a_ledger(books: Path, call: Call) -> None:
    call(*RELEASE, "out.json", "--request-id", "march")
    (books / "other.db").write_bytes((books / "books.db").read_bytes())
    before = contents(books)
    for name in ("books.db", "other.db"):
        export = call("ledger", "export", "books.db", "march", "-o", name, "--force")
        assert (export.exit_code, "choose another name" in export.stderr) == (2, True)
    assert call(*RELEASE, "other.db", "--force").exit_code == 2
    assert call("init", "people.csv", "-o", "books.db", "--force").exit_code == 2
    assert contents(books) == before


def test_the_group_explains_itself(call: Call) -> None:
    result = call("ledger")
    assert result.exit_code == 0
    for name in ("init", "grant", "status", "history", "verify", "export"):
        assert f"\n  {name} " in result.stdout
    assert call("ledger", "inti").exit_code == 2


def test_a_refused_declaration_neither_makes_nor_removes_a_ledger(folder: Path, call: Call) -> None:
    for wrong in (
        ("--epsilon", "-1"),
        ("--rule", "best"),
        ("--dataset", " "),
        ("--curve-share", "2", "--delta", "1e-6"),
    ):
        assert call(*INIT, *wrong).exit_code == 2
        assert not (folder / "books.db").exists()
    assert call(*INIT).exit_code == 0
    before = (folder / "books.db").read_bytes()
    assert call(*INIT).exit_code == 2
    assert (folder / "books.db").read_bytes() == before
