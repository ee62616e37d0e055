// SPDX-License-Identifier: Apache-2.0

// Package perfscript reads the output of perf script with the fields pid,tid,time,ip,sym,dso.
//
// A sample is a line "PID/TID TIME:", one line per frame from the innermost out ("ADDRESS NAME (FILE)"), and an
// empty line; kernel frames come first. The address of a user frame is the offset in its file; in generated code
// it is the address itself (builtin-script.c prints the address that map_ip gave). Names contain spaces and
// brackets: the file is what follows the last bracket before a slash or a square bracket.
package perfscript
