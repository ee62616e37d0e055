// SPDX-License-Identifier: Apache-2.0

// Package commandline parses and shows prywalk's command line: flag values, help, help pages, suggestions for typos.
package commandline

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/budget"
	"prywalk/internal/exit"
	"prywalk/internal/sampler"
)

// PIDs is a flag of pids, repeated or separated by commas.
type PIDs []int

// String implements pflag.Value.
func (l *PIDs) String() string {
	var s []string
	for _, pid := range *l {
		s = append(s, strconv.Itoa(pid))
	}
	return strings.Join(s, ",")
}

// Set implements pflag.Value.
func (l *PIDs) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		pid, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || pid <= 0 {
			return exit.Usage("%q is not a process number", part)
		}
		if !slices.Contains(*l, pid) {
			*l = append(*l, pid)
		}
	}
	return nil
}

// Type implements pflag.Value.
func (l *PIDs) Type() string { return "PID,…" }

// Seconds is a duration above 0: seconds (30, 0.5), or a number with unit (30s, 2m, 10min).
type Seconds time.Duration

// String implements pflag.Value.
func (s *Seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Set implements pflag.Value.
func (s *Seconds) Set(text string) error {
	d, ok := duration(text)
	switch {
	case !ok:
		return exit.Usage("%q is not a duration: give seconds (30) or a number with a unit (30s, 2m, 10min)", text)
	case d <= 0:
		return exit.Usage("%q: a duration is above 0 and at most 1e9 seconds", text)
	}
	*s = Seconds(d)
	return nil
}

// Type implements pflag.Value.
func (s *Seconds) Type() string { return "TIME" }

// RecordingTime is a time since a recording's start, in the form of [Seconds]; 0 is the start.
type RecordingTime time.Duration

// String implements pflag.Value.
func (m *RecordingTime) String() string { return (*Seconds)(m).String() }

// Set implements pflag.Value.
func (m *RecordingTime) Set(text string) error {
	d, ok := duration(text)
	switch {
	case !ok:
		return exit.Usage("%q is not a time of the recording: give seconds (0, 2.5) or a number with a unit (2s, 10min)",
			text)
	case d < 0:
		return exit.Usage("%q: a time of the recording is from 0 to 1e9 seconds", text)
	}
	*m = RecordingTime(d)
	return nil
}

// Type implements pflag.Value.
func (m *RecordingTime) Type() string { return "TIME" }

const maxSeconds = 1e9

// outOfRange is refused by all.
const outOfRange time.Duration = -1

// longUnits replaces units unknown to [time.ParseDuration].
var longUnits = strings.NewReplacer("mins", "m", "min", "m", "secs", "s", "sec", "s")

func duration(text string) (d time.Duration, ok bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(v) {
			return 0, false
		}
		if math.Abs(v) > maxSeconds {
			return outOfRange, true
		}
		return time.Duration(v * float64(time.Second)), true
	}
	d, err := time.ParseDuration(longUnits.Replace(text))
	if err == nil && d.Seconds() > maxSeconds {
		return outOfRange, true
	}
	return d, err == nil
}

// Percent parses "2%" and "2" as 0.02.
func Percent(text string) (share float64, ok bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	return v / 100, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// FormatPercent has the form of [Percent].
func FormatPercent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e8)/1e6, 'f', -1, 64) + "%"
}

// Share is a percentage above 0, up to 100.
type Share float64

// String implements pflag.Value.
func (s *Share) String() string {
	if *s == 0 {
		return ""
	}
	return FormatPercent(float64(*s))
}

// Set implements pflag.Value.
func (s *Share) Set(text string) error {
	v, ok := Percent(text)
	if !ok || !(v > 0 && v <= 1) {
		return exit.Usage("%q is not a share: give a percentage above 0%% and up to 100%%, such as 2%% (2 is the same)",
			text)
	}
	*s = Share(v)
	return nil
}

// Type implements pflag.Value.
func (s *Share) Type() string { return "PERCENT" }

// Growth is a percentage from 0, also above 100.
type Growth float64

// String implements pflag.Value.
func (g *Growth) String() string { return FormatPercent(float64(*g)) }

// Set implements pflag.Value.
func (g *Growth) Set(text string) error {
	v, ok := Percent(text)
	if !ok || !(v >= 0 && v < 1e6) {
		return exit.Usage("%q is not a percentage: give one from 0%%, such as 5%% (5 is the same)", text)
	}
	*g = Growth(v)
	return nil
}

// Type implements pflag.Value.
func (g *Growth) Type() string { return "PERCENT" }

// Memory is bytes (268435456), or a size (256M, 2G).
type Memory int64

// minMemory is what prywalk itself needs, bytes.
const minMemory = 64 << 20

// String implements pflag.Value.
func (m *Memory) String() string { return budget.Size(int64(*m)) }

// Set implements pflag.Value.
func (m *Memory) Set(text string) error {
	v, ok := sizeOf(text)
	if !ok || v < minMemory {
		return exit.Usage("%q is not an amount of memory: give a size from 64M, such as 512M or 2G", text)
	}
	*m = Memory(v)
	return nil
}

// sizeOf: K, M, G and T are powers of 1,024, as KB and KiB.
func sizeOf(text string) (bytes int64, ok bool) {
	num, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40} {
		short := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
		if n, ok := strings.CutSuffix(short, suffix); ok {
			num, unit = n, bytes
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	v *= float64(unit)
	return int64(v), err == nil && v >= 1 && v <= 1<<50
}

// Bytes is the size of a message or of files.
type Bytes int64

// String implements pflag.Value.
func (b *Bytes) String() string { return budget.Size(int64(*b)) }

// Set implements pflag.Value.
func (b *Bytes) Set(text string) error {
	v, ok := sizeOf(text)
	if !ok {
		return exit.Usage("%q is not a size: give a number of bytes, or one with K, M or G, such as 4M", text)
	}
	*b = Bytes(v)
	return nil
}

// Type implements pflag.Value.
func (b *Bytes) Type() string { return "SIZE" }

// Type implements pflag.Value.
func (m *Memory) Type() string { return "SIZE" }

// Frequency is ticks per second, in the sampler's range.
type Frequency float64

// String implements pflag.Value.
func (f *Frequency) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

// Set implements pflag.Value.
func (f *Frequency) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= sampler.MinFreq && v <= sampler.MaxFreq) {
		return exit.Usage("%q is not a frequency: give a rate in Hz from %d to %d", text, sampler.MinFreq,
			sampler.MaxFreq)
	}
	*f = Frequency(v)
	return nil
}

// Type implements pflag.Value.
func (f *Frequency) Type() string { return "HZ" }

// address matches HOST:PORT; its submatch is the port.
var address = regexp.MustCompile(`^(?:[^:\[\]]*|\[[^\[\]]*\]):([0-9]{0,5})$`)

// Address is an address to serve at: HOST:PORT.
type Address string

// String implements pflag.Value.
func (a *Address) String() string { return string(*a) }

// Set implements pflag.Value.
func (a *Address) Set(text string) error {
	parts, port := address.FindStringSubmatch(text), 0
	if parts != nil {
		port, _ = strconv.Atoi("0" + parts[1])
	}
	if parts == nil || port > math.MaxUint16 {
		return exit.Usage("%q is not an address: give HOST:PORT, such as localhost:8080", text)
	}
	*a = Address(text)
	return nil
}

// Type implements pflag.Value.
func (a *Address) Type() string { return "ADDR" }
