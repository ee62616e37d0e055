// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"testing"
	"time"
)

func TestATimeOutOfRangeIsNotTheStart(t *testing.T) {
	for _, text := range []string{"1e10", "-1e10", "inf", "-inf", "300000h", "-2s"} {
		var m Moment
		var s time.Duration
		if err := RecordingTime(&m).Set(text); err == nil {
			t.Errorf("%q is %v", text, m.since)
		}
		if err := Seconds(&s).Set(text); err == nil {
			t.Errorf("%q is a duration of %v", text, s)
		}
	}
}

func TestClockTimesAreOfTheRecordingsDays(t *testing.T) {
	day := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.Local) }
	begin, end := day(27, 23, 30), day(28, 4, 0)
	for text, want := range map[string]time.Duration{
		"2s": 2 * time.Second, "0": 0, "23:45": 15 * time.Minute, "23:45:30": 15*time.Minute + 30*time.Second,
		"03:00": 210 * time.Minute, "2026-11-28T00:30": time.Hour, "2026-11-28T00:30:10": time.Hour + 10*time.Second,
		begin.Add(time.Minute).UTC().Format(time.RFC3339): time.Minute, "22:00": 0, "2026-11-27T22:00": 0,
	} {
		var m Moment
		if err := RecordingTime(&m).Set(text); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := m.Since(begin, end); got != want {
			t.Errorf("%q is %s after the start, want %s", text, got, want)
		}
	}
	for text, ok := range map[string]bool{"23:45": true, "2s": true, "22:00": false, "2026-11-27T23:30": false} {
		var m Moment
		if err := RecordingTime(&m).Set(text); err != nil {
			t.Fatal(err)
		}
		if d, err := m.End(begin, end); (err == nil) != ok || ok && d <= 0 {
			t.Errorf("--to %s: %s, %v; permitted %v", text, d, err, ok)
		}
	}
	for _, text := range []string{"25:00", "03:00:61", "2026-13-01T00:00", "3:00pm", "2026-11-28"} {
		var m Moment
		if err := RecordingTime(&m).Set(text); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}
