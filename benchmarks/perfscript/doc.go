// SPDX-License-Identifier: Apache-2.0

// Package perfscript reads the output of perf script with the fields pid,tid,time,ip,sym,dso.
//
// A sample is a line "PID/TID TIME:", one line per frame from the innermost out ("ADDRESS NAME (FILE)"), kernel frames
// first, and an empty line. The address of a user frame is the offset in its file (in generated code the address
// itself). Names contain spaces and brackets: the file follows the last bracket
// before a slash or a square bracket.
package perfscript
