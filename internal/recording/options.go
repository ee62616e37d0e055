// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"time"

	"prywalk/internal/console"
	"prywalk/internal/sampler"
	"prywalk/internal/top"
)

// Options say what is recorded, and where it goes.
type Options struct {
	// Sampler says how threads are looked at.
	Sampler sampler.Options
	// PIDs are the processes; none where a command is started.
	PIDs []int
	// Duration is how long; 0: until the targets end, or somebody ends it.
	Duration time.Duration
	// Output is the path of the recording, "-" for the standard output; "": none, for [Live] only. %p in it is the pid,
	// %t the time.
	Output string
	// Overwrite: what is at that path from an earlier run is not kept.
	Overwrite bool
	// Aggregate keeps sums and not when things happened.
	Aggregate bool
	// Stats is the path of a file for what the run did, as JSON; "": none.
	Stats string
	// Threads is the expression that chose threads, for messages; "": all.
	Threads string
	// Control obeys orders on the standard input.
	Control bool
}

// LiveOptions say how [Live] shows what threads do.
type LiveOptions struct {
	// Clock is what the tables are of at first.
	Clock top.Clock
	// Window is of how long the tables are.
	Window time.Duration
	// Rows is the number of functions in plain text, and of rows of each kind in JSON; below 0 all.
	Rows int
	// Once: one table of plain text, and no more.
	Once bool
	// JSON: a line for each refresh.
	JSON bool
}

// Attach records running processes.
func Attach(o Options) error { return newRecording(o).attach() }

// Command starts a command and records it. The error carries its exit status.
func Command(o Options, args []string) error { return newRecording(o).command(args) }

// CheckOutput finds out whether the output can be written, before anything is started.
func CheckOutput(o Options) error { return newRecording(o).setOutput(0) }

func newRecording(o Options) *recording {
	return &recording{opts: o.Sampler, asked: o, pids: o.PIDs, keepOld: !o.Overwrite}
}

// onTerminal reports whether the table is for a terminal that can show one in place.
func (l *live) onTerminal() bool {
	term := os.Getenv("TERM")
	return !l.shows.Once && !l.shows.JSON && console.IsTerminal(os.Stdout) && term != "dumb" && term != ""
}
