// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Options select what of a profile is shown, and how.
type Options struct {
	// Value names the type of values: "cpu", "wall", "runqueue", "samples", "blocked", or another of the file. "": wall
	// for waits, locks, states and sleeping threads, else the file's default, else its last.
	Value string
	// N is the number of rows, or, of a table by "wait", of groups; negative: all. 0: in tables 30, or 5 per group (by
	// "wait" 10 groups); in a comparison's tables 20; in JSON all. Other tables have at most 40 groups. In JSON N also
	// limits the calls of a tree.
	N int
	// By groups the table: "thread", "process", "command" (processes and short-lived children by program), "role"
	// (threads of a JVM), "state", "wait", "lock", "module", "label" or "label:NAME".
	By string
	// Sort orders functions: "self" or "total". "": self; of sleeping threads the program's functions first.
	Sort string
	// Full shows all functions in the table without By, Sort, Lines and Native; else it has the own ones of a program in a
	// managed language, with libraries folded.
	Full bool
	// NoIdle disables the rules for idle waits.
	NoIdle bool
	// Focus keeps samples with a function, file or module that matches this regular expression; Ignore drops them.
	Focus, Ignore string
	// Thread, Process, State and Wait keep samples whose name or number matches this regular expression.
	Thread, Process, State, Wait string
	// From and To select a part, from the recording's start; To 0: to its end.
	From, To time.Duration
	// Intervals adds each share's 95 % interval by sampling.
	Intervals bool
	// Lines distinguishes the lines of functions, and addresses without line.
	Lines bool
	// Native shows interpreter frames.
	Native bool
	// MinShare, 0 to 1, omits smaller branches of trees; 0: 0.01, negative: none.
	MinShare float64
	Color    bool
	// Width is the terminal's columns. 0: none; tables have at most 100, other text is not wrapped.
	Width     int
	FullNames bool
	// Title of the page; "": the target's name.
	Title string
	// File is the recording in suggested commands; "": the default.
	File string
}
