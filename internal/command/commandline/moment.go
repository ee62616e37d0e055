// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
)

// Moment is a time of a recording: since its start, on a date, or of a day. The zero value is none.
type Moment struct {
	text  string
	since time.Duration
	at    time.Time // zero if the moment is a time since the start
	daily bool      // of at, only the time of the day counts
}

// RecordingTime takes a time since a recording's start (2s), of the local day (03:00, 03:00:30), or on a date
// (2026-11-28T03:00, local unless it ends in Z or an offset).
func RecordingTime(at *Moment) pflag.Value {
	return &value[Moment]{at, "TIME", parseMoment, func(m Moment) string { return m.text }, false}
}

func parseMoment(text string) (Moment, error) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return Moment{text: text, at: at, daily: true}, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return Moment{text: text, at: at}, nil
		}
	}
	d, ok := duration(text)
	switch {
	case !ok:
		return Moment{}, errs.Usage("%q is not a time of the recording: give seconds (0, 2.5), a number with a unit "+
			"(2s, 10min), or a clock time (03:00, 03:00:30, 2026-11-28T03:00)", text)
	case d < 0:
		return Moment{}, errs.Usage("%q: a time of the recording is from 0 to 1e9 seconds", text)
	}
	return Moment{text: text, since: d}, nil
}

// IsStart reports whether it is 0 seconds since the start.
func (m *Moment) IsStart() bool { return m.at.IsZero() && m.since == 0 }

// String returns the text of the flag, or "" if none was given.
func (m *Moment) String() string { return m.text }

// Since returns the time since begin, or 0 if none was given or it is before. A time of the day is that of the first
// day on which it is within the recording, else of the day of begin.
func (m *Moment) Since(begin, end time.Time) time.Duration {
	return max(m.offset(begin, end), 0)
}

// End is Since for the end of a part of the recording. It fails if that is before begin.
func (m *Moment) End(begin, end time.Time) (time.Duration, error) {
	d := m.offset(begin, end)
	if d <= 0 && !m.at.IsZero() {
		return 0, fmt.Errorf("--to %s is not after the recording's start, %s", m.text, begin.Format(time.DateTime))
	}
	return d, nil
}

func (m *Moment) offset(begin, end time.Time) time.Duration {
	switch at := m.at; {
	case at.IsZero():
		return m.since
	case m.daily:
		year, month, day := begin.Local().Date()
		on := func(day int) time.Time {
			return time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), 0, time.Local)
		}
		if next := on(day + 1); on(day).Before(begin) && !next.After(end) {
			return next.Sub(begin)
		}
		return on(day).Sub(begin)
	default:
		return at.Sub(begin)
	}
}
