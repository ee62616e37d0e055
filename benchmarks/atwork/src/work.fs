\ Recursion, a sieve and decimals, for ever.
: fib ( n -- m ) dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;
50000 constant size
create flags size allot
: sieve ( -- n )
  flags size 1 fill 0
  size 2 do
    flags i + c@ if
      1+ i dup * size < if size i dup * do 0 flags i + c! j +loop then
    then
  loop ;
: decimals ( n -- ) 1.5e 0 do 0.9999e f* fdup fsin f+ loop fdrop ;
: work begin 20 fib drop sieve drop 20000 decimals again ;
work

// SPDX-License-Identifier: Apache-2.0
