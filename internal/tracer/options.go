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
	Threads         *regexp.Regexp // nil: all
	Children        bool           // child processes are sampled
	Endless         bool           // the run goes on after the last process has ended
	ReadOnly        bool           // no register of a target is written
	Mode            observe.Mode
	MaxPause        time.Duration // 0: no bound
	MaxOverhead     float64       // 0: no bound
	OfHost          bool          // a share of all processors' time
	Subset          int           // 0: all
	Engine          engine.Source // nil: running threads are stopped
	KernelStacks    bool
	CheckpointEvery time.Duration // 0: when asked for
	WatchEvery      time.Duration // 0: no watch
}
