#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make.sh: makes the roots of make test-userlands, and prints the directory that holds them: Debian 11 (bullseye) and 13
# (trixie) with Python, a JRE, Node, PHP and Ruby as they ship them. It needs root and debootstrap, 500 MB of disk each,
# and takes some minutes each. What was made once is used again: remove the directory to make it anew.
#
# Status 3, with a line that says why: a root cannot be made here; the directory holds the others. Any other status but 0
# is a fault.
set -eu

dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/prywalk/userlands
lacks=''
lacking() {
	echo "userlands: $1" >&2
	lacks="$lacks $2"
}
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null 2>&1 || {
	echo "userlands: needs root and debootstrap to make a Debian" >&2
	exit 3
}
mkdir -p "$dir"
tmp=$(mktemp -d "$dir/make.XXXXXX")
trap 'umount "$tmp/root/proc" "$tmp/root/sys" 2>/dev/null || :; rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
archive=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)

programs=python3-minimal,default-jre-headless,nodejs,php-cli,ruby
for suite in bullseye trixie; do
	[ ! -e "$dir/$suite" ] || continue
	timeout 1800 debootstrap --variant=minbase --include="$programs" "$suite" "$tmp/root" \
		"${archive:-http://deb.debian.org/debian}" >"$tmp/log" 2>&1 </dev/null || {
		tail -n 5 "$tmp/log" >&2
		lacking "debootstrap failed" "$suite"
		umount "$tmp/root/proc" "$tmp/root/sys" 2>/dev/null || :
		rm -rf --one-file-system "$tmp/root"
		continue
	}
	umount "$tmp/root/proc" "$tmp/root/sys" 2>/dev/null || :
	rm -rf "$tmp/root/var/cache/apt/archives"
	mv "$tmp/root" "$dir/$suite" # whole, or not at all
done
for suite in bullseye trixie; do
	[ ! -e "$dir/$suite" ] || {
		echo "$dir"
		break
	}
done
[ -z "$lacks" ] || exit 3
