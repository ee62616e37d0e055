# Debian: restic
export RESTIC_PASSWORD=x RESTIC_REPOSITORY="$PWD/r"
restic -q init; head -c 30000000 /dev/urandom | od -An -v -tx1 >data
while :; do restic -q --no-cache backup --force data && rm -rf r && restic -q init || exit; done

# SPDX-License-Identifier: Apache-2.0
