// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"time"

	"prywalk/internal/command/condition"
	"prywalk/internal/show/top"
	"prywalk/internal/watch/target"
)

// Options of a recording.
type Options struct {
	Sampler target.SamplingOptions
	// PIDs are empty for a command.
	PIDs []int
	// Duration is that of sampling. With 0 it lasts until the targets end, or a signal; with ByRule until a signal.
	Duration time.Duration
	// Output is the recording's path; "-" is standard output; "" (top and agent) means that there is none. %p is the first
	// pid, %t the time.
	Output string
	// Page is the path of the page that is written as well, with %p and %t, or "" if there is none. Precondition: Output
	// is one file.
	Page string
	// Open opens Page in a browser at the end. Precondition: [CheckBrowser].
	Open bool
	// Overwrite discards an earlier run's file, which else is kept as FILE.old.
	Overwrite bool
	// Rotate is the length of each of successive recordings; 0 means one recording. Keep is the number of complete ones
	// kept beside the one being written; 0 means all.
	Rotate time.Duration
	Keep   int
	// Context labels samples with the requests that programs publish (package threadcontext).
	Context bool
	// Ring, if positive, is the time that is kept and written by On's conditions, SIGUSR1 and at the end, not more often
	// for one condition. Keep is then the number of files.
	Ring time.Duration
	On   []condition.Condition
	// Aggregate keeps sums without times.
	Aggregate bool
	// Stats is the path of the counts as JSON, or "" if there is none.
	Stats string
	// Threads is the expression that selects threads, for messages; "" means all.
	Threads string
	// ByRule: a rule selected PIDs. Unreadable processes are counted, and more may come (Sampler.Select).
	ByRule bool
	// Control runs [serveControl] on standard input.
	Control bool
}

// TopOptions configure [RunTop].
type TopOptions struct {
	// Clock orders the rows at the start.
	Clock top.Clock
	// Window is the time that a table covers.
	Window time.Duration
	// Rows limits functions in text, and rows of each kind in JSON; a negative number means all.
	Rows int
	// Once prints one table.
	Once bool
	// JSON prints a line per refresh.
	JSON bool
}
