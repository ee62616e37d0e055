# Debian: pari-gp
echo 'while(1,factor(2^101+random(10^6));polroots(x^20+random(99)*x+1);matdet(matrix(40,40,i,j,random(99))))' >p
exec gp -q p

# SPDX-License-Identifier: Apache-2.0
