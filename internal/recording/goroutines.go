// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"

	"prywalk/internal/goroutinecount"
	"prywalk/internal/runstats"
	"prywalk/internal/selfhang"
)

const maxGoPrograms = 16

// countGoroutines fails if a read hangs.
func (r *recording) countGoroutines() error {
	lines := unreadGoroutines(r.stats.Goroutines)
	hung := selfhang.Watched(func() {
		for _, pid := range r.pids[:min(len(r.pids), maxGoPrograms)] {
			t, err := r.images.Open(pid)
			if err != nil {
				continue
			}
			shown := goroutinecount.NotShown
			if r.samplerOpts.Tasks {
				shown = goroutinecount.Recorded
			}
			if _, text := goroutinecount.Of(t.Runtimes(), pid, shown); text != "" {
				lines = append(lines, fmt.Sprintf("%s (pid %d): %s", t.Comm, pid, text))
			}
			_ = t.Close()
		}
	})
	if hung == nil {
		r.goroutines = lines
	}
	return hung
}

func unreadGoroutines(g *runstats.WaitingTasks) []string {
	if g == nil || g.Unread == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d goroutines were not read before the recording or their process ended (a process had "+
		"up to %d); the time of these is missing; record longer (-d)", g.Unread, g.MostAtOnce)}
}
