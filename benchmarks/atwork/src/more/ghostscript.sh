# Debian: ghostscript
echo '/n 0 def 400 { /n n 1 add def newpath 300 400 n 0 360 arc n 7 mod 7 div setgray n 9 mod setlinewidth stroke
/Times-Roman findfont n 5 mod 8 add scalefont setfont 40 n moveto (some text to be drawn) show } repeat showpage' >p.ps
while :; do gs -q -dBATCH -dNOPAUSE -sDEVICE=png16m -r150 -dTextAlphaBits=4 -sOutputFile=/dev/null p.ps || exit; done

# SPDX-License-Identifier: Apache-2.0
