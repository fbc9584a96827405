"""Models made of others, on a real Triton: members first, never pulled from under, and tried again when one changes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.errors import MembersMissing, NeededByEnsemble
from apps.registry import services as registry
from tests.fixtures.world import World

pytestmark = pytest.mark.live

ENSEMBLE = """\
name: "{name}"
platform: "ensemble"
max_batch_size: 8
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ 4 ] }} ]
output [ {{ name: "echo" data_type: TYPE_FP32 dims: [ 4 ] }} ]
ensemble_scheduling {{ step [ {{
  model_name: "{member}" model_version: {version}
  input_map {{ key: "x" value: "x" }} output_map {{ key: "echo" value: "echo" }}
}} ] }}
"""


def ensemble_on(world: World, *, version: int = -1) -> World:
    """The same fleet, with an ensemble made of its model as the one under test; its golden answer is ones."""
    over = replace(world, model=f"{world.model}-ens")
    registry.register_model(COMMAND, name=over.model)
    registry.add_sample(
        COMMAND,
        model=over.model,
        name="ones",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
        outputs=[{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
    )
    over.upload(config=ENSEMBLE.format(name=over.model, member=world.model, version=version))
    return over


def test_an_ensemble_waits_for_its_members_and_keeps_them(make_world: Callable[..., World]) -> None:
    world = make_world()
    over = ensemble_on(world)

    with pytest.raises(MembersMissing, match=world.model):
        services.promote(COMMAND, environment="prod", model=over.model, version=1)
    world.promote(world.upload())
    live = over.promote(1)
    with pytest.raises(NeededByEnsemble, match=over.model):
        services.unload(COMMAND, environment="prod", model=world.model, reason="not needed")

    assert live.state == "succeeded", world.told(live.pk)
    assert (over.ready("prod-1"), world.ready("prod-1")) == ({1}, {1})


def test_a_member_that_spoils_the_ensemble_is_turned_back(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    over = ensemble_on(world)
    over.promote(1)

    good = world.promote(world.upload())
    bad = world.promote(world.upload(execute="x = x + 1"))

    assert good.state == "succeeded", world.told(good.pk)
    assert good.runs.get(direction="forward").steps.get(name="ensembles").detail == {"ensembles": {over.model: 1}}
    assert (bad.state, bad.error["code"]) == ("rolled_back", "ensemble_broken"), world.told(bad.pk)
    assert over.model in bad.error["message"]
    assert world.ready("prod-1") == {2}
    assert over.ready("prod-1") == {1}


def test_going_back_is_not_turned_round_for_an_ensemble_but_told(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    over = ensemble_on(world)
    over.promote(1)
    world.promote(world.upload())
    twos = [{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [2, 2, 2, 2]}]
    ones = [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}]
    registry.add_sample(COMMAND, model=over.model, name="odd", inputs=ones, outputs=twos)

    asked = services.roll_back(COMMAND, environment="prod", model=world.model, reason="slow")
    back = world.walk(asked.pk)

    step = back.runs.get(direction="forward").steps.get(name="ensembles")
    told = audit.events(verb="ensemble_broken", subject=str(back.pk)).get()
    assert (back.state, world.ready("prod-1")) == ("succeeded", {1}), world.told(back.pk)
    assert over.model in step.detail["broken"][0]
    assert (told.detail["about"], told.detail["server"]) == (over.model, "prod-1")


def test_golden_samples_of_the_ensemble_s_earlier_interface_turn_no_member_back(
    make_world: Callable[..., World],
) -> None:
    world = make_world()
    world.promote(world.upload())
    over = ensemble_on(world)
    rows = {"datatype": "FP32", "shape": [8, 4], "data": [1] * 32}
    registry.add_sample(
        COMMAND,
        model=over.model,
        name="many",
        inputs=[{"name": "x", **rows}],
        outputs=[{"name": "echo", **rows}],
    )
    smaller = ENSEMBLE.replace("max_batch_size: 8", "max_batch_size: 4")
    over.promote(over.upload(config=smaller.format(name=over.model, member=world.model, version=-1)))

    member = world.promote(world.upload())

    assert member.state == "succeeded", world.told(member.pk)
    assert member.runs.get(direction="forward").steps.get(name="ensembles").detail == {"ensembles": {over.model: 1}}


def test_a_version_that_an_ensemble_names_is_not_let_go_of(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    over = ensemble_on(world, version=1)
    over.promote(1)
    world.promote(world.upload())

    retired = services.retire_standby(selectors.get_placement("prod", world.model))
    with pytest.raises(NeededByEnsemble, match="takes version 1"):
        services.promote(COMMAND, environment="prod", model=world.model, version=world.upload())

    assert retired is None
    assert world.ready("prod-1") == {1, 2}
