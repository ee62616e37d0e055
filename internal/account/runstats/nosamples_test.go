// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"strings"
	"testing"
)

func TestNoSamplesBecauseOfMaxPauseDoesNotSayThatTheProcessExited(t *testing.T) {
	s := &Stats{}
	s.Attempted, s.Ticks, s.Failed = 302, 302, map[string]int64{"max-pause": 302}
	text := NoSamples(s, "").Error()
	const want = "than --max-pause (max-pause 302); give a longer --max-pause"
	if !strings.Contains(text, want) || strings.Contains(text, "exited") {
		t.Error(text)
	}
}

func TestNoSamplesNamesWhatIsTrueOfTheRun(t *testing.T) {
	for _, c := range []struct {
		failed map[string]int64
		want   string
	}{
		{map[string]int64{"map-lock": 3}, "no samples: all observations failed (map-lock 3); another thread holds the "},
		{map[string]int64{"map-lock": 3, "exited": 1}, "no samples: all observations failed (map-lock 3, exited 1); "},
		{map[string]int64{"exited": 2, "zombie": 1}, "no samples: all threads exited before they were sampled ("},
		{map[string]int64{"timeout": 2, "exited": 1}, "no samples: no thread could be stopped (timeout 2, exited 1); " +
			"check for uninterruptible sleep (state D: ps -L -o tid,stat,wchan:30,comm -p PID), a frozen cgroup, or CPUs " +
			"that are all busy"},
		{map[string]int64{"zombie": 1}, "no samples: all threads exited before they were sampled (zombie 1); "},
		{map[string]int64{"map-lock": 9, "timeout": 1}, "no samples: all observations failed (map-lock 9, timeout 1)"},
		{map[string]int64{"timeout": 9, "map-lock": 1}, "no samples: no thread could be stopped (timeout 9, map-lock 1)"},
		{nil, "no samples: no thread was sampled before the recording ended; record longer, or try -F 1000"},
		{map[string]int64{"traced": 1, "max-pause": 9}, "no samples: stops were expected to take longer than --max-pause"},
		{map[string]int64{"traced": 9, "denied": 1}, "no samples: another tracer is attached (traced 9, denied 1); detach"},
	} {
		s := &Stats{}
		s.Attempted, s.Ticks, s.Failed = 9, 9, c.failed
		if text := NoSamples(s, "").Error(); !strings.HasPrefix(text, c.want) {
			t.Errorf("%v: %q, want %q", c.failed, text, c.want)
		}
	}
}
