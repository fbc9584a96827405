"""A request sent again gets the answer of the first one, and does its work once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from apps.access import idempotency
from apps.access.errors import IdempotencyKeyInvalid, IdempotencyKeyReused, RequestInProgress
from apps.access.idempotency import Claim, KeptAnswer
from apps.access.models import IdempotencyKey
from apps.common.actor import Actor

ALICE = Actor(kind="user", name="alice", door="api", user_id=1)
BOB = Actor(kind="user", name="bob", door="api", user_id=2)
LEASE = timedelta(minutes=1)


def claim(
    actor: Actor = ALICE, key: str = "k1", fingerprint: str = "f", now: datetime | None = None
) -> Claim | KeptAnswer:
    return idempotency.claim(actor, key=key, fingerprint=fingerprint, lease=LEASE, now=now or timezone.now())


def held(**asked: object) -> Claim:
    answer = claim(**asked)  # type: ignore[arg-type]
    assert isinstance(answer, Claim)
    return answer


@pytest.mark.django_db
def test_the_second_request_gets_the_first_ones_answer() -> None:
    idempotency.keep(held(), status=202, body={"id": 7})

    assert claim() == KeptAnswer(202, {"id": 7})


@pytest.mark.django_db
def test_the_second_request_is_told_to_wait_while_the_first_works() -> None:
    held()

    with pytest.raises(RequestInProgress):
        claim()


@pytest.mark.django_db
@pytest.mark.parametrize("is_answered", [False, True])
def test_the_same_key_with_another_request_is_refused(is_answered: bool) -> None:  # noqa: FBT001
    first = held()
    for _ in range(is_answered):
        idempotency.keep(first, status=202, body={})

    with pytest.raises(IdempotencyKeyReused):
        claim(fingerprint="another")


@pytest.mark.django_db
def test_keys_belong_to_their_actor() -> None:
    held(actor=ALICE)

    assert isinstance(claim(actor=BOB), Claim)


@pytest.mark.django_db
def test_a_released_key_may_be_used_again_even_for_another_request() -> None:
    idempotency.release(held())

    assert isinstance(claim(fingerprint="another"), Claim)


@pytest.mark.django_db
def test_a_claim_whose_holder_died_is_taken_over_and_the_dead_one_cannot_answer() -> None:
    start = timezone.now()
    dead = held(now=start)
    heir = held(now=start + 2 * LEASE)

    idempotency.keep(dead, status=202, body={"by": "dead"})
    idempotency.release(dead)
    idempotency.keep(heir, status=202, body={"by": "heir"})

    assert claim() == KeptAnswer(202, {"by": "heir"})


@pytest.mark.django_db
def test_answers_are_forgotten_after_a_day() -> None:
    start = timezone.now() - 2 * idempotency.KEPT_FOR
    idempotency.keep(held(now=start), status=202, body={})
    idempotency.keep(held(key="k2"), status=202, body={})

    forgotten = idempotency.forget(now=timezone.now())

    assert forgotten == 1
    assert IdempotencyKey.objects.get().key == "k2"


@pytest.mark.django_db
def test_an_old_answer_does_not_bar_its_key_before_it_is_tidied_away() -> None:
    idempotency.keep(held(now=timezone.now() - 2 * idempotency.KEPT_FOR), status=202, body={})

    assert isinstance(claim(fingerprint="another"), Claim)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "é", " padded"])
def test_keys_that_cannot_be_kept_are_refused(key: str) -> None:
    with pytest.raises(IdempotencyKeyInvalid):
        claim(key=key)


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_one_works() -> None:
    barrier = Barrier(6)

    def ask() -> str:
        barrier.wait()
        try:
            return type(claim()).__name__
        except RequestInProgress:
            return "told to wait"
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        answers = [ask.result() for ask in [pool.submit(ask) for _ in range(6)]]

    assert sorted(answers) == ["Claim", *["told to wait"] * 5]
