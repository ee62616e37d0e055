#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd.sh: makes a Debian 12 with systemd as its first program, and Podman, for the emulated machine of make
# test-systemd, and prints the file, a tar archive of 160 MB. It needs root and debootstrap, and takes some minutes;
# what was made once is used again: remove the file to make it anew.
#
# Status 3, with a last line that says why: it cannot be made here. Any other status but 0 is a fault.
set -eu

dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/prywalk/kernels
root=$dir/systemd-podman.tar
if [ -s "$root" ]; then
	echo "$root"
	exit 0
fi
lacking() {
	echo "systemd: $1 (by hand: $root)" >&2
	exit 3
}
[ "$(id -u)" -eq 0 ] || lacking "needs root to make a Debian with it"
command -v debootstrap >/dev/null 2>&1 || lacking "no debootstrap here to make a Debian with it"

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/systemd.XXXXXX")
trap 'umount "$tmp/root/proc" "$tmp/root/sys" 2>/dev/null || :; rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
archive=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)
# debootstrap does not find what provides Podman's virtual dependency: netavark.
programs=systemd,systemd-sysv,dbus,podman,crun,netavark
timeout 1200 debootstrap --variant=minbase --include="$programs" bookworm "$tmp/root" \
	"${archive:-http://deb.debian.org/debian}" >"$tmp/log" 2>&1 </dev/null || {
	tail -n 5 "$tmp/log" >&2
	lacking "debootstrap failed"
}
(cd "$tmp/root" && tar -cf "$tmp/root.tar" --exclude='./dev/*' --exclude=./var/cache --exclude=./var/lib/apt/lists \
	--exclude=./usr/share/doc --exclude=./usr/share/locale --exclude=./usr/share/man .)
mv "$tmp/root.tar" "$root"
echo "$root"
