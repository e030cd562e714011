#!/bin/sh
# Builds the images, brings engine and server up, runs the harness against them and the tests that need Docker, and
# takes everything of its own down again, after Ctrl-C too. The images stay, so that the next time is quicker.
set -eu
cd "$(dirname "$0")/.."

refuse() {
	printf '%s\n  hint: %s\n' "$1" "$2" >&2
	exit 2
}

command -v docker >/dev/null || refuse "docker is not installed" \
	"install it (on Debian: apt-get install docker.io docker-compose debootstrap), then run this again"
docker version --format '{{.Server.Version}}' >/dev/null 2>&1 || refuse "Docker's daemon does not answer" \
	"start it (systemctl start docker, or dockerd as root), and see that this user may use its socket"
if docker compose version >/dev/null 2>&1; then
	compose="docker compose"
elif command -v docker-compose >/dev/null; then
	compose=docker-compose
else
	refuse "Docker's compose is not installed" "install the package docker-compose or docker-compose-plugin"
fi

# Of this run alone: what carries this name is ours to take down.
COMPOSE_PROJECT_NAME=pch-docker-test-$$
ROOT_PASSWORD=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
ENGINE_PORT=0
SERVER_PORT=0
TAG=${TAG:-local}
export COMPOSE_PROJECT_NAME ROOT_PASSWORD ENGINE_PORT SERVER_PORT TAG

in_compose() {
	$compose -f docker/compose.yaml "$@"
}

take_down() {
	status=$?
	trap '' INT TERM
	if [ "$status" -ne 0 ] && [ "$status" -ne 130 ]; then
		in_compose logs --no-color --tail 20 engine server >&2 || true
	fi
	in_compose --profile harness down --volumes --remove-orphans --timeout 10 >/dev/null 2>&1 ||
		echo "something of $COMPOSE_PROJECT_NAME is left: docker ps -a --filter name=$COMPOSE_PROJECT_NAME" >&2
	exit "$status"
}

docker/build.sh
docker image ls --filter reference='powercontext-harness/*:*' --format '{{.Repository}}:{{.Tag}} {{.Size}}' | sort

trap take_down EXIT
trap 'exit 130' INT TERM
in_compose up -d engine server >/dev/null 2>&1 || {
	in_compose up -d engine server
	exit 1
}
# Starts once both are healthy; -T, since this may have no terminal.
echo "--- the server on the engine, asked over HTTP"
in_compose run --rm -T harness smoke.py http://server:8000
echo "--- the doctor, and every scenario on the engine in its container"
in_compose run --rm -T harness -m harness doctor --backend oceanbase
in_compose run --rm -T harness -m harness run
echo "--- the tests that need Docker"
POWERCONTEXT_HARNESS_DOCKER=needed .venv/bin/python -m pytest -q tests/backend/test_container.py
