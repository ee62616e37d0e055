// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"testing"
	"time"
)

func TestATimeOutOfRangeIsNotTheStart(t *testing.T) {
	for _, text := range []string{"1e10", "-1e10", "inf", "-inf", "300000h", "-2s"} {
		var m, s time.Duration
		if err := RecordingTime(&m).Set(text); err == nil {
			t.Errorf("%q is %v", text, m)
		}
		if err := Seconds(&s).Set(text); err == nil {
			t.Errorf("%q is a duration of %v", text, s)
		}
	}
}
