// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/internal/procmem"

// schedstatCache keeps the schedstat files of the last stopped threads open once the budget of open files is spent.
type schedstatCache struct {
	files [maxSchedstats]*procmem.ThreadFiles
	next  int
}

// maxSchedstats is small against the limit of open files.
const maxSchedstats = 32

// keepOpen opens the schedstat file of a thread about to be stopped, and closes the oldest one.
func (s *schedstatCache) keepOpen(files *procmem.ThreadFiles) {
	if !files.KeepSchedstatOpen() {
		return
	}
	if old := s.files[s.next]; old != nil {
		old.CloseKeptSchedstat()
	}
	s.files[s.next] = files
	s.next = (s.next + 1) % maxSchedstats
}

func (s *schedstatCache) close() {
	for i, files := range s.files {
		if files != nil {
			files.CloseKeptSchedstat()
			s.files[i] = nil
		}
	}
}
