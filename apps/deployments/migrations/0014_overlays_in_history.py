import django.db.models.deletion
from django.db import migrations, models


def keep_overlays(apps, schema_editor):
    """What each change was made under, and the changes of overlay so far, as the rollouts that made them tell."""
    Rollout = apps.get_model("deployments", "Rollout")
    PlacementChange = apps.get_model("deployments", "PlacementChange")
    for what, field in (("done", "to_overlay"), ("begun", "from_overlay"), ("put_back", "from_overlay")):
        overlay = models.Subquery(Rollout.objects.filter(pk=models.OuterRef("rollout")).values(field)[:1])
        PlacementChange.objects.filter(what=what, active__isnull=False).update(overlay=overlay)
    moved = Rollout.objects.filter(kind="reconfigure", state="succeeded", finished_at__isnull=False)
    for rollout in moved.order_by("finished_at", "pk").iterator():
        PlacementChange.objects.get_or_create(
            rollout=rollout,
            what="done",
            defaults={
                "placement_id": rollout.placement_id,
                "at": rollout.finished_at,
                "active_id": rollout.to_version_id,
                "overlay_id": rollout.to_overlay_id,
                "actor": rollout.actor,
                "actor_kind": rollout.actor_kind,
                "reason": rollout.reason,
            },
        )
    # What was written is looked at now: PostgreSQL makes no index, as the new column's is, while checks are pending.
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):

    dependencies = [
        ("deployments", "0013_tallies"),
    ]

    operations = [
        migrations.AddField(
            model_name="placementchange",
            name="overlay",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="deployments.overlay"
            ),
        ),
        migrations.RunPython(keep_overlays, migrations.RunPython.noop),
    ]
