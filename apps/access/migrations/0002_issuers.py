import django.db.models.deletion
from django.db import migrations, models


def keep_issuers(apps, schema_editor):
    """Of what kind each issuer was, as the audit tells; of tokens of one name it was the newest there was."""
    ApiToken = apps.get_model("access", "ApiToken")
    Event = apps.get_model("audit", "Event")
    issued = Event.objects.filter(verb="issue_token").exclude(actor_kind="user")
    for event in issued.order_by("pk").iterator():
        of_issuer = ApiToken.objects.filter(name=event.actor, pk__lt=event.detail["token_id"]).order_by("-pk")
        by = of_issuer.first() if event.actor_kind == "token" else None
        ApiToken.objects.filter(pk=event.detail["token_id"]).update(
            issued_by_kind=event.actor_kind, issued_by_token=by
        )
    # What was written is looked at now: PostgreSQL makes no index, as the new column's is, while checks are pending.
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):

    dependencies = [
        ("access", "0001_initial"),
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="issued_by_kind",
            field=models.CharField(db_default="user", default="user", max_length=16),
        ),
        migrations.AddField(
            model_name="apitoken",
            name="issued_by_token",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="issued",
                to="access.apitoken",
            ),
        ),
        migrations.RunPython(keep_issuers, migrations.RunPython.noop),
    ]
