"""Reading accounts, grants and tokens."""

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from apps.access.errors import TokenUnknown, UserUnknown
from apps.access.models import EVERYWHERE, ApiToken, Grant
from apps.access.verbs import Role


def tokens(*, search: str = "") -> QuerySet[ApiToken]:
    """Every token ever issued, newest first, never its secret; with `search`, by its name or whoever issued it."""
    wanted = Q(name__icontains=search) | Q(issued_by__icontains=search)
    return (ApiToken.objects.filter(wanted) if search else ApiToken.objects.all()).order_by("-pk")


def get_token(token_id: int) -> ApiToken:
    """The token, or TokenUnknown."""
    token = ApiToken.objects.filter(pk=token_id).first()
    if token is None:
        raise TokenUnknown(f"token {token_id} does not exist")
    return token


def people_behind(kind: str, name: str) -> frozenset[str]:
    """Who speaks when this actor does: the person, or whoever issued a token of that name, through tokens as well."""
    if kind != "token":
        return frozenset({name})
    tokens, people = {name}, set[str]()
    rows = list(ApiToken.objects.filter(name=name))
    while rows:
        tokens |= {one.name for one in rows}
        people |= {one.issued_by for one in rows if one.issued_by_token_id is None}
        rows = list(ApiToken.objects.filter(pk__in=[one.issued_by_token_id for one in rows]))
    return frozenset(people | {f"token {token}" for token in tokens})


def tokens_of(username: str) -> QuerySet[ApiToken]:
    """Tokens that still work and that this person issued, themselves or through a token of theirs."""
    found = set(ApiToken.objects.filter(issued_by=username, issued_by_kind="user").values_list("pk", flat=True))
    unfollowed = found
    while unfollowed:
        unfollowed = set(ApiToken.objects.filter(issued_by_token__in=unfollowed).values_list("pk", flat=True))
        found |= unfollowed
    return ApiToken.objects.filter(pk__in=found, revoked_at=None).order_by("name", "pk")


def is_last_admin(user: User) -> bool:
    """Whether no other account that is open is an admin everywhere."""
    admins = User.objects.filter(
        Q(is_superuser=True) | Q(grants__role=Role.ADMIN, grants__environment=EVERYWHERE), is_active=True
    )
    return user.is_active and set(admins.values_list("pk", flat=True)) == {user.pk}


def users(*, search: str = "") -> QuerySet[User]:
    """Accounts with their grants, by name."""
    found = User.objects.filter(username__icontains=search) if search else User.objects.all()
    return found.prefetch_related("grants").order_by("username", "pk")


def get_user(username: str) -> User:
    """The account, or UserUnknown."""
    user = users().filter(username=username).first()
    if user is None:
        raise UserUnknown(f"user {username[:150]!r} does not exist")
    return user


def roles(user_id: int, *, environment: str = "") -> list[str]:
    """The roles a person has in `environment` (`*`: those given everywhere), or anywhere when it is empty."""
    grants = Grant.objects.filter(user_id=user_id)
    if environment:
        grants = grants.filter(environment__in={environment, EVERYWHERE})
    return list(grants.values_list("role", flat=True))
