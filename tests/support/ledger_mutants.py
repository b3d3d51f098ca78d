"""Small changes of ledger, guard, signatures and verification, and the test that each of them fails."""

from __future__ import annotations

from support.mutants import Mutant

ACCOUNT = "tests/ledger/test_account.py"
FILTER = "tests/ledger/test_filter.py"
STORAGE = "tests/ledger/test_storage.py"
GUARD = "tests/mechanisms/test_guard.py"
GUARDED = "tests/mechanisms/test_guarded_release.py"
MAPS = "tests/accounting/maps/test_before.py"
VERDICTS = "tests/mechanisms/test_verdicts.py"
WORKFLOW = "tests/test_workflow.py"

PLACES = {
    "spending": "discreet.ledger.account:Account.__call__",
    "receipt": "discreet.ledger.account:Account._receipt",
    "end of a request": "discreet.ledger.account:Account._ended",
    "digest of a request": "discreet.ledger.account:Account._digest",
    "same table": "discreet.ledger.account:Account._check_same_table",
    "same unit": "discreet.ledger.account:_check_unit",
    "route of a request": "discreet.ledger.account:_route",
    "charge of a loss": "discreet.ledger.filter:Charge.of",
    "sum of charges": "discreet.ledger.filter:Charge.__add__",
    "part of a charge": "discreet.ledger.filter:Charge.covers",
    "sums of a rule": "discreet.ledger.filter:Terms.within_sums",
    "pure requests": "discreet.ledger.filter:Terms.within_pure",
    "only request": "discreet.ledger.filter:Terms.route",
    "cost of a lattice": "discreet.ledger.filter:Terms.lattice_units",
    "what was spent": "discreet.ledger.account:AccountState.spent",
    "what an event changes": "discreet.ledger.account:AccountState.add",
    "output of a stage": "discreet.ledger.account:Account._staged",
    "form of a file": "discreet.ledger.event_log:Storage._check_form",
    "names of a file": "discreet.ledger.event_log:Storage._refuse_other_files",
    "counts of a stage": "discreet.mechanisms.guard:committed_counts",
    "how a file is read": "discreet.tables.csv_format:ReadOptions.read_as",
    "hash of an event": "discreet.ledger.event_log:Event.hashed",
    "chain of events": "discreet.ledger.event_log:checked_chain",
    "what was verified": "discreet.ledger.event_log:Storage._follow",
    "steps of an amount": "discreet.ledger.filter:rounded_up",
    "order of a release": "discreet.workflow:release_with",
    "distribution with a guard": "discreet.mechanisms.calibration:_Shared.joint",
    "distribution with a pure guard": "discreet.mechanisms.calibration:_Shared.pure",
    "noise of a guard": "discreet.mechanisms.guard:noisy_counts",
    "rule of a guard": "discreet.mechanisms.guard:stops",
    "loss with a guard": "discreet.accounting.preliminary_counts:with_counts",
    "loss of a stop": "discreet.accounting.preliminary_counts:counts_loss",
    "promise and noise": "discreet.accounting.privacy_loss:keeps",
    "content of a digest": "discreet.releases.fields:digest_of",
    "check of a signature": "discreet.releases.verification:VerifyKey.check",
    "check of a release": "discreet.releases.verification:verify",
    "reading of a release": "discreet.releases.release:Release.from_json",
}

MUTANTS: dict[str, Mutant] = {
    "ledger: noise before the reservation": Mutant(
        "order of a release",
        "receipt = checked_receipt(spend(replace(request, fingerprint=fingerprint)))",
        "drawn = sampler.draw([1]); receipt = checked_receipt(spend(replace(request, fingerprint=fingerprint)))",
        WORKFLOW,
    ),
    "ledger: a request is reserved for nothing": Mutant(
        "spending", '"charge": charge.to_dict()', '"charge": Charge().to_dict()', ACCOUNT
    ),
    "ledger: another question under a known request id": Mutant(
        "spending", "if known.digest != digest:", "if False:", ACCOUNT
    ),
    "ledger: the request id of another data set": Mutant(
        "spending", 'next(log.events("request = ?", name), None) is not None', "False", ACCOUNT
    ),
    "ledger: a release that is there is drawn once more": Mutant(
        "receipt", "return replace(receipt, stored=known.content)", "pass", ACCOUNT
    ),
    "ledger: a stop that costs more than was reserved": Mutant(
        "receipt", "not known.whole.covers(charge)", "False", ACCOUNT
    ),
    "ledger: an only request gives its rest back": Mutant(
        "receipt", 'known.whole if known.route == "first" else charge', "charge", ACCOUNT
    ),
    "ledger: twins are both recorded": Mutant(
        "end of a request", "if next(log.events(ends, known.request), None) is None:", "if True:", ACCOUNT
    ),
    "ledger: what is published is not what is recorded": Mutant(
        "end of a request", "return str(event.content)", "return text", ACCOUNT
    ),
    "ledger: the table is no part of the question": Mutant(
        "digest of a request", '"fingerprint": fingerprint,', '"fingerprint": "",', ACCOUNT
    ),
    "ledger: another table under the same name": Mutant("same table", "not self.accept_changed_data", "False", ACCOUNT),
    "ledger: losses of other units add up": Mutant("same unit", "unit != books.unit", "False", ACCOUNT),
    "ledger: the budget is not asked": Mutant("route of a request", "if route is None:", "if False:", ACCOUNT),
    "filter: amounts rounded down": Mutant(
        "steps of an amount", "", "math.floor(value * steps)", FILTER, "smallest_request"
    ),
    "filter: the failure of a request is free": Mutant(
        "charge of a loss", "rounded_up(Fraction(loss.failure), CHANCE)", "0", FILTER, "smallest_request"
    ),
    "filter: deltas do not add up": Mutant(
        "sum of charges", "self.delta + other.delta", "max(self.delta, other.delta)", FILTER, "no_random_sequence"
    ),
    "filter: one impure request may be among pure ones": Mutant(
        "sum of charges", "self.pure and other.pure", "self.pure or other.pure", FILTER, "takes_no_delta"
    ),
    "filter: a part may cost more in one currency": Mutant("part of a charge", "all(", "any(", FILTER, "part_costs"),
    "filter: delta is not looked at": Mutant(
        "sums of a rule", " and total.delta <= self.delta_units", "", FILTER, "takes_no_delta"
    ),
    "filter: what the curve leaves out is free": Mutant(
        "sums of a rule",
        "total.rho <= self.rho and total.failure <= self.rest_units",
        "total.rho <= self.rho",
        FILTER,
        "no_random_sequence",
    ),
    "filter: the lattice is free": Mutant("cost of a lattice", "", "0", FILTER, "lattice_gap"),
    "filter: a budget that is reached is exceeded": Mutant(
        "pure requests",
        "total.epsilon <= self.epsilon_units",
        "total.epsilon < self.epsilon_units",
        FILTER,
        "ten_tenths",
    ),
    "filter: any request may be an only one": Mutant(
        "only request", "requests == 0 and alone", "alone", FILTER, "only_the_first"
    ),
    "books: what waits for its release is free": Mutant(
        "what was spent", "total + one.charge", "total + (one.charge if one.ending else Charge())", ACCOUNT
    ),
    "books: a committed first request is free": Mutant(
        "what an event changes",
        'if event.kind == "stop" else known.charge',
        'if event.kind == "stop" else Charge() if known.route == "first" else known.charge',
        ACCOUNT,
        "first_request_uses",
    ),
    "books: a commit without its text": Mutant(
        "what an event changes", " or event.content is None", "", "tests/ledger/test_books.py", "not_understood"
    ),
    "stages: a second draw overrules the first": Mutant(
        "output of a stage",
        "if next(log.events(committed, known.request, body), None) is None:",
        "if True:",
        ACCOUNT,
        "first_output",
    ),
    "stages: what is acted on is not what is committed": Mutant(
        "counts of a stage",
        'committed = json.loads(receipt.stage(stage, record))["counts"]',
        "receipt.stage(stage, record); found = [*draw()]",
        VERDICTS,
        "ends_sooner or after_the_commit",
    ),
    "stages: counts are not committed": Mutant(
        "counts of a stage", "if receipt.stage is None:", "if True:", VERDICTS, "committed_first"
    ),
    "storage: a file with two names": Mutant("names of a file", "state.st_nlink != 1", "False", STORAGE, "two_names"),
    "storage: the file is opened beside SQLite": Mutant(
        "form of a file", "if self.path.stat().st_size == 0:", "if not self.path.read_bytes():", STORAGE, "same_process"
    ),
    "request id: how the file is read": Mutant(
        "order of a release",
        'asked.specification | {"read_as": dict(source.read_as)}',
        "asked.specification",
        WORKFLOW,
        "read_otherwise",
    ),
    "request id: the encoding": Mutant(
        "how a file is read", '"encoding": self.charset, ', "", WORKFLOW, "read_otherwise"
    ),
    "request id: the delimiter": Mutant(
        "how a file is read", '"delimiter": self.delimiter or ",", ', "", WORKFLOW, "read_otherwise"
    ),
    "request id: decimals, groups of digits and line breaks": Mutant(
        "how a file is read", ", **more}", "}", WORKFLOW, "read_otherwise"
    ),
    "chain: content is not hashed": Mutant(
        "hash of an event", "self.body, self.content,", "self.body, None,", "tests/ledger/test_chain.py"
    ),
    "chain: the event before is not looked at": Mutant(
        "chain of events", "event.previous != last or ", "", "tests/ledger/test_chain.py"
    ),
    "chain: hashes are not computed anew": Mutant(
        "chain of events", " or event.hashed().hash != event.hash", "", "tests/ledger/test_chain.py"
    ),
    "storage: an event that was seen may be gone": Mutant(
        "what was verified", "if seq and [", "if False and [", STORAGE, "last_event_removed"
    ),
    "guard: the mechanism keeps the whole budget": Mutant(
        "distribution with a guard",
        "whole * math.sqrt(1 - share) / ROUNDING",
        "whole",
        GUARD,
        "gaussian_mechanism_together",
    ),
    "guard: the mechanism keeps all of epsilon": Mutant(
        "distribution with a pure guard",
        "PrivacyBudget((self.epsilon - part) / ROUNDING, self.delta)",
        "PrivacyBudget(self.epsilon, self.delta)",
        GUARD,
        "hundredth",
    ),
    "guard: counts without noise": Mutant(
        "noise of a guard",
        "count * distribution.unit + variate for",
        "count * distribution.unit for",
        GUARD,
        "one_variate",
    ),
    "guard: stops at no difference": Mutant(
        "rule of a guard",
        "counts.other - counts.fitting > factor * distribution.sigma[GUARD]",
        "counts.other > counts.fitting",
        GUARD,
        "half_the_rows",
    ),
    "guard: costs nothing, forwards": Mutant(
        "loss with a guard",
        "Fraction(mechanism.mu) ** 2 + Fraction(first.mu) ** 2",
        "Fraction(mechanism.mu) ** 2",
        MAPS,
        "half_the_noise",
    ),
    "guard: a stop costs nothing": Mutant(
        "loss of a stop", "root_up(counts.squared_loss(stated.scales))", "1e-6", MAPS, "stopped"
    ),
    "verify: less noise than promised": Mutant("promise and noise", "", "True", GUARDED, "forged"),
    "verify: the signature is not checked": Mutant(
        "check of a release",
        "public_key.check(loaded.signature, loaded.digest)",
        "pass",
        "tests/releases/test_signing.py",
        "valid_for_its_key",
    ),
    "verify: a release without a signature passes": Mutant(
        "check of a signature",
        "if signature is None:",
        "if signature is None:\n            return\n        if not digest:",
        "tests/releases/test_signing.py",
        "without_a_signature",
    ),
    "verify: a digest of some fields": Mutant(
        "content of a digest",
        "if name not in SEALS",
        "if name not in SEALS and name != 'anchor'",
        "tests/releases/test_release.py",
        "single_changed",
    ),
    "verify: the digest is not compared": Mutant(
        "reading of a release",
        'if body.get("digest") != digest_of(body):',
        "if False:",
        "tests/releases/test_release.py",
        "single_changed",
    ),
    "verify: a signature that leaves out unknown fields": Mutant(
        "reading of a release",
        'release.digest != body["digest"]',
        "False",
        "tests/releases/test_signing.py",
        "does_not_cover",
    ),
}
