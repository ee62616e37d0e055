// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os"
	"sync"
	"time"

	"prywalk/internal/host/outfile"
)

// outputState is the state of the written file. Safe for concurrent use.
type outputState struct {
	mu       sync.Mutex
	path     string
	written  time.Time
	complete bool // the last write completed the recording
	parts    int  // complete files before this one
}

func (s *outputState) setPath(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path = path
}

func (s *outputState) noteComplete(next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts++
	s.path, s.written, s.complete = next, time.Time{}, false
}

func (s *outputState) noteWrite(complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written, s.complete = time.Now(), complete
}

func (s *outputState) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.complete && s.path == "-":
		return "the whole recording was written to the standard output"
	case s.complete:
		return fmt.Sprintf("the whole recording is in %s", s.path)
	case !s.written.IsZero():
		return fmt.Sprintf("%s has the recording until %s, %s ago; the rest is lost",
			s.path, s.written.Format(time.TimeOnly), time.Since(s.written).Round(100*time.Millisecond))
	case s.parts > 0:
		return fmt.Sprintf("the parts before %s are complete (%d); the rest is lost", s.path, s.parts)
	case s.path == "" || !outfile.Replaceable(s.path):
		return "the recording was not finished"
	}
	if _, err := os.Lstat(s.path); err == nil {
		return fmt.Sprintf("this recording was not written; %s is an older file", s.path)
	}
	return "nothing was written"
}
