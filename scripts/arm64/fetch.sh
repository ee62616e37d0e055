#!/bin/sh
# Fetches what an emulated arm64 machine boots, Debian's kernel for it and a static busybox, and
# prints the directory that then holds vmlinuz and busybox. It installs nothing, needs no root, and
# leaves this machine's package lists and architectures alone: apt works in directories of its own.
# What was fetched once is used again; remove the directory to fetch anew.
set -eu

dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/prywalk/arm64
if [ -s "$dir/vmlinuz" ] && [ -s "$dir/busybox" ]; then
	echo "$dir"
	exit 0
fi
command -v apt-get >/dev/null 2>&1 || {
	echo "fetch.sh: no apt-get here; put an arm64 kernel as $dir/vmlinuz and a static busybox for arm64 as $dir/busybox" >&2
	exit 1
}

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"

# The first options make apt see a machine of the other architecture on which nothing is installed. The
# sandbox user could not write into a directory of ours.
apt() {
	tool=$1
	shift
	"$tool" -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Dir::State::Lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o Dir::State::status=/dev/null \
		-o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}

# A source that has nothing for arm64 makes update fail; whether that matters shows below.
apt apt-get update >&2 || true
kernel=$(apt apt-cache depends linux-image-cloud-arm64 |
	sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
[ -n "$kernel" ] || {
	echo "fetch.sh: no package linux-image-cloud-arm64 in the sources of apt; Debian's main archive has it" >&2
	exit 1
}
cd "$tmp"
apt apt-get download "$kernel" busybox-static >&2
for deb in *.deb; do
	dpkg-deb -x "$deb" root
done
mv root/boot/vmlinuz-* "$dir/vmlinuz"
mv root/bin/busybox "$dir/busybox" 2>/dev/null || mv root/usr/bin/busybox "$dir/busybox"
echo "$dir"
