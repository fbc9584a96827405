"""Accounts, grants, tokens and the audit over the wire."""

from rest_framework import serializers

from apps.access.verbs import SCOPES, Role
from apps.api.shapes.common import EVERYWHERE, Asked, LinkField, Shape

ROLES = tuple(role.value for role in Role)
SCOPE_NAMES = tuple(SCOPES)


class TokenShape(Shape):
    """A token; its secret is shown once, when it is issued."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    environment = serializers.CharField()
    issued_by = serializers.CharField()
    issued_by_kind = serializers.ChoiceField(choices=("user", "token", "system"), help_text="Whose name that is.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    url = LinkField("token", token_id="pk")  # noqa: S106 - the name of a path's argument


class IssuedTokenShape(TokenShape):
    """A new token with its secret."""

    secret = serializers.CharField(help_text="Shown this once.")


class TokenRequest(Asked):
    """A new token."""

    name = serializers.CharField(max_length=128)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPE_NAMES), allow_empty=False)
    environment = serializers.CharField(
        required=False, default=EVERYWHERE, max_length=128, help_text="The only one it may change anything in, or *."
    )
    expires_in_days = serializers.IntegerField(
        required=False, allow_null=True, default=90, min_value=1, max_value=3_650, help_text="null: until revoked."
    )


class GrantShape(Shape):
    """A role in an environment (`*`: everywhere)."""

    environment = serializers.CharField()
    role = serializers.ChoiceField(choices=ROLES)


class UserShape(Shape):
    """An account."""

    username = serializers.CharField()
    is_superuser = serializers.BooleanField(help_text="Admin everywhere.")
    is_active = serializers.BooleanField(help_text="false: the account was closed.")
    last_login = serializers.DateTimeField(allow_null=True)
    grants = GrantShape(many=True)
    url = LinkField("user", username="username")


class UserAddition(Asked):
    """A new account; it may do nothing until a role is granted."""

    username = serializers.CharField(max_length=128)
    password = serializers.CharField(max_length=1_024, write_only=True, trim_whitespace=False)


class PasswordSetting(Asked):
    """A new password."""

    password = serializers.CharField(max_length=1_024, write_only=True, trim_whitespace=False)


class GrantSetting(Asked):
    """Which role."""

    role = serializers.ChoiceField(choices=ROLES)


class CallerShape(Shape):
    """Who is asking."""

    kind = serializers.CharField()
    name = serializers.CharField()
    is_superuser = serializers.BooleanField()
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    environment = serializers.CharField()
    verbs = serializers.ListField(child=serializers.CharField(), help_text="What may be done everywhere.")


class EventShape(Shape):
    """One recorded change."""

    id = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    verb = serializers.CharField()
    actor_kind = serializers.CharField()
    actor = serializers.CharField()
    door = serializers.CharField()
    address = serializers.CharField()
    subject_kind = serializers.CharField()
    subject = serializers.CharField()
    environment = serializers.CharField()
    model = serializers.CharField()
    reason = serializers.CharField()
    detail = serializers.DictField()


class EventFilter(Shape):
    """Which events."""

    actor = serializers.CharField(required=False, default="", allow_blank=True)
    verb = serializers.CharField(required=False, default="", allow_blank=True)
    subject = serializers.CharField(required=False, default="", allow_blank=True)
    environment = serializers.CharField(required=False, default="", allow_blank=True)
    model = serializers.CharField(required=False, default="", allow_blank=True)
    text = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Stands in the reason, or in a server's own words."
    )
    since = serializers.DateTimeField(required=False, default=None)
    until = serializers.DateTimeField(required=False, default=None)
