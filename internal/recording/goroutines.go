// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"

	"prywalk/internal/look"
)

// mostGoPrograms bounds how many processes are asked for goroutines at the end of a recording.
const mostGoPrograms = 16

// countGoroutines counts the goroutines that wait when the sampling ends, in the processes that the recording was
// started with: no thread has their stacks, so that no sample shows them. The lines stand in the recording's comments.
func (r *recording) countGoroutines() {
	if r.live || r.hung {
		return
	}
	var lines []string
	hung := look.Watched(func() {
		for _, pid := range r.pids[:min(len(r.pids), mostGoPrograms)] {
			t, err := r.images.Open(pid)
			if err != nil { // it has ended meanwhile
				continue
			}
			if text := t.ParkedText(); text != "" {
				lines = append(lines, fmt.Sprintf("%s (pid %d): %s", t.Comm, pid, text))
			}
			_ = t.Close() // of descriptors that were only read
		}
	})
	if hung == nil {
		r.goroutines = lines
	}
}
