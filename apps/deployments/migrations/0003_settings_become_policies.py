"""What stood on Environment becomes its first policy."""

from django.db import migrations


def keep_settings(apps, schema_editor):
    """What an environment's two settings were is its first policy, and that of the rollouts moving there."""
    Environment = apps.get_model("fleet", "Environment")
    EnvironmentPolicy = apps.get_model("deployments", "EnvironmentPolicy")
    Rollout = apps.get_model("deployments", "Rollout")
    for one in Environment.objects.order_by("pk"):
        document = {
            "standby_window_s": one.standby_window_s,
            "progress_deadline_s": max(10, one.progress_deadline_s),
        }
        EnvironmentPolicy.objects.create(
            environment=one, number=1, document=document, reason="kept when policies came", actor="conch"
        )
        moving = Rollout.objects.filter(placement__environment=one, finished_at=None)
        moving.update(policy=document, policy_number=1)


class Migration(migrations.Migration):
    dependencies = [("deployments", "0002_policies")]

    operations = [migrations.RunPython(keep_settings, migrations.RunPython.noop)]
