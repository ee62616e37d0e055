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
	Freq            float64        // ticks/s
	Threads         *regexp.Regexp // nil: all
	Children        bool
	OutlivesTargets bool // the run goes on after the last process has ended
	ReadOnly        bool // no register of a target is written
	Mode            observe.Mode
	MaxPause        time.Duration // 0: no limit
	MaxOverhead     float64       // 0: no limit
	LimitOwnCPU     bool          // MaxOverhead also limits prywalk, as a share of all CPUs' time
	Subset          int           // 0: all threads
	Engine          engine.Source // nil: running threads are stopped
	KernelStacks    bool
	CheckpointEvery time.Duration // 0: when asked for
	WatchEvery      time.Duration // 0: never
}
