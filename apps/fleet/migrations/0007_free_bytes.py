from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0006_asked"),
    ]

    operations = [
        migrations.AddField(
            model_name="repository",
            name="free_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="repository",
            name="free_bytes",
            field=models.BigIntegerField(null=True),
        ),
    ]
