#!/bin/sh
# Prints the name of the base image: Python's own, or one made of Debian's packages where no image registry answers.
#
# The made one has a name of our own, so that nothing else on this machine takes it for the official image. It needs
# root and debootstrap; nothing is installed here.
set -eu

official=python:3.11-slim-bookworm
ours=powercontext-harness/base:bookworm

for image in "$official" "$ours"; do
	if docker image inspect "$image" >/dev/null 2>&1; then
		echo "$image"
		exit 0
	fi
done

echo "getting the base image $official" >&2
if cause=$(docker pull --quiet "$official" 2>&1 >/dev/null); then
	echo "$official"
	exit 0
fi

echo "it cannot be pulled ($cause); making $ours of Debian's packages instead" >&2
command -v debootstrap >/dev/null || {
	echo "debootstrap is missing: pull $official by hand, or run apt-get install debootstrap" >&2
	exit 2
}
[ "$(id -u)" = 0 ] || {
	echo "debootstrap needs root: pull $official by hand, or run this as root" >&2
	exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$work/tree" >"$work/log" 2>&1 || {
	tail -n 5 "$work/log" >&2
	echo "debootstrap failed: see whether Debian's package mirror answers" >&2
	exit 2
}
# What an image has no use for makes up a third of the packages.
for directory in usr/share/doc usr/share/man usr/share/info usr/share/locale var/cache/apt var/lib/apt/lists var/log; do
	find "$work/tree/$directory" -type f -delete
done
tar -C "$work/tree" -cf - . |
	docker import --change 'LABEL powercontext-harness.image=base' --change 'CMD ["python3"]' - "$ours" >/dev/null
echo "$ours"
