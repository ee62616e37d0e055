# Debian: gnuplot-nox
echo 'set term svg; set output "/dev/null"; set isosamples 80; do for [i=1:30] { splot sin(x*i)*cos(y) with lines }' >p
while :; do gnuplot p || exit; done

# SPDX-License-Identifier: Apache-2.0
