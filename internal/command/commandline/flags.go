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

	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/filememory"
	"prywalk/internal/watch/sampler"
)

type value[T comparable] struct {
	at     *T
	kind   string // in the help, such as TIME
	parse  func(string) (T, error)
	format func(T) string
	lifted bool // the zero value is [Off]
}

// String implements [pflag.Value].
func (v *value[T]) String() string {
	if v.lifted && *v.at == *new(T) {
		return Off
	}
	return v.format(*v.at)
}

// Set implements [pflag.Value].
func (v *value[T]) Set(text string) error {
	var got T
	var err error
	if !v.lifted || text != Off {
		got, err = v.parse(text)
	}
	if err == nil {
		*v.at = got
	}
	return err
}

// Type implements [pflag.Value].
func (v *value[T]) Type() string { return v.kind }

// PIDs is a flag of pids, repeated or separated by commas.
type PIDs []int

// ParsePID parses a pid. The kernel would cut off higher bits.
func ParsePID(text string) (pid int, ok bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0
}

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
		pid, ok := ParsePID(strings.TrimSpace(part))
		if !ok {
			return errs.Usage("%q is not a process number", part)
		}
		if !slices.Contains(*l, pid) {
			*l = append(*l, pid)
		}
	}
	return nil
}

// Type implements pflag.Value.
func (l *PIDs) Type() string { return "PID,…" }

// Seconds takes a duration above 0: seconds (30, 0.5), or a number with unit (30s, 2m, 10min).
func Seconds(at *time.Duration) pflag.Value {
	return &value[time.Duration]{at, "TIME", parseSeconds, formatDuration, false}
}

func parseSeconds(text string) (time.Duration, error) {
	d, ok := duration(text)
	switch {
	case !ok:
		return 0, errs.Usage("%q is not a duration: give seconds (30) or a number with a unit (30s, 2m, 10min)", text)
	case d <= 0:
		return 0, errs.Usage("%q: a duration is above 0 and at most 1e9 seconds", text)
	}
	return d, nil
}

func formatDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Off is the word that lifts a limit.
const Off = "off"

// MaxTime takes a duration as [Seconds], or off, which is 0.
func MaxTime(at *time.Duration) pflag.Value {
	return &value[time.Duration]{at, "TIME", parseSeconds, formatDuration, true}
}

// MaxShare takes a percentage above 0, up to 100, or off, which is 0.
func MaxShare(at *float64) pflag.Value {
	return &value[float64]{at, "PERCENT", func(text string) (float64, error) {
		v, ok := percent(text)
		if !ok || !(v > 0 && v <= 1) {
			return 0, errs.Usage("%q is not a share: give a percentage above 0%% and up to 100%%, such as 2%% (2 is the same)",
				text)
		}
		return v, nil
	}, FormatPercent, true}
}

const maxSeconds = 1e9

// outOfRange is refused by all.
const outOfRange time.Duration = -1

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

// percent parses "2%" and "2" as 0.02.
func percent(text string) (share float64, ok bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	return v / 100, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// FormatPercent formats 0.02 as "2%".
func FormatPercent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e8)/1e6, 'f', -1, 64) + "%"
}

// Percent takes a percentage from 0, also above 100.
func Percent(at *float64) pflag.Value {
	return &value[float64]{at, "PERCENT", func(text string) (float64, error) {
		v, ok := percent(text)
		if !ok || !(v >= 0 && v < 1e6) {
			return 0, errs.Usage("%q is not a percentage: give one from 0%%, such as 5%% (5 is the same)", text)
		}
		return v, nil
	}, FormatPercent, false}
}

// minMemory is what prywalk itself needs, bytes.
const minMemory = 64 << 20

// Memory takes bytes (268435456), or a size (256M, 2G).
func Memory(at *int64) pflag.Value {
	return size(at, minMemory, "%q is not an amount of memory: give a size from 64M, such as 512M or 2G")
}

// Bytes takes the size of a message or of files.
func Bytes(at *int64) pflag.Value {
	return size(at, 0, "%q is not a size: give a number of bytes, or one with K, M or G, such as 4M")
}

func size(at *int64, least int64, wrong string) pflag.Value {
	return &value[int64]{at, "SIZE", func(text string) (int64, error) {
		v, ok := sizeOf(text)
		if !ok || v < least {
			return 0, errs.Usage(wrong, text)
		}
		return v, nil
	}, filememory.Size, false}
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

// Frequency takes ticks per second, in the sampler's range.
func Frequency(at *float64) pflag.Value {
	return &value[float64]{at, "HZ", func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= sampler.MinFreq && v <= sampler.MaxFreq) {
			return 0, errs.Usage("%q is not a frequency: give a rate in Hz from %d to %d", text, sampler.MinFreq,
				sampler.MaxFreq)
		}
		return v, nil
	}, func(hz float64) string { return strconv.FormatFloat(hz, 'g', -1, 64) }, false}
}

// address matches HOST:PORT; its submatch is the port.
var address = regexp.MustCompile(`^(?:[^:\[\]]*|\[[^\[\]]*\]):([0-9]{0,5})$`)

// Address takes an address to serve at: HOST:PORT.
func Address(at *string) pflag.Value {
	return &value[string]{at, "ADDR", func(text string) (string, error) {
		parts, port := address.FindStringSubmatch(text), 0
		if parts != nil {
			port, _ = strconv.Atoi("0" + parts[1])
		}
		if parts == nil || port > math.MaxUint16 {
			return "", errs.Usage("%q is not an address: give HOST:PORT, such as localhost:8080", text)
		}
		return text, nil
	}, func(text string) string { return text }, false}
}

// OnOff takes on or off.
func OnOff(at *bool) pflag.Value {
	words := map[bool]string{false: Off, true: "on"}
	return &value[bool]{at, "on|off", func(text string) (bool, error) {
		if text != words[true] && text != words[false] {
			return false, errs.Usage("%q: give on or off", text)
		}
		return text == words[true], nil
	}, func(on bool) string { return words[on] }, false}
}
