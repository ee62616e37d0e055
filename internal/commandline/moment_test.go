// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"testing"
	"time"
)

func TestATimeOutOfRangeIsNotTheStart(t *testing.T) {
	for _, text := range []string{"1e10", "-1e10", "inf", "-inf", "300000h", "-2s"} {
		var m RecordingTime
		if err := m.Set(text); err == nil {
			t.Errorf("%q is %v", text, time.Duration(m))
		}
		var s Seconds
		if err := s.Set(text); err == nil {
			t.Errorf("%q is a duration of %v", text, time.Duration(s))
		}
	}
}
