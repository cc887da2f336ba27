#!/bin/sh
# Make .venv from requirements.lock. uv is brought into .uv/ when the machine has none.
set -eu
cd "$(dirname "$0")"
say() { printf '%s\n' "$*" >&2; }

# Behind a company's proxy the system knows its certificate, and uv and an old pip have only their own.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
for certificates in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
    if [ -z "${PIP_CERT:-}" ] && [ -f "$certificates" ]; then export PIP_CERT="$certificates"; fi
done

python=""
for candidate in "${STEPWELL_SETUP_PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { say "stepwell: no Python 3.11 or newer was found; install one (apt-get install python3) and run this again."; exit 1; }

if command -v uv >/dev/null 2>&1; then
    uv=uv
else
    if [ ! -x .uv/bin/uv ]; then
        say "stepwell: bringing uv into .uv/"
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
            if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
                say "stepwell: installing the system package $package (Python's venv module is missing)"
                apt-get update -qq && apt-get install -y -qq "$package" >/dev/null
            else
                say "stepwell: Python's venv module is missing; run: sudo apt-get install $package"
                exit 1
            fi
        fi
        rm -rf .uv && "$python" -m venv .uv
        .uv/bin/python -m pip install -q --disable-pip-version-check "uv>=0.13,<1"
    fi
    uv=.uv/bin/uv
fi

[ -x .venv/bin/python ] || "$uv" venv -q --python "$("$python" -c 'import sys; print(sys.executable)')" .venv
say "stepwell: installing what requirements.lock names into .venv/"
"$uv" pip install -q --python .venv/bin/python --require-hashes -r requirements.lock
"$uv" pip install -q --python .venv/bin/python --no-deps --no-build-isolation -e .
# uv writes no bytecode, and cells cannot: each session would compile anew what only cells import.
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
for package in scipy sklearn statsmodels seaborn narwhals joblib patsy openpyxl duckdb; do
    [ ! -d "$site/$package" ] || .venv/bin/python -m compileall -q "$site/$package" >/dev/null || :
done
touch .venv/ready
