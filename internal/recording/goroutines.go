// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"

	"prywalk/internal/observe/hang"
	"prywalk/internal/runstats"
)

const maxGoPrograms = 16

func (r *recording) countGoroutines() {
	if r.endless || r.hung {
		return
	}
	lines := unreadGoroutines(r.stats.Goroutines)
	hung := hang.Watched(func() {
		for _, pid := range r.pids[:min(len(r.pids), maxGoPrograms)] {
			t, err := r.images.Open(pid)
			if err != nil {
				continue
			}
			parked := t.Runtimes().GoroutinesText
			if r.samplerOpts.Tasks {
				parked = t.Runtimes().GoroutinesAtEnd
			}
			text := parked()
			if text != "" {
				lines = append(lines, fmt.Sprintf("%s (pid %d): %s", t.Comm, pid, text))
			}
			_ = t.Close()
		}
	})
	if hung == nil {
		r.goroutines = lines
	}
}

// unreadGoroutines notes that the recording was too short to read each goroutine.
func unreadGoroutines(g *runstats.WaitingTasks) []string {
	if g == nil || g.Unread == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d goroutines were not read before the recording or their process ended (a process had "+
		"up to %d); the time of these is missing; record longer (-d)", g.Unread, g.MostAtOnce)}
}
