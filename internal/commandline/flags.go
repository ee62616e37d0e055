// Package commandline is the form of prywalk's command line: values of flags, help, and words that were mistyped.
package commandline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/budget"
	"prywalk/internal/exit"
	"prywalk/internal/sampler"
)

// PIDs is a flag that takes process numbers, repeated or separated by commas.
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

// Seconds is a flag that takes seconds (30, 0.5) or a Go duration (30s, 2m).
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
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if !(v > 0 && v <= 1e9) {
			return exit.Usage("a duration is above 0 and at most 1e9 seconds")
		}
		*s = Seconds(v * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return exit.Usage("%q is no duration: give seconds (30) or a unit (30s, 2m)", text)
	}
	*s = Seconds(d)
	return nil
}

// Type implements pflag.Value.
func (s *Seconds) Type() string { return "TIME" }

// Share is a flag that takes a percentage (2%) or a fraction (0.02).
type Share float64

// String implements pflag.Value.
func (s *Share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(*s), 'g', -1, 64) + "%"
}

// Set implements pflag.Value.
func (s *Share) Set(text string) error {
	num, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(num, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return exit.Usage("%q is no share: give a percentage above 0 and up to 100%%, such as 2%%", text)
	}
	*s = Share(v)
	return nil
}

// Type implements pflag.Value.
func (s *Share) Type() string { return "PERCENT" }

// Memory is a flag that takes bytes (268435456) or a size (256M, 2G).
type Memory int64

// leastMemory is what prywalk needs for itself, in bytes.
const leastMemory = 64 << 20

// String implements pflag.Value.
func (m *Memory) String() string { return budget.Size(int64(*m)) }

// Set implements pflag.Value.
func (m *Memory) Set(text string) error {
	num, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40} {
		if n, ok := strings.CutSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), suffix); ok {
			num, unit = n, bytes
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if v *= float64(unit); err != nil || !(v >= leastMemory && v <= 1<<50) {
		return exit.Usage("%q is no amount of memory: give a size from 64M, such as 512M or 2G", text)
	}
	*m = Memory(v)
	return nil
}

// Type implements pflag.Value.
func (m *Memory) Type() string { return "SIZE" }

// Frequency is a flag that takes ticks a second, within the limits of the sampler.
type Frequency float64

// String implements pflag.Value.
func (f *Frequency) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

// Set implements pflag.Value.
func (f *Frequency) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= sampler.MinFreq && v <= sampler.MaxFreq) {
		return exit.Usage("frequency %q: give a number of ticks a second from %d to %d", text, sampler.MinFreq,
			sampler.MaxFreq)
	}
	*f = Frequency(v)
	return nil
}

// Type implements pflag.Value.
func (f *Frequency) Type() string { return "HZ" }
