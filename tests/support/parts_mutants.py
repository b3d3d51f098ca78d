"""Small changes of what several curators rest on, and the test that each of them fails."""

from __future__ import annotations

from support.mutants import Mutant

ATTACKS = "tests/parts/test_attacks.py"
KEYS = "tests/parts/test_public_keys.py"
MAKING = "tests/parts/test_making.py"
MASKS = "tests/parts/test_masks.py"
MERGING = "tests/parts/test_merging.py"
RECORD = "tests/parts/test_record.py"
SHARES = "tests/accounting/test_shares.py"

PLACES = {
    "mask of a part": "discreet.parts.part_file:masked",
    "keys of pairs": "discreet.parts.part_file:pair_keys",
    "signature of a part": "discreet.parts.part_file:Part.from_bytes",
    "used session": "discreet.parts.making:Record.find",
    "place of a record": "discreet.parts.making:Record.of",
    "making a part": "discreet.parts.making:part_with",
    "numbers of a part": "discreet.parts.making:exact_numbers",
    "share of a part": "discreet.parts.making:_with_share",
    "question of a session": "discreet.parts.agreement:asked_by",
    "complete parts": "discreet.parts.merging:complete",
    "cancelled masks": "discreet.parts.merging:check_cancelled",
    "one draw": "discreet.parts.merging:_merged",
    "used in a ledger": "discreet.ledger.account:_check_unused",
    "public key for masks": "discreet.parts.keys:mask_key_bytes",
    "public key for signatures": "discreet.parts.keys:sign_key_bytes",
    "new session": "discreet.parts.agreement:Session.new",
    "scale of a share": "discreet.accounting.curator_shares:share_steps",
    "counted shares": "discreet.accounting.curator_shares:counted_distribution",
    "few steps": "discreet.accounting.curator_shares:check_share",
    "honest curators": "discreet.privacy.guarantee:CuratorTerms.__post_init__",
    "noise of all shares": "discreet.accounting.noise_distribution:NoiseDistribution._factor",
}

MUTANTS = {
    "parts: no mask": Mutant("mask of a part", "value + up - down for", "value + 0 * up * down for", MASKS),
    "parts: masks do not cancel": Mutant("mask of a part", "place < other", "place < 10**6", MASKS),
    "parts: one mask for all sessions": Mutant("keys of pairs", '"session": agreed, ', "", MASKS),
    "parts: signatures are not checked": Mutant(
        "signature of a part", "key.verify(content[-_SIGNATURE:], content[:-_SIGNATURE])", "_ = key", ATTACKS
    ),
    "parts: a session is used twice": Mutant(
        "used session",
        "not hmac.compare_digest(content[len(PART_RECORD) : start], self._digest(values))",
        "False",
        ATTACKS,
    ),
    "parts: another name of the key has another record": Mutant("place of a record", ".resolve()", "", RECORD),
    "parts: nothing is recorded": Mutant("making a part", "kept = record.keep(exact, made)", "kept = made", ATTACKS),
    "parts: a used session is found after the spend": Mutant(
        "making a part", "known = record.find(exact)", "known = None", MAKING
    ),
    "parts: the number of units is sent": Mutant(
        "numbers of a part", 'asked.design.unit.neighbours == "replace"', "asked.design.unit", MAKING
    ),
    "parts: exact sums are masked": Mutant(
        "share of a part", "asked.mechanism.randomise(first, asked.distribution, sampler)", "tuple(exact)", MERGING
    ),
    "parts: shares for all curators in place of the honest ones": Mutant(
        "question of a session", "honest=terms.counted", "honest=terms.shares", "tests/parts/test_question.py"
    ),
    "parts: other sessions are merged": Mutant("complete parts", "one.session != agreed", "False", ATTACKS),
    "parts: one part is missing": Mutant("complete parts", "    if missing:", "    if False:", ATTACKS),
    "parts: one part is given twice": Mutant("complete parts", "    if twice:", "    if False:", ATTACKS),
    "parts: any number of rows is one": Mutant(
        "cancelled masks", "values[0] < -noise or any(abs(value) > most for value in values)", "False", ATTACKS
    ),
    "parts: the merger draws again": Mutant("one draw", "write_once(kept, ", "len(", MERGING),
    "parts: a ledger takes a session twice": Mutant(
        "used in a ledger", "other is not None and other not in known", "False", MAKING
    ),
    "parts: keys that give everybody one secret": Mutant("public key for masks", "place in _LOW_ORDER", "False", KEYS),
    "parts: two texts of a key": Mutant("public key for masks", "place >= _PRIME", "False", KEYS),
    "parts: keys that take any signature": Mutant("public key for signatures", "y in _SMALL_ORDER", "False", KEYS),
    "parts: terms that no part takes": Mutant(
        "new session", "        asked_by(made, design)\n", "", "tests/parts/test_session.py"
    ),
    "parts: a share for one curator more": Mutant("scale of a share", "// honest)", "// (honest + 1))", SHARES),
    "parts: a person is in one part": Mutant(
        "scale of a share", "(parts_per_person * sigma)", "sigma", "tests/mechanisms/moments/test_shares.py"
    ),
    "parts: all shares are counted": Mutant(
        "counted shares",
        "isqrt(honest *",
        "isqrt(distribution.parameters[SHARES] *",
        "tests/accounting/maps/test_shares.py",
    ),
    "parts: shares of few steps": Mutant("few steps", "0 < sigma < LEAST_SHARE", "False", SHARES),
    "parts: everybody's own share counts": Mutant(
        "honest curators", "1, self.parts - 1)", "1, self.parts)", "tests/privacy/test_curators.py"
    ),
    "parts: errors count one share": Mutant(
        "noise of all shares", "return math.sqrt(self.parameters.get(SHARES, 1))", "return 1.0", SHARES
    ),
}  # fmt: skip
