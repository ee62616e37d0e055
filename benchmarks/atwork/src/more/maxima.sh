# Debian: maxima
export HOME="$PWD"
echo 'for i:1 while true do (factor(x^60-1), integrate(1/(x^4+i),x), expand((a+b+c+i)^14))$' >m.mac
exec maxima --very-quiet -b m.mac </dev/null >/dev/null

# SPDX-License-Identifier: Apache-2.0
