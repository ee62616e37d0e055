// SPDX-License-Identifier: Apache-2.0

// Package options is what callers of package report choose. It is apart so that what prepares a profile for a report
// needs nothing of the forms of reports.
package options

import (
	"io"
	"time"
)

// View chooses what of a profile is shown, and how. The zero value shows the
// profile's default type of values.
type View struct {
	// Value names the type of values: "cpu", "wall", "runqueue", "samples", or
	// whatever the file has; "blocked" is what wall has beyond cpu and runqueue.
	// Empty: wall where groups are of waits or states, or only sleepers are asked for, else the file's default, else
	// its last.
	Value string
	// N is the number of rows of the table; 0 means 30, or 5 for each group. A
	// negative number means all.
	N int
	// By groups the table: "thread", "process", "command" (processes of one name, and the short-lived children that ran
	// a program of that name), "role" (threads of a Java machine), "state", "wait", "lock" or "module".
	By string
	// Sort orders the functions: "self" or "total". Empty: self; where all are of sleepers, the program's functions
	// come first.
	Sort string
	// NoIdle switches off the rules by which waits are called idle.
	NoIdle bool
	// Focus keeps the samples in which a function, file or module matches this
	// regular expression; Ignore drops those. Empty: all, none.
	Focus, Ignore string
	// Thread, Process, State and Wait keep the samples of threads, processes, states and waits whose name, or number,
	// matches this regular expression. Empty: all.
	Thread, Process, State, Wait string
	// From and To keep what happened in this part of the recording, counted from its beginning; To 0 is its end.
	From, To time.Duration
	// Intervals has the table and the JSON tell the 95 % interval of each share, by the error of sampling.
	Intervals bool
	// Lines tells lines of a function apart, and addresses without one.
	Lines bool
	// Native shows the native frames that run managed ones, such as an interpreter's loop.
	Native bool
	// MinShare is the share of the whole, 0 to 1, below which the tree leaves
	// a branch out; 0 means 0.01, negative shows all.
	MinShare float64
	// Color allows colours (ANSI escape sequences) in text.
	Color bool
	// Width is the number of columns of a terminal, 0 for anything else: then tables have at most 100 columns, and
	// other text is not wrapped. Of long function names the method is kept.
	Width int
	// FullNames has tables and trees as wide as their names are.
	FullNames bool
	// Title heads the page; empty: the target's name.
	Title string
}

// HTTP says how a profile is served.
type HTTP struct {
	// Source is the directory whose files the source view shows; "": no file is read.
	Source string
	// Log takes messages, the address with its token among them.
	Log io.Writer
}
