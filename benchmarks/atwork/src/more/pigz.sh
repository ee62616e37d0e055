# Debian: pigz
head -c 8000000 /dev/urandom | od -An -v -tx1 >data
while :; do pigz -9 -p 4 -c data >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
