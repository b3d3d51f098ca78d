"""A token opens once, also where two ask at the same moment."""

from __future__ import annotations

from threading import Barrier, Thread

from discreet_studio.request_gate import Keys


def test_of_many_who_have_the_token_one_gets_in():
    keys = Keys()
    token, gate, won = keys.token, Barrier(8), []

    def ask():
        gate.wait()
        won.append(keys.redeem(token))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_secrets_differ_and_are_not_printed():
    keys, others = Keys(), Keys()
    assert len({keys.token, keys.cookie, keys.csrf, others.token, others.cookie, others.csrf}) == 6
    assert keys.cookie not in repr(keys)
    assert keys.csrf not in repr(keys)
    assert not keys.redeem("")
