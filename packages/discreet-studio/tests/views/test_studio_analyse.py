"""Any release file: models, prediction, comparison, export; forged and broken ones are refused."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import discreet
from support.studio_client import DESIGN, SAME, Browser, errors, small_table


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyse")
    made = discreet.release(small_table(20_000), DESIGN, epsilon=5.0, delta=1e-6)
    made.save(folder / "pay.release.json")
    return Browser(folder)


FILE = "/analyse?file=pay.release.json"


def test_a_model_and_all_that_is_known_of_it(browser):
    text = browser.get(FILE).text
    fit = discreet.fit(discreet.Release.load(browser.folder / "pay.release.json"))
    assert f"{fit.params['age']:.4g}" in text
    assert "<svg" in text
    assert "Diagnostics" in text
    assert "free" in text


def test_a_release_by_staged_says_what_is_estimated(browser):
    made = discreet.release(small_table(20_000), DESIGN, epsilon=5.0, delta=1e-6, mechanism="staged")
    made.save(browser.folder / "staged.release.json")
    text = browser.get("/analyse?file=staged.release.json").text
    (line,) = [part for part in text.split("<p>") if part.startswith("Ordinary least squares on the table clipped")]
    assert "shortened" in line
    assert text.count("Ordinary least squares on the table clipped") == 1


def test_which_file_is_open_and_that_anybody_may_have_made_it(browser):
    text = browser.get(FILE).text
    assert "Open: <strong>pay.release.json</strong>." in text
    assert "It is not signed." in text
    assert "Anybody may have made or changed this file" in text


def test_a_signature_is_checked_with_a_key(tmp_path):
    browser = Browser(tmp_path)
    for name in ("own", "other"):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(private)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub.pem").write_bytes(public)
    made = discreet.release(small_table(), DESIGN, epsilon=1.0, delta=1e-6, sign=tmp_path / "own.pem")
    made.save(tmp_path / "pay.release.json")
    assert "the signature has not been checked yet" in browser.get(FILE).text
    checked = browser.get(FILE + "&key=own.pub.pem").text
    assert "Signed, and verified with the key own.pub.pem" in checked
    for wrong in ("other.pub.pem", "own.pem", "../x.pem"):
        text = browser.get(f"{FILE}&key={wrong}").text
        assert "Not verified." in text
        assert "Signed, and verified" not in text
        assert str(tmp_path) not in text


@pytest.mark.no_cover
@pytest.mark.parametrize("query", [
    "&asked=yes&feature=age", "&asked=yes&feature=age&target=age&feature=pay", "&penalty=ridge&strength=0.1",
    "&penalty=lasso", "&penalty=elastic-net&strength=0.01", "&penalty=adaptive", "&penalty=bayes", "&level=90",
])  # fmt: skip
def test_other_models(browser, query):
    assert browser.get(FILE + query).status_code == 200


@pytest.mark.parametrize("query", [
    "&asked=yes", "&level=3", "&level=x", "&penalty=ridge&strength=x", "&penalty=magic", "&target=nobody",
    "&robust=yes", "&penalty=ridge&strength=-1", "&feature=nobody&asked=yes",
])  # fmt: skip
def test_bad_input(browser, query):
    answer = browser.get(FILE + query)
    assert answer.status_code == 422
    assert "Traceback" not in answer.text
    assert errors(answer.text) or 'role="alert"' in answer.text


def test_prediction(browser):
    text = browser.get(f"{FILE}&x:age=40&x:region=north").text
    assert "Predicted pay" in text
    assert "Predicted pay" not in browser.get(f"{FILE}&x:age=40").text
    assert 'class="error"' in browser.get(f"{FILE}&x:age=forty&x:region=Atlantis").text


def test_comparison(browser):
    text = browser.get(f"{FILE}&models=age%0Aage, region").text
    assert "age + region" in text
    assert "against" in text
    assert 'class="error"' in browser.get(f"{FILE}&models=nobody").text


def test_predictions_are_drawn_as_the_library_draws_them(browser):
    fit = discreet.fit(discreet.Release.load(browser.folder / "pay.release.json"))
    text = browser.get(f"{FILE}&along=age&x:region=south&band=one").text
    label = "Prediction of pay by age"
    assert discreet.page_svg(fit.plot_prediction("age", at={"region": "south"}, obs=True, level=0.95), label) in text
    assert text.count("<svg") == 2
    for wrong in ("along=nobody", "along=age&x:region=Atlantis", "along=region&x:age=9999", "along=region&x:age=forty"):
        refused = browser.get(f"{FILE}&{wrong}")
        assert refused.text.count("<svg") == 1, wrong
        assert len(errors(refused.text) or [refused.text.count('class="error"')]) == 1


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_picture_of_predictions_is_exported(browser, kind):
    base = f"/analyse/export?kind={kind}&file=pay.release.json"
    made = [browser.get(f"{base}{more}") for more in ("", "&picture=prediction&along=age")]
    assert all(answer.status_code == 200 for answer in made)
    assert made[0].content != made[1].content
    assert browser.get(f"{base}&picture=prediction&along=nobody").status_code == 400


@pytest.mark.parametrize("kind", ["md", "tex", "csv", "html", "png", "svg"])
def test_export(browser, kind):
    answer = browser.get(f"/analyse/export?kind={kind}&file=pay.release.json&feature=age&asked=yes")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    assert answer.content


def test_export_of_something_else(browser):
    assert browser.get("/analyse/export?kind=exe&file=pay.release.json").status_code == 400


def opened(browser, content, name="r.json"):
    data = {"csrf": browser.studio.keys.csrf}
    return browser.client.post("/analyse/open", data=data, files={"release": (name, content)}, headers=SAME)


def test_a_release_from_elsewhere(browser):
    before = set(browser.folder.iterdir())
    content = (browser.folder / "pay.release.json").read_bytes()
    answer = opened(browser, content, "../../evil.json")
    assert answer.url.path == "/analyse"
    assert "upload=" in str(answer.url)
    assert "Fit this model" in answer.text
    assert set(browser.folder.iterdir()) == before
    assert browser.get("/analyse?upload=gone").status_code == 422


def edited(browser, **changes):
    content = json.loads((browser.folder / "pay.release.json").read_text())
    content["guarantee"] |= changes
    return json.dumps(content).encode()


def test_a_forged_release_is_refused(browser):
    for content in (edited(browser, epsilon=0.001), edited(browser, delta=1e-30)):
        answer = opened(browser, content)
        assert answer.status_code == 422
        assert len(errors(answer.text)) == 1
    (browser.folder / "forged.json").write_bytes(edited(browser, epsilon=0.001))
    answer = browser.get("/analyse?file=forged.json")
    (browser.folder / "forged.json").unlink()
    assert answer.status_code == 422
    assert "Fit this model" not in answer.text
    assert str(browser.folder) not in answer.text


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"format": 1e999}', b"null", b"x" * 2**20]
)
def test_what_is_no_release_is_refused(browser, content):
    answer = opened(browser, content)
    assert answer.status_code == 422
    assert "Traceback" not in answer.text


def test_an_upload_without_end_is_cut_off(browser):
    assert opened(browser, b"x" * (17 * 2**20)).status_code == 413


def test_a_release_that_is_not_private_says_so(browser):
    made = discreet.testing.exact_release(small_table(), DESIGN)
    answer = opened(browser, made.to_json().encode())
    assert "NOT PRIVATE" in answer.text


def test_a_release_of_one_model(browser):
    made = discreet.release(small_table(), DESIGN, epsilon=5.0, delta=1e-6, mechanism="gradient")
    answer = opened(browser, made.to_json().encode())
    assert "contains only the declared model" in answer.text
