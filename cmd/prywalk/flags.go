package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/budget"
)

// pidList is a flag that takes process numbers, repeated or separated by commas.
type pidList []int

// String implements pflag.Value.
func (l *pidList) String() string {
	var s []string
	for _, pid := range *l {
		s = append(s, strconv.Itoa(pid))
	}
	return strings.Join(s, ",")
}

// Set implements pflag.Value.
func (l *pidList) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		pid, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || pid <= 0 {
			return usageError("%q is not a process number", part)
		}
		if !slices.Contains(*l, pid) {
			*l = append(*l, pid)
		}
	}
	return nil
}

// Type implements pflag.Value.
func (l *pidList) Type() string { return "PID,…" }

// seconds is a flag that takes seconds (30, 0.5) or a Go duration (30s, 2m).
type seconds time.Duration

// String implements pflag.Value.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if !(v > 0 && v <= 1e9) {
			return usageError("a duration is above 0 and at most 1e9 seconds")
		}
		*s = seconds(v * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return usageError("%q is no duration: give seconds (30) or a unit (30s, 2m)", text)
	}
	*s = seconds(d)
	return nil
}

// Type implements pflag.Value.
func (s *seconds) Type() string { return "TIME" }

// share is a flag that takes a percentage (2%) or a fraction (0.02).
type share float64

// String implements pflag.Value.
func (s *share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(*s), 'g', -1, 64) + "%"
}

// Set implements pflag.Value.
func (s *share) Set(text string) error {
	num, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(num, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return usageError("%q is no share: give a percentage above 0 and up to 100%%, such as 2%%", text)
	}
	*s = share(v)
	return nil
}

// Type implements pflag.Value.
func (s *share) Type() string { return "PERCENT" }

// memory is a flag that takes bytes (268435456) or a size (256M, 2G).
type memory int64

// leastMemory is what prywalk needs for itself, in bytes.
const leastMemory = 64 << 20

// String implements pflag.Value.
func (m *memory) String() string { return budget.Size(int64(*m)) }

// Set implements pflag.Value.
func (m *memory) Set(text string) error {
	num, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40} {
		if n, ok := strings.CutSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), suffix); ok {
			num, unit = n, bytes
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if v *= float64(unit); err != nil || !(v >= leastMemory && v <= 1<<50) {
		return usageError("%q is no amount of memory: give a size from 64M, such as 512M or 2G", text)
	}
	*m = memory(v)
	return nil
}

// Type implements pflag.Value.
func (m *memory) Type() string { return "SIZE" }

// frequency is a flag that takes ticks a second, within the limits of the sampler.
type frequency float64

// String implements pflag.Value.
func (f *frequency) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

// Set implements pflag.Value.
func (f *frequency) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= minFreq && v <= maxFreq) {
		return usageError("frequency %q: give a number of ticks a second from %d to %d", text, minFreq, maxFreq)
	}
	*f = frequency(v)
	return nil
}

// Type implements pflag.Value.
func (f *frequency) Type() string { return "HZ" }
