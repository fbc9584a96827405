"""What were columns of Environment is in its policy now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("fleet", "0001_initial"), ("deployments", "0003_settings_become_policies")]

    operations = [
        migrations.RemoveField(model_name="environment", name="standby_window_s"),
        migrations.RemoveField(model_name="environment", name="progress_deadline_s"),
    ]
