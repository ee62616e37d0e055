# Debian: gcc libc6-dev
for i in $(seq 300); do echo "int f$i(int n,int*p){int s=0;for(int i=0;i<n;i++){switch((i^$i)%5){case 0:s+=p[i]*$i;break;case 1:s^=p[i];break;default:for(int j=0;j<9;j++)p[j]+=s;}}return s;}"; done >a.c
{ for i in $(seq 300); do echo "int f$i(int,int*);"; done; echo 'int main(int c,char**v){int p[99]={c};int s=0;'
for i in $(seq 300); do echo "s+=f$i(c*9,p);"; done; echo 'return s;}'; } >m.c
gcc -flto -O2 -c a.c m.c
while :; do gcc -flto=2 -O2 -o out a.o m.o || exit; done

# SPDX-License-Identifier: Apache-2.0
