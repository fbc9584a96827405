# Conch itself: the web server, the worker, the clock and the one-shot jobs are one image with different commands.
FROM python:3.11.13-slim-bookworm AS build

# The same uv that demo/bootstrap.py pins (tests/docs holds them together).
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /conch
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev

FROM python:3.11.13-slim-bookworm

RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin conch \
    # A named volume takes the owner of the directory it is first mounted over.
    && install --directory --owner conch --group conch \
        /artifacts /artifacts/receiving /models /models/prod /secrets /discovery /prometheus
WORKDIR /conch
ENV PATH=/conch/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
COPY --from=build /conch/.venv .venv
COPY manage.py LICENSE ./
COPY static static
COPY templates templates
COPY controlplane controlplane
COPY worker worker
COPY apps apps
# Static files do not depend on the key, so this one is never used again.
RUN CONCH_SECRET_KEY=only-for-collectstatic python manage.py collectstatic --noinput --verbosity 0

USER conch
EXPOSE 8000
CMD ["gunicorn", "controlplane.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--threads", "16", "--no-control-socket"]
