# Debian: tcl
exec tclsh8.6 <<'T'
proc fib n {if {$n<2} {return $n}; expr {[fib [expr {$n-1}]]+[fib [expr {$n-2}]]}}
while 1 {fib 18; for {set i 0} {$i<2000} {incr i} {dict set d $i [string repeat x [expr {$i%40}]]}
regsub -all {x+} [join [dict values $d]] y r; lsort [dict values $d]}
T

# SPDX-License-Identifier: Apache-2.0
