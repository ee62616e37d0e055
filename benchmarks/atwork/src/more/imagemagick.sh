# Debian: imagemagick
while :; do convert-im6.q16 -size 700x500 plasma:red-blue -gaussian-blur 0x4 -distort barrel '0.2 0 0' -unsharp 0x2 out.jpg || exit; done

# SPDX-License-Identifier: Apache-2.0
