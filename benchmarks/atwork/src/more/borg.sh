# Debian: borgbackup
export BORG_BASE_DIR="$PWD/b"
head -c 20000000 /dev/urandom | od -An -v -tx1 >data
while :; do rm -rf r b; borg init -e none r && borg create -C zlib,6 r::a data || exit; done

# SPDX-License-Identifier: Apache-2.0
