// SPDX-License-Identifier: Apache-2.0

// Package perfscript reads what perf script prints with the fields pid,tid,time,ip,sym,dso.
//
// A sample is a line "PID/TID TIME:", one line for each frame from the innermost out ("ADDRESS NAME (FILE)"), and an
// empty line. Kernel frames come before user frames. Of a user frame in a file the address is the offset in that
// file. Of one in generated code it is the address itself (perf's builtin-script.c prints the address that map_ip
// gave). Names have spaces and brackets in them, so that the file is what stands after the last bracket that is
// followed by a slash or a square bracket.
package perfscript
