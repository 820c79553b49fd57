#!/usr/bin/env bash
# Checks that there is a browser for the tests of the page that shiftwork report makes, and installs chromium on Debian and
# Ubuntu. Nothing but make test-browser needs one. Exit codes: 0 ready, 1 installation failed, 2 to be installed by the user.
set -u

for browser in chromium chromium-browser google-chrome google-chrome-stable headless-shell; do
	command -v "$browser" >/dev/null 2>&1 && exit 0
done
if ! command -v apt-get >/dev/null 2>&1; then
	echo "browser: install chromium, and run this again" >&2
	exit 2
fi
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "browser: installing chromium with ${as_root:+$as_root }apt-get" >&2
if ! $as_root apt-get update -q >&2 || ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core >&2; then
	echo "browser: apt-get failed; install chromium by hand, and run this again" >&2
	exit 1
fi
