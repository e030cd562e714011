#!/bin/sh
# Builds the images powercontext-harness/engine, /server and /harness. The wheels come from the host's pip, so that the
# builds themselves need no network. PYTHON names the Python whose pip is used; BASE a base image of one's own.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
tag=${TAG:-local}

case $(docker version --format '{{.Server.Arch}}') in
amd64) processor=x86_64 ;;
arm64) processor=aarch64 ;;
*)
	echo "there is no wheel of the engine for this Docker's processor: x86_64 and aarch64 are the ones" >&2
	exit 2
	;;
esac

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

# What pip and Docker say of a step that went well is of no use to anybody.
quietly() {
	"$@" >"$log" 2>&1 || {
		cat "$log" >&2
		return 1
	}
}

wheels=build/docker/wheels-$processor
lock=$(cksum requirements.lock docker/wheels.py)
if [ "$(cat "$wheels/lock" 2>/dev/null)" != "$lock" ]; then
	echo "downloading the wheels of requirements.lock (about 120 MB)" >&2
	rm -rf "$wheels"
	mkdir -p "$wheels"
	quietly "$python" docker/wheels.py "$wheels" "$processor"
	echo "$lock" >"$wheels/lock"
fi

base=${BASE:-$(docker/base_image.sh)}

# A context of exactly what is needed, sent as a stream: the tree around it holds gigabytes.
build() {
	target=$1 file=$2
	shift 2
	echo "building powercontext-harness/$target:$tag on $base" >&2
	tar -cf "build/docker/$target.tar" --exclude=__pycache__ --transform "s,^$wheels,wheels," "$file" "$@"
	quietly docker build --build-arg "BASE=$base" --file "$file" --target "$target" \
		--tag "powercontext-harness/$target:$tag" - <"build/docker/$target.tar"
	rm "build/docker/$target.tar"
}

build engine docker/engine/Dockerfile docker/engine/engine.py "$wheels"/pylibseekdb-* "$wheels"/pymysql-*
others=$(find "$wheels" -name '*.whl' ! -name 'pylibseekdb-*' ! -name 'mypy*' ! -name 'ruff-*' ! -name 'types_*' | sort)
sources="docker/server/requirements.txt docker/server/smoke.py runtime backends harness scenarios"
for target in server harness; do
	# shellcheck disable=SC2086 # none of these names has a blank
	build $target docker/server/Dockerfile $sources $others
done

# What these builds replaced; the stages stay, as the builder's cache.
for target in engine server harness; do
	docker image prune --force --filter "label=powercontext-harness.image=$target" >/dev/null
done
