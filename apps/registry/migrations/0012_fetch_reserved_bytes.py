from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0011_upload_digest"),
    ]

    operations = [
        migrations.AddField(
            model_name="fetch",
            name="reserved_bytes",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
