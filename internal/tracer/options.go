// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"regexp"
	"time"

	"prywalk/internal/engine"
	"prywalk/internal/observe"
)

// Options select how to observe.
type Options struct {
	Freq            float64        // ticks a second
	Threads         *regexp.Regexp // nil selects all
	Children        bool           // child processes are sampled
	OutlivesTargets bool           // the run goes on after the last process has ended
	ReadOnly        bool           // no register of a target is written
	Mode            observe.Mode
	MaxPause        time.Duration // 0 means no limit
	MaxOverhead     float64       // 0 means no limit
	OverheadOfHost  bool          // MaxOverhead is a share of all CPUs' time
	Subset          int           // 0 means all threads
	Engine          engine.Source // nil: running threads are stopped
	KernelStacks    bool
	CheckpointEvery time.Duration // 0 means when asked for
	WatchEvery      time.Duration // 0 means never
}
