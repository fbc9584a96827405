"""PostgreSQL itself refuses to change or remove an event: what is recorded stays, whoever holds the connection."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION audit_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE OR DELETE ON audit_event
    FOR EACH ROW EXECUTE FUNCTION audit_event_is_append_only();
"""
ALLOW = """
DROP TRIGGER audit_event_is_append_only ON audit_event;
DROP FUNCTION audit_event_is_append_only();
"""


def _on_postgresql(sql):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(sql)

    return run


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [migrations.RunPython(_on_postgresql(REFUSE), _on_postgresql(ALLOW))]
