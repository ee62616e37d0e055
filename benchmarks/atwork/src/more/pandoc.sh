# Debian: pandoc
for i in $(seq 3000); do printf '# Head %d\n\nSome *text* of `code` and [a link](http://a.b/%d).\n\n- one\n- two\n\n' $i $i; done >t.md
while :; do pandoc -f markdown -t latex t.md >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
