#!/usr/bin/env bash
# Checks for OpenBLAS, which programs that are built with the tag openblas link, and installs it on Debian and Ubuntu where it is
# missing. Nothing else needs it. Exit codes: 0 ready, 1 installation failed, 2 the user must install it.
set -u

say() { printf 'setup: %s\n' "$*" >&2; }

# Whether a program that calls OpenBLAS links.
ready() { echo 'int openblas_get_num_threads(void); int main(void) { return openblas_get_num_threads() < 1; }' |
	gcc -x c - -o /dev/null -lopenblas 2>/dev/null; }

ready && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	say "OpenBLAS is missing: install its development files (openblas-devel on Fedora, openblas on Arch and Homebrew)"
	exit 2
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		say "OpenBLAS is missing: install as root: apt-get install libopenblas-dev (no sudo here)"
		exit 2
	fi
	as_root=sudo
fi
say "installing libopenblas-dev with ${as_root:+$as_root }apt-get"
if ! $as_root apt-get update -q >&2 ||
	! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libopenblas-dev >&2 || ! ready; then
	say "apt-get failed, or gcc does not find -lopenblas; install libopenblas-dev by hand and run this again"
	exit 1
fi
