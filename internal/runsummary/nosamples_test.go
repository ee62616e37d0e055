// SPDX-License-Identifier: Apache-2.0

package runsummary

import (
	"strings"
	"testing"

	"prywalk/internal/runstats"
)

func TestNoSamplesBecauseOfMaxPauseDoesNotSayThatTheProcessExited(t *testing.T) {
	s := &runstats.Stats{}
	s.Attempted, s.Ticks, s.Failed = 302, 302, map[string]int64{"max-pause": 302}
	text := NoSamples(s, "").Error()
	if !strings.Contains(text, "than --max-pause (max-pause 302); give a longer one") || strings.Contains(text, "exited") {
		t.Error(text)
	}
}
