from django.db import migrations

from apps.common.names import natural
from apps.fleet.ordering import NaturalKey


def fill(apps, schema_editor):
    servers = apps.get_model("fleet", "Server").objects
    for pk, name in servers.values_list("pk", "name"):
        servers.filter(pk=pk).update(sorts_as=natural(name))


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0007_free_bytes"),
    ]

    operations = [
        migrations.AddField(
            model_name="server",
            name="sorts_as",
            field=NaturalKey(),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
